import { readFileSync } from 'node:fs'
import sharp from 'sharp'
import t from 'tap'
import { findOutsideCorpus } from '#test/support/corpus.ts'
import { makePicture, pngHeader } from '#test/support/pictures.ts'
import { BookProblem } from '#workers/book-problem.ts'
import { decodeBmp } from '#workers/images/bmp.ts'
import { makeThumbnail, measureEntry, measurePicture, resizePicture } from '#workers/images/image.ts'

const corpus = findOutsideCorpus()

t.test('measures every format from its head', async (t) => {
  for (const format of ['jpeg', 'png', 'gif', 'webp', 'avif', 'tiff'] as const) {
    const picture = await makePicture({ width: 123, height: 45, format })
    t.same(measurePicture(picture), { mediaType: `image/${format}`, width: 123, height: 45 }, format)
    for (let length = 0; length < 10; length++) t.equal(measurePicture(picture.subarray(0, length)), null, `${format}, too short`)
  }
})

t.test('width and height have the orientation applied', async (t) => {
  for (let orientation = 1; orientation <= 8; orientation++) {
    const picture = await makePicture({ width: 30, height: 20, orientation })
    const shown = orientation >= 5 ? [20, 30] : [30, 20]
    const { width, height } = measurePicture(picture)!
    t.same([width, height], shown, `orientation ${orientation}`)
    const thumbnail = await makeThumbnail(picture)
    t.same([thumbnail.width, thumbnail.height], shown, `thumbnail, orientation ${orientation}`)
  }
})

t.test('reads no more of an entry than necessary', async (t) => {
  const reads: number[] = []
  const reading = (picture: Buffer) => (bytes: number) => {
    reads.push(bytes)
    return picture.subarray(0, bytes)
  }
  const plain = await makePicture({ width: 900, height: 900, noise: true })
  t.match(measureEntry(plain.length, reading(plain)), { width: 900 })
  // A comment of 10 KB before the frame header pushes the size out of the first read.
  const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0x27, 0x10]), Buffer.alloc(0x270e)])
  const late = Buffer.concat([plain.subarray(0, 2), comment, plain.subarray(2)])
  t.match(measureEntry(late.length, reading(late)), { width: 900 })
  const tiff = await makePicture({ width: 400, height: 300, format: 'tiff', noise: true })
  t.match(measureEntry(tiff.length, reading(tiff)), { width: 400, mediaType: 'image/tiff' })
  const text = Buffer.alloc(500_000, 'no picture ')
  t.equal(measureEntry(text.length, reading(text)), null)
  t.same(reads.slice(0, 3), [2048, 2048, 65536])
  t.equal(reads.at(-1), 2048, 'text is refused after the first read')
})

t.test('other files are not pictures', async (t) => {
  const ico = Buffer.from('00000100010010100000010020006804000016000000', 'hex')
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>')
  for (const bytes of [ico, svg, Buffer.alloc(0), Buffer.from('BM'), Buffer.from('P6 1 1 255'), Buffer.alloc(3000), pngHeader(0, 0)]) {
    t.equal(measurePicture(bytes), null)
  }
})

t.test('thumbnails fit 400 pixels and are never enlarged', async (t) => {
  const sizes: [number, number, number, number][] = [
    [1600, 2400, 267, 400],
    [2400, 1600, 400, 267],
    [100, 50, 100, 50],
    [8000, 20, 400, 1],
  ]
  for (const [width, height, ...shown] of sizes) {
    const { jpeg, ...size } = await makeThumbnail(await makePicture({ width, height }))
    t.same([size.width, size.height], shown, `${width} × ${height}`)
    t.match(measurePicture(jpeg), { mediaType: 'image/jpeg', width: shown[0], height: shown[1] })
  }
  const clear = await sharp({ create: { width: 9, height: 9, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } })
    .png()
    .toBuffer()
  const { data } = await sharp((await makeThumbnail(clear)).jpeg)
    .raw()
    .toBuffer({ resolveWithObject: true })
  t.ok(
    data.every((value) => value > 250),
    'transparent becomes white',
  )
})

t.test('refuses pictures that cannot or must not be decoded', async (t) => {
  const picture = await makePicture({ width: 300, height: 300, noise: true })
  const png = await makePicture({ width: 30, height: 30, format: 'png' })
  const flawed = Buffer.from(png)
  flawed[flawed.length - 20]! ^= 0xff
  for (const bytes of [Buffer.alloc(0), Buffer.from('text'), picture.subarray(0, picture.length / 2), pngHeader(30_000, 30_000)]) {
    await t.rejects(makeThumbnail(bytes), BookProblem)
    t.match(await resizePicture({ bytes, width: 10, format: null }), { problem: { type: 'page_extraction', fatal: false } })
  }
  t.match(await makeThumbnail(flawed), { width: 30 }, 'a whole picture with a wrong checksum is shown all the same')
})

t.test('resizes to a format, or keeps it', async (t) => {
  for (const [from, format, mediaType] of [
    ['png', null, 'image/png'],
    ['webp', null, 'image/webp'],
    ['jpeg', null, 'image/jpeg'],
    ['gif', null, 'image/jpeg'],
    ['png', 'webp', 'image/webp'],
    ['webp', 'jpeg', 'image/jpeg'],
  ] as const) {
    const bytes = await makePicture({ width: 200, height: 100, format: from })
    const smaller = await resizePicture({ bytes, width: 50, format })
    t.match('bytes' in smaller && measurePicture(smaller.bytes), { mediaType, width: 50, height: 25 }, `${from} to ${format}`)
    const same = await resizePicture({ bytes, width: 5000, format })
    t.match('bytes' in same && measurePicture(same.bytes), { width: 200 }, 'never enlarged')
  }
})

t.test('bitmaps of every depth decode to the same picture', async (t) => {
  // Four pixels: red, green / blue, white; rows bottom up, padded to four bytes.
  const colors = [0x0000ff, 0xffffff, 0xff0000, 0x00ff00] as const
  const expected = [0xff0000, 0x00ff00, 0x0000ff, 0xffffff]
  const files: Record<string, Buffer> = {
    '24 bit': bmp({
      bits: 24,
      pixels: Buffer.from([...le(colors[0], 3), ...le(colors[1], 3), 0, 0, ...le(colors[2], 3), ...le(colors[3], 3), 0, 0]),
    }),
    '32 bit, top down': bmp({ bits: 32, height: -2, pixels: Buffer.from(expected.flatMap((color) => le(color, 4))) }),
    '16 bit': bmp({ bits: 16, pixels: Buffer.from([0x1f, 0, 0xff, 0x7f, 0, 0x7c, 0xe0, 3]) }),
    '8 bit': bmp({ bits: 8, palette: expected, pixels: Buffer.from([2, 3, 0, 0, 0, 1, 0, 0]) }),
    '4 bit': bmp({ bits: 4, palette: expected, pixels: Buffer.from([0x23, 0, 0, 0, 0x01, 0, 0, 0]) }),
    'run-length 8': bmp({ bits: 8, compression: 1, palette: expected, pixels: Buffer.from([1, 2, 1, 3, 0, 0, 1, 0, 1, 1, 0, 1]) }),
    'run-length 4': bmp({ bits: 4, compression: 2, palette: expected, pixels: Buffer.from([2, 0x23, 0, 0, 2, 0x01, 0, 1]) }),
    'bit fields': bmp({
      bits: 32,
      compression: 3,
      masks: [0xff, 0xff00, 0xff0000],
      pixels: Buffer.from([0, 0, 255, 0, 255, 255, 255, 0, 255, 0, 0, 0, 0, 255, 0, 0]),
    }),
  }
  for (const [label, file] of Object.entries(files)) {
    const { width, height, rgb } = decodeBmp(file)
    t.same([width, height, ...[0, 3, 6, 9].map((at) => rgb.readUIntBE(at, 3))], [2, 2, ...expected], label)
    t.same(measurePicture(file), { mediaType: 'image/bmp', width: 2, height: 2 }, label)
    t.match(await makeThumbnail(file), { width: 2, height: 2 }, label)
    for (let length = 0; length < file.length; length++) {
      try {
        decodeBmp(file.subarray(0, length))
      } catch (error) {
        t.match(error, { problem: { type: 'thumbnail' } }, `${label}, cut to ${length}`)
      }
    }
  }
  t.throws(() => decodeBmp(bmp({ bits: 24, width: 30_000, height: 30_000, pixels: Buffer.alloc(0) })), BookProblem)
})

t.test('rotated AVIF pictures are turned once', { skip: !corpus }, async (t) => {
  for (const name of ['kimono.avif', 'kimono.rotate90.avif']) {
    const bytes = readFileSync(`${corpus!.folder}images/${name}`)
    const { width, height } = measurePicture(bytes)!
    const shown = await sharp(bytes).metadata()
    t.same([width, height], [shown.autoOrient.width, shown.autoOrient.height], name)
  }
})

function le(value: number, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, index) => (value >> (8 * index)) & 255)
}

function bmp(shape: {
  bits: number
  width?: number
  height?: number
  compression?: number
  palette?: number[]
  masks?: number[]
  pixels: Buffer
}): Buffer {
  const tables = Buffer.from([...(shape.masks ?? []), ...(shape.palette ?? [])].flatMap((value) => le(value, 4)))
  const header = Buffer.alloc(54)
  header.write('BM', 'latin1')
  header.writeUInt32LE(54 + tables.length, 10)
  header.writeUInt32LE(40, 14)
  header.writeInt32LE(shape.width ?? 2, 18)
  header.writeInt32LE(shape.height ?? 2, 22)
  header.writeUInt16LE(1, 26)
  header.writeUInt16LE(shape.bits, 28)
  header.writeUInt32LE(shape.compression ?? 0, 30)
  return Buffer.concat([header, tables, shape.pixels])
}
