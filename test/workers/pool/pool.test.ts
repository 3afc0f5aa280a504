import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Page } from '#core/fields/analysis.ts'
import { fileAt } from '#test/support/file-at.ts'
import { onlyCost, onlyFull } from '#test/support/lane-size.ts'
import { buildPdf, damagePages, endlessPage, type PdfPage } from '#test/support/pdf-builder.ts'
import { makePicture, numberedPages } from '#test/support/pictures.ts'
import { buildRar } from '#test/support/rar-builder.ts'
import { buildZip, type ZipPart } from '#test/support/zip-builder.ts'
import { OpenFiles } from '#workers/formats/open-files.ts'
import { openPool, type ReaderPool } from '#workers/pool/pool.ts'

// Slow books are analyzed here, on machines that may be busy with other tests.
t.setTimeout(240_000)

const numbered = await numberedPages(5)

function open(t: Test, options: Partial<Parameters<typeof openPool>[0]> = {}): ReaderPool {
  const pool = openPool({ threads: 2, memoryMbMax: 512, deadlineMs: 30_000, ...options })
  t.teardown(() => pool.close())
  return pool
}

function write(folder: string, name: string, bytes: Uint8Array | string): string {
  writeFileSync(join(folder, name), bytes)
  return join(folder, name)
}

/** A comic that takes seconds to analyze: 300 pages of 28 MB, each compressed to nearly nothing. */
async function slowComic(folder: string): Promise<string> {
  slowBytes ??= await packSlowComic()
  return write(folder, 'slow.cbz', slowBytes)
}

let slowBytes: Buffer | undefined

async function packSlowComic(): Promise<Buffer> {
  const data = Buffer.concat([await makePicture({ width: 50, height: 50 }), Buffer.alloc(28 * 1024 * 1024)])
  return buildZip(Array.from({ length: 300 }, (_, index) => ({ name: `${index}.jpg`, data, method: 8 })))
}

t.test('analyses in threads, many at a time', async (t) => {
  const folder = t.testdir()
  const pool = open(t)
  const paths = Array.from({ length: 20 }, (_, index) =>
    write(folder, `${index}`, index % 5 === 0 ? Buffer.from('rubbish') : buildZip(numbered)),
  )
  const analyses = await Promise.all(paths.map((path) => pool.analyze({ ...fileAt(path), verifyPages: false })))
  t.same(
    analyses.map(({ pageCount }) => pageCount),
    paths.map((_, index) => (index % 5 === 0 ? 0 : 5)),
  )
  t.match(analyses[0]?.problems, [{ type: 'format_detection' }])
  t.ok(analyses[1]?.cover?.jpeg instanceof Uint8Array)
  t.ok(pool.healthy())
})

t.test('a file that takes too long becomes a problem and affects nothing else', async (t) => {
  const folder = t.testdir()
  const pool = open(t, { deadlineMs: 3_000 })
  const good = write(folder, 'good.cbz', buildZip(numbered))
  const slow = await slowComic(folder)
  const stuck = pool.analyze({ ...fileAt(slow), verifyPages: true })
  const others: number[] = []
  for (let round = 0; round < 5; round++) others.push((await pool.analyze({ ...fileAt(good), verifyPages: false })).pageCount)
  t.same(others, [5, 5, 5, 5, 5])
  t.match(await stuck, { file: null, problems: [{ type: 'other', fatal: true, message: /longer than 3 s/ }] })
  t.equal((await pool.analyze({ ...fileAt(good), verifyPages: false })).pageCount, 5, 'and the thread is replaced')
  t.ok(pool.healthy())
})

t.test('the start of a thread does not count against its work', onlyCost, async (t) => {
  const good = write(t.testdir(), 'good.cbz', buildZip(numbered))
  const look = async (pool: ReaderPool) => (await pool.analyze({ ...fileAt(good), verifyPages: false })).problems
  /** Of a new thread, and of one with loaded libraries. */
  const measure = async () => {
    const pool = open(t, { threads: 1 })
    const times: number[] = []
    for (let turn = 0; turn < 2; turn++) {
      const begun = performance.now()
      t.same(await look(pool), [])
      times.push(performance.now() - begun)
    }
    return times as [first: number, second: number]
  }
  // Shorter than a thread takes to start on this machine, longer than the work. If both are nearly equal, one of several tries shows it.
  let problems: unknown[] = []
  for (let tries = 0; tries < 8; tries++) {
    const [first, second] = await measure()
    t.comment(`${first.toFixed(0)} ms with the start of the thread, ${second.toFixed(0)} ms without`)
    problems = await look(open(t, { threads: 1, deadlineMs: Math.round((first + second) / 2) }))
    if (problems.length === 0) break
  }
  t.same(problems, [])
})

/** A ZIP whose names fill the memory when its directory is read. */
function longNames(): Buffer {
  const folderName = 'a rather long name of a folder '.repeat(80)
  const data = Buffer.alloc(0)
  return buildZip(Array.from({ length: 24_000 }, (_, index) => ({ name: `${folderName}/${index}.png`, data })))
}

t.test('a file that takes too much memory becomes a problem', async (t) => {
  const folder = t.testdir()
  const pool = open(t, { threads: 1, memoryMbMax: 64 })
  const big = write(folder, 'big.cbz', longNames())
  const good = write(folder, 'good.cbz', buildZip(numbered))
  const [refused, fine] = await Promise.all([
    pool.analyze({ ...fileAt(big), verifyPages: false }),
    pool.analyze({ ...fileAt(good), verifyPages: false }),
  ])
  t.match(refused.problems, [{ type: 'other', fatal: true, message: /more memory than 64 MB/ }])
  t.equal(fine.pageCount, 5)
})

t.test('the caller may abort, waiting or running', async (t) => {
  const folder = t.testdir()
  const pool = open(t, { threads: 1 })
  const slow = await slowComic(folder)
  const running = new AbortController()
  const waiting = new AbortController()
  const first = pool.analyze({ ...fileAt(slow), verifyPages: true }, { signal: running.signal })
  const second = pool.analyze({ ...fileAt(slow), verifyPages: true }, { signal: waiting.signal })
  waiting.abort()
  await t.rejects(second, { name: 'AbortError' })
  // The first one is at work by then.
  await sleep(200)
  running.abort()
  await t.rejects(first, { name: 'AbortError' })
  await t.rejects(pool.analyze({ ...fileAt(slow), verifyPages: false }, { signal: AbortSignal.abort() }), { name: 'AbortError' })
  const good = write(folder, 'good.cbz', buildZip(numbered))
  t.equal((await pool.analyze({ ...fileAt(good), verifyPages: false })).pageCount, 5)
})

t.test('pages of zips, stored and deflated, small and large', async (t) => {
  const folder = t.testdir()
  const pool = open(t)
  const large = await makePicture({ width: 900, height: 900, noise: true, format: 'png' })
  const parts: ZipPart[] = [
    { name: '1.png', data: large },
    { name: '2.png', data: large, method: 8 },
    { name: '3.png', data: numbered[0]!.data, method: 8 },
    { name: '4.png', data: large, method: 8, crc32: 1 },
    { name: '5.txt.png', data: Buffer.alloc(0) },
  ]
  const path = write(folder, 'book.cbz', buildZip(parts))
  const { pages } = await pool.analyze({ ...fileAt(path), verifyPages: false })
  const read = (index: number, page: Page = pages[index]!) => pool.readZipPage({ ...fileAt(path), index, page })
  for (const index of [0, 1, 2]) {
    const outcome = await read(index)
    t.ok(
      'bytes' in outcome && Buffer.from(outcome.bytes).equals(Buffer.from(parts[index]!.data)) && outcome.mediaType === 'image/png',
      `page ${index + 1}`,
    )
  }
  t.match(await read(3), { problem: { type: 'page_extraction', fatal: false, message: /checksum/ } })
  t.match(await read(0, { ...pages[0]!, zip: { ...pages[0]!.zip!, offset: 10 ** 9 } }), { problem: { message: /cut off/ } })
  const { zip: _, ...without } = pages[0]!
  t.match(await read(0, without), { problem: { message: /cannot be read/ } })
  const all = await Promise.all(Array.from({ length: 60 }, (_, nth) => read(nth % 3)))
  t.ok(all.every((outcome) => 'bytes' in outcome))
})

t.test('a replaced book is noticed, a missing one refused', async (t) => {
  const folder = t.testdir()
  const pool = open(t)
  const path = write(folder, 'book.cbz', buildZip([numbered[0]!, numbered[1]!]))
  const before = await pool.analyze({ ...fileAt(path), verifyPages: false })
  t.ok('bytes' in (await pool.readZipPage({ ...fileAt(path), index: 0, page: before.pages[0]! })))
  renameSync(write(folder, 'new', buildZip([{ name: 'longer than before.png', data: numbered[2]!.data }, numbered[3]!])), path)
  const after = await pool.analyze({ ...fileAt(path), verifyPages: false })
  const outcome = await pool.readZipPage({ ...fileAt(path), index: 0, page: after.pages[0]! })
  t.ok('bytes' in outcome && outcome.bytes.length === after.pages[0]!.bytes, 'although the old file was open')
  rmSync(path)
  // An open file is kept for two seconds.
  await sleep(2_100)
  t.match(await pool.readZipPage({ ...fileAt(path), index: 0, page: after.pages[0]! }), {
    problem: { type: 'page_extraction', message: /gone/ },
  })
})

t.test('open files are limited, shared and closed', async (t) => {
  const folder = t.testdir()
  const count = () => readdirSync('/proc/self/fd').length
  const before = count()
  const files = new OpenFiles()
  const paths = Array.from({ length: 100 }, (_, index) => write(folder, `${index}`, Buffer.from('x')))
  await Promise.all(paths.flatMap((path) => [path, path, path]).map((path) => files.withFile(fileAt(path), async ({ fd }) => t.ok(fd > 2))))
  t.ok(files.size() <= 64 && count() - before <= 70, 'bounded')
  await files.withFile(fileAt(paths[0]!), async ({ fd }) => {
    await files.close()
    t.ok(fd > 2, 'close waits for files in use')
  })
  await files.close()
  t.equal(files.size(), 0)
  t.ok(count() - before <= 1)
  await t.rejects(
    files.withFile(fileAt(join(folder, 'missing')), async () => 1),
    { code: 'ENOENT' },
  )
})

t.test('RAR pages come from threads, moved and not copied', async (t) => {
  const folder = t.testdir()
  const pool = open(t)
  const path = write(folder, 'book.cbr', buildRar(numbered, { solid: true }))
  const { pages } = await pool.analyze({ ...fileAt(path), verifyPages: false })
  const outcome = await pool.readRarPage({ ...fileAt(path), index: 4, page: pages[4]! })
  t.ok('bytes' in outcome && Buffer.from(outcome.bytes).equals(numbered[0]!.data))
  t.equal(await pool.extractRar({ ...fileAt(path), pages, folder: join(folder, 'all') }), null)
  t.equal(readdirSync(join(folder, 'all')).length, 5)
  t.match(await pool.readRarPage({ ...fileAt('/nowhere'), index: 0, page: pages[0]! }), { problem: { type: 'parser', fatal: false } })
  const resized = await pool.resizeImage({ bytes: numbered[0]!.data, width: 10, format: 'webp' })
  t.match(resized, { mediaType: 'image/webp' })
})

t.test('unhandled rejections do not end a thread, and one file does not affect the health of the pool', async (t) => {
  const folder = t.testdir()
  const pool = open(t, { threads: 1 })
  // pdf.js looks for the last page, fails, and leaves the rejection of another damaged page behind.
  const damaged = write(folder, 'damaged.pdf', damagePages(Array<PdfPage>(5).fill({ text: 'a page' }), [3, 5]))
  for (let round = 0; round < 9; round++) {
    const { pageCount, problems, cover } = await pool.analyze({ ...fileAt(damaged), verifyPages: false })
    t.equal(pageCount, 5)
    t.match(problems, [{ type: 'page_extraction', fatal: false, details: { count: 2, pages: [{ page: 3 }, { page: 5 }] } }])
    t.equal(problems.length, 1)
    t.equal(cover?.height, 400)
    t.ok(pool.healthy(), `round ${round}`)
  }
  const page = await pool.renderPdfPage({ ...fileAt(damaged), index: 1, longestSide: 100 })
  t.match(page, { mediaType: 'image/jpeg' }, 'intact pages are readable')
})

t.test('the time in which a cover is drawn does not count against the analysis, nor does its end', onlyFull, async (t) => {
  const folder = t.testdir()
  const pool = open(t, { deadlineMs: 6_000 })
  const path = write(folder, 'endless.pdf', buildPdf({ pages: [endlessPage, { text: 'the second page' }], title: 'Endless' }))
  const { pageCount, cover, problems, embedded } = await pool.analyze({ ...fileAt(path), verifyPages: false })
  t.same([pageCount, cover, embedded.title], [2, null, 'Endless'])
  t.match(problems, [{ type: 'pdf_rendering', fatal: false, details: { page: 1, stopped: 'deadline' } }])
  t.equal(problems.length, 1)
  t.ok(pool.healthy())
})

t.test('a closed pool accepts no work and ends running work', async (t) => {
  const folder = t.testdir()
  const pool = open(t, { threads: 1 })
  const running = pool.analyze({ ...fileAt(await slowComic(folder)), verifyPages: true })
  const outcome = running.then(
    () => 'ended',
    () => 'stopped',
  )
  // The thread is at work by then.
  await sleep(100)
  const started = performance.now()
  await pool.close()
  t.ok(performance.now() - started < 20_000, 'long before the deadline')
  t.match(await outcome, /ended|stopped/)
  t.notOk(pool.healthy())
  await t.rejects(pool.analyze({ ...fileAt(folder), verifyPages: false }))
  await pool.close()
})

t.test('a file that ends the only thread ends no other analysis', async (t) => {
  const folder = t.testdir()
  const pool = open(t, { threads: 1, memoryMbMax: 64 })
  const bytes = buildZip(numbered)
  const paths = Array.from({ length: 20 }, (_, index) => write(folder, `${index}.cbz`, index === 5 ? longNames() : bytes))
  const analyses = await Promise.all(paths.map((path) => pool.analyze({ ...fileAt(path), verifyPages: false })))
  t.same(
    analyses.map(({ pageCount }) => pageCount),
    paths.map((_, index) => (index === 5 ? 0 : 5)),
  )
  t.match(analyses[5], { file: null, problems: [{ message: /more memory than 64 MB/ }] })
  t.ok(analyses.filter((_, index) => index !== 5).every(({ problems }) => problems.length === 0))
})
