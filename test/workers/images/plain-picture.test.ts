import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { endlessSvg, movingWebp, scannedJpeg } from '#test/support/endless-pictures.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { fileAt } from '#test/support/file-at.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { makePicture } from '#test/support/pictures.ts'
import { isPlainPicture } from '#workers/images/plain-picture.ts'
import { openPool } from '#workers/pool/pool.ts'

const DEADLINE_MS = 6_000
/** Six seconds, and the delays of a busy machine; without a deadline they would take hours. */
const BOUND_MS = 60_000
t.setTimeout(240_000)

const folder = mkdtempSync(join(tmpdir(), 'carrel-plain-picture-'))
const pool = openPool({ threads: 2, memoryMbMax: 256, deadlineMs: DEADLINE_MS })
t.teardown(async () => {
  await pool.close()
  rmSync(folder, { recursive: true, force: true })
})
const still = await makePicture({ width: 16, height: 16, format: 'webp' })

t.test('pictures whose time is not bounded by their pixels are detected by their bytes', async (t) => {
  for (const format of ['jpeg', 'png', 'gif', 'webp'] as const)
    t.ok(isPlainPicture(await makePicture({ width: 30, height: 20, format, noise: true })), format)
  for (const format of ['avif', 'tiff'] as const) t.notOk(isPlainPicture(await makePicture({ width: 30, height: 20, format })), format)
  t.ok(isPlainPicture(scannedJpeg(64, 20)))
  t.notOk(isPlainPicture(scannedJpeg(64, 30)))
  t.notOk(isPlainPicture(movingWebp(still, 2)))
  t.notOk(isPlainPicture(endlessSvg))
  t.notOk(isPlainPicture(Buffer.alloc(0)))
})

t.test('large pictures are plain only when they are decoded row by row', async (t) => {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, sum])
  }
  const png = (side: number, interlaced: number, ...chunks: Buffer[]) => {
    const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 16, 6, 0, 0, interlaced])
    header.writeUInt32BE(side, 0)
    header.writeUInt32BE(side, 4)
    return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', header), ...chunks, chunk('IEND', Buffer.alloc(0))])
  }
  t.ok(isPlainPicture(png(12_000, 0)), 'row by row')
  t.ok(isPlainPicture(png(6_000, 1)), 'small')
  t.notOk(isPlainPicture(png(12_000, 1)), 'a gigabyte of pixels from a megabyte')
  const text = chunk('zTXt', Buffer.from('k\0\0', 'latin1'))
  t.ok(isPlainPicture(png(10, 0, ...Array.from({ length: 50 }, () => text))))
  t.notOk(isPlainPicture(png(10, 0, ...Array.from({ length: 51 }, () => text))), 'compressed texts before the pixels')
  t.ok(isPlainPicture(scannedJpeg(6_000, 2)))
  t.notOk(isPlainPicture(scannedJpeg(12_000, 2)), 'a progressive picture')
  t.ok(isPlainPicture(scannedJpeg(12_000, 1)))
})

t.test('the others are drawn in a child', async (t) => {
  for (const format of ['avif', 'tiff'] as const) {
    const bytes = await makePicture({ width: 300, height: 200, format })
    t.match(await pool.resizeImage({ bytes, width: 60, format: null }), { mediaType: 'image/jpeg' }, format)
    t.match(await pool.resizeImage({ bytes, width: 60, format: 'webp' }), { mediaType: 'image/webp' }, format)
  }
  t.match(await pool.drawCover(await makePicture({ width: 300, height: 200, format: 'avif' })), { large: { width: 300, height: 200 } })
  t.match(await pool.drawCover(movingWebp(still, 3)), { large: { width: 16, height: 16 } })
  t.match(await pool.drawCover(endlessSvg), { refused: 'kind' })
  t.match(await pool.resizeImage({ bytes: Buffer.from('RIFF____WEBPVP8X'), width: 60, format: null }), {
    problem: { type: 'page_extraction' },
  })
})

t.test('endless drawings are stopped at the deadline, and others continue meanwhile', onlyFull, async (t) => {
  const book = join(folder, 'a.epub')
  const manifest =
    '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/><item id="s" href="s.svg" media-type="image/svg+xml" properties="cover-image"/>'
  writeFileSync(book, buildEpub({ manifest, files: { 's.svg': endlessSvg } }))
  const scanned = scannedJpeg(12_000, 5_000)
  const began = performance.now()
  const hostile = Promise.all([
    pool.resizeImage({ bytes: scanned, width: 100, format: null }),
    pool.drawCover(movingWebp(still, 200_000)),
    pool.analyze({ ...fileAt(book), verifyPages: false }),
  ])
  const plain = await makePicture({ width: 300, height: 200 })
  t.match(await pool.resizeImage({ bytes: plain, width: 60, format: null }), { mediaType: 'image/jpeg' })
  const [resized, cover, analysis] = await hostile
  t.match(resized, { problem: { type: 'page_extraction', details: { stopped: 'deadline' } } })
  t.same(cover, { refused: 'damaged' })
  t.match(analysis, { format: 'epub', cover: null, problems: [{ type: 'thumbnail', fatal: false }] })
  t.ok(performance.now() - began < BOUND_MS, `after ${Math.round(performance.now() - began)} ms`)
  const again = performance.now()
  t.match(await pool.resizeImage({ bytes: scanned, width: 100, format: null }), { problem: {} })
  t.ok(performance.now() - again < DEADLINE_MS, 'it is not retried at once')
  t.ok(pool.healthy())
})
