import { randomBytes } from 'node:crypto'
import sharp from 'sharp'
import t from 'tap'
import { chooseVariant, type PageFormat, type PageVariant } from '#core/reading/page-variant.ts'
import { openReading, packPictures, readPage } from '#test/support/page-reading.ts'
import { addPagedBook } from '#test/support/paged-books.ts'
import { makePicture } from '#test/support/pictures.ts'

// Large pictures are made here, and machines may be busy with other tests.
t.setTimeout(240_000)

t.test('picture formats that are kept, and others that are converted', async (t) => {
  const page = (type: string) => ({ mediaType: `image/${type}`, width: 1000, height: 1500 })
  const asked = { isPdf: false, format: 'jpeg', keeps: ['image/jpeg', 'image/png'] } as const
  t.equal(chooseVariant(page('png'), asked).kind, 'original')
  t.match(chooseVariant(page('webp'), asked), { kind: 'resized', format: 'jpeg' })
  t.match(chooseVariant(page('png'), { ...asked, width: 640 }), { kind: 'resized', width: 640, format: null }, 'narrower, and still PNG')
  t.equal(chooseVariant(page('png'), { ...asked, width: 1280 }).kind, 'original', 'never wider')
  t.equal(chooseVariant(page('png'), { ...asked, isPdf: true }).kind, 'rendered', 'pages of PDFs are drawn as JPEG')
})

t.test('which pages are made from the widest picture of the same page', async (t) => {
  const widthsOf = (variant: PageVariant): number[] => (variant.kind === 'resized' ? [variant.width, ...widthsOf(variant.from)] : [])
  const chosen = (width: number, height: number, asked: number, format?: PageFormat) =>
    widthsOf(chooseVariant({ mediaType: 'image/png', width, height }, { isPdf: false, width: asked, format }))
  t.same(chosen(5_000, 8_000, 320), [320], 'an ordinary page is made from the original')
  t.same(chosen(5_000, 8_001, 320), [320, 2000])
  t.same(chosen(5_000, 8_001, 2000), [2000])
  t.same(chosen(900, 50_000, 320, 'jpeg'), [320, 640], 'no picture is as wide as the page')
  t.same(chosen(900, 50_000, 320, 'webp'), [320], 'the wider ones are too tall for a WebP')
  t.same(chosen(3_000, 50_000, 640, 'webp'), [640, 960])
  const [ordinary, large] = [8_000, 8_001].map((height) =>
    chooseVariant({ mediaType: 'image/png', width: 5_000, height }, { isPdf: false, width: 320 }),
  )
  t.not(ordinary?.name, large?.name, 'different bytes have different names')
})

t.test('the original of a very large page is read once for all narrower pictures of one format and one content', async (t) => {
  const { reader, caller, counts, database, folder } = await openReading(t)
  const { bytes, pages } = await packPictures([
    { bytes: await makePicture({ width: 8_000, height: 5_100 }), mediaType: 'image/jpeg' },
    { bytes: await makePicture({ width: 4_000, height: 5_100 }), mediaType: 'image/jpeg' },
  ])
  const book = await addPagedBook(database, { folder, fileName: 'large.cbz', bytes, format: 'cbz', pageSource: 'zip', pages })
  const { signal } = new AbortController()
  const read = (pageNumber: number, width: number, format?: PageFormat) =>
    readPage(reader, { caller, bookId: book.id, pageNumber, width, format, signal })
  const measured = async (page: Promise<{ bytes: Uint8Array }>) => {
    const { width, height, format } = await sharp((await page).bytes).metadata()
    return { width, height, format }
  }
  t.same(await Promise.all([measured(read(1, 640)), measured(read(1, 320))]), [
    { width: 640, height: 408, format: 'jpeg' },
    { width: 320, height: 204, format: 'jpeg' },
  ])
  t.same([counts.read, counts.resized], [1, 3], 'also when two are requested at once')
  t.same(await measured(read(1, 1280)), { width: 1280, height: 816, format: 'jpeg' })
  t.equal(counts.read, 1)
  t.same(await measured(read(1, 320, 'webp')), { width: 320, height: 204, format: 'webp' })
  t.same(await measured(read(1, 960, 'webp')), { width: 960, height: 612, format: 'webp' })
  t.equal(counts.read, 2)
  await read(2, 640)
  await read(2, 320)
  t.equal(counts.read, 4, 'every picture of an ordinary page is made from the original')
  const file_hash = randomBytes(32).toString('hex')
  await database('books').where({ id: book.id }).update({ file_hash, analyzed_at: new Date() })
  await read(1, 480)
  t.equal(counts.read, 5, 'other content has pictures of its own')
})
