import sharp from 'sharp'
import t from 'tap'
import { PICTURE_HEAD_BYTES, pictureTypeOf } from '#core/reading/picture-type.ts'

const latin1 = (text: string) => Buffer.from(text, 'latin1')

t.test('pictures are recognized by their first bytes', async (t) => {
  for (const format of ['jpeg', 'png', 'gif', 'webp', 'tiff', 'avif'] as const) {
    const bytes = await sharp({ create: { width: 20, height: 10, channels: 3, background: '#f00' } })
      .toFormat(format)
      .toBuffer()
    t.equal(pictureTypeOf(bytes), `image/${format}`)
    t.equal(pictureTypeOf(bytes.subarray(0, PICTURE_HEAD_BYTES)), `image/${format}`, `${format}, its head alone`)
  }
  const heads: [head: string, type: string][] = [
    ['\xff\x0a rest', 'image/jxl'],
    ['\0\0\0\x0cJXL \r\n\x87\n', 'image/jxl'],
    ['\0\0\0\x18ftypheic\0\0\0\0mif1', 'image/heic'],
    ['\0\0\0\x18ftypmif1\0\0\0\0avif', 'image/heif'],
    ['\0\0\0\x18ftyp1234\0\0\0\0xxxxavif', 'image/avif'],
    ['MM\0*', 'image/tiff'],
    ['BM\0\0\0\0\0\0\0\0\0\0\0\0\x28\0\0\0', 'image/bmp'],
    ['\0\0\0\x0cjP  \r\n\x87\n', 'image/jp2'],
  ]
  for (const [head, type] of heads) t.equal(pictureTypeOf(latin1(head)), type, JSON.stringify(head))
})

t.test('nothing else is a picture', async (t) => {
  const others = [
    '',
    'B',
    'BM',
    'BMW is a car and no bitmap',
    '<svg/>',
    '<html>',
    '%PDF-1.7',
    'PK\x03\x04',
    '\0\0\0\x18ftypisom\0\0\0\0mp42',
    'GIF',
    '\xff\xd8',
  ]
  for (const text of others) t.equal(pictureTypeOf(latin1(text)), null, JSON.stringify(text))
  t.equal(pictureTypeOf(Buffer.alloc(1_000)), null)
})
