import { rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import sharp from 'sharp'
import t from 'tap'
import type { Caller } from '#core/account/caller.ts'
import { readPageFormat } from '#core/reading/page-variant.ts'
import { findCorpus } from '#test/support/corpus.ts'
import { fileAt } from '#test/support/file-at.ts'
import { addCaller, addLibrary, shareSeries } from '#test/support/library-rows.ts'
import { addComic, openReading, readPage } from '#test/support/page-reading.ts'
import { addAnalyzedFile, addPagedBook, damageQuietly } from '#test/support/paged-books.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { buildRar } from '#test/support/rar-builder.ts'

// Many pictures are made here, and machines may be busy with other tests.
t.setTimeout(240_000)
const signal = new AbortController().signal

const measured = async (bytes: Uint8Array) => {
  const { width, height, format } = await sharp(bytes).metadata()
  return { width, height, format }
}

t.test('pages of a zip are served unchanged', async (t) => {
  const reading = await openReading(t)
  const { reader, caller } = reading
  const comic = await addComic(reading)
  for (const [index, picture] of comic.pictures.entries()) {
    const page = await readPage(reader, { caller, bookId: comic.id, pageNumber: index + 1, signal })
    t.ok(Buffer.from(page.bytes).equals(picture.bytes), `page ${index + 1}`)
    t.same([page.mediaType, page.fileHash], [picture.mediaType, comic.fileHash])
    t.equal(page.etag, `${comic.fileHash.slice(0, 32)}-${index + 1}-original`)
  }
  const pages = await reader.listPages({ caller, bookId: comic.id })
  t.match(pages, [
    { bookId: comic.id, pageNumber: 1, fileName: 'chapter 1/page1.jpeg', fileFormat: 'jpeg', width: 400, height: 600 },
    { pageNumber: 2, fileFormat: 'png', fileSize: comic.pictures[1]?.bytes.length },
    { pageNumber: 3, fileFormat: 'gif' },
  ])
  const ids = pages.map((page) => page.id)
  t.equal(new Set(ids).size, 3)
  for (const id of ids) t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.same(
    (await reader.listPages({ caller, bookId: comic.id })).map((page) => page.id),
    ids,
    'and they stay',
  )
  for (const pageNumber of [0, -1, 4]) {
    await t.rejects(
      readPage(reader, { caller, bookId: comic.id, pageNumber, signal }),
      { code: 'not_found', message: /3 pages/ },
      `page ${pageNumber}`,
    )
  }
})

t.test('a page list is remembered until the book is analyzed again, even one that is larger than the memory for lists', async (t) => {
  const reading = await openReading(t)
  const { reader, caller, database } = reading
  const comic = await addComic(reading)
  const sizes = async () => (await reader.listPages({ caller, bookId: comic.id })).map((page) => page.fileSize)
  // An earlier version of the server may have accepted 72 MB of names.
  for (const nameLength of [10, 36_000_000]) {
    const pages = JSON.stringify([{ ...comic.pages[0], name: 'n'.repeat(nameLength), bytes: nameLength }])
    await database('book_pages').where({ book_id: comic.id }).update({ pages })
    await database('books').where({ id: comic.id }).update({ analyzed_at: new Date() })
    t.same(await sizes(), [nameLength])
    await database('book_pages').where({ book_id: comic.id }).update({ pages: '[]' })
    t.same(await sizes(), [nameLength], 'the list is remembered')
  }
})

t.test('unreadable books say why', async (t) => {
  const reading = await openReading(t)
  const { reader, caller, database, folder } = reading
  const comic = await addComic(reading)
  const first = (who: Caller = caller) => readPage(reader, { caller: who, bookId: comic.id, pageNumber: 1, signal })
  const list = (who: Caller = caller) => reader.listPages({ caller: who, bookId: comic.id })

  await database('books').where({ id: comic.id }).update({ state: 'pending' })
  await t.rejects(first(), { code: 'not_analyzed', message: /"comic.cbz" waits/ })
  await t.rejects(list(), { code: 'not_analyzed' })
  await database('books').where({ id: comic.id }).update({ state: 'failed' })
  await t.rejects(first(), { code: 'not_analyzed', message: /could not be analyzed\.$/ })
  await database('book_errors').insert({ book_id: comic.id, error_type: 'parser', message: 'The archive is cut off.', fatal: true })
  await t.rejects(first(), { code: 'not_analyzed', message: /could not be analyzed: The archive is cut off\./ })
  await database('books').where({ id: comic.id }).update({ state: 'analyzed' })

  await shareSeries(database, { seriesId: comic.series_id, caller: await addCaller(database), mode: 'deny' })
  t.ok(await first(), 'another reader is not concerned')
  await shareSeries(database, { seriesId: comic.series_id, caller, mode: 'deny' })
  await t.rejects(first(), { code: 'not_found' }, 'hidden from one page to the next')
  await t.rejects(list(), { code: 'not_found' })

  const reader2 = await addCaller(database)
  const text = await addPagedBook(database, {
    folder,
    fileName: 'novel.epub',
    bytes: Buffer.from('x'),
    format: 'epub',
    pageSource: 'none',
    pages: [],
    row: { page_count: 320 },
  })
  t.same(await reader.listPages({ caller: reader2, bookId: text.id }), [])
  await t.rejects(readPage(reader, { caller: reader2, bookId: text.id, pageNumber: 1, signal }), {
    code: 'not_paged',
    details: { manifest: `/api/v1/books/${text.id}/manifest` },
  })
})

t.test('a file that has changed since its analysis is never served', async (t) => {
  const reading = await openReading(t)
  const { reader, caller, database } = reading
  const comic = await addComic(reading)
  const first = (pageNumber = 1) => readPage(reader, { caller, bookId: comic.id, pageNumber, signal })
  const errors = () => database('book_errors').where({ book_id: comic.id }).select('error_type', 'fatal')

  // One byte in noise: whatever it was, it has changed now.
  await damageQuietly(database, comic, (bytes) => Buffer.from(bytes).fill(255 - (bytes[5000] as number), 5000, 5001), comic.bytes)
  await t.rejects(first(), { code: 'page_unreadable', message: /^Page 1 of "comic.cbz" cannot be shown: / })
  t.same(await errors(), [{ error_type: 'page_extraction', fatal: false }], 'the damage is remembered')
  await t.rejects(first(), { code: 'page_unreadable' })
  t.ok(await first(2), 'the other pages are there')
  await damageQuietly(database, comic, (bytes) => bytes.subarray(0, 3000), comic.bytes)
  await t.rejects(first(), { code: 'page_unreadable' })
  await database('book_errors').del()

  await writeFile(comic.path, Buffer.alloc(comic.bytes.length, 1))
  await t.rejects(first(), { code: 'conflict', message: /has changed since it was analyzed/ })
  await writeFile(comic.path, 'short')
  await t.rejects(first(), { code: 'conflict' })
  await rm(comic.path)
  await t.rejects(first(), { code: 'not_found', message: /"comic.cbz" is no longer where it was/ })
  t.same(await errors(), [], 'none of that is an error of a page')
})

t.test('a temporary problem of this machine is not recorded with the book', async (t) => {
  const reading = await openReading(t)
  const { reader, caller, database, folder } = reading
  const errors = () => database('book_errors').select('error_type', 'message')

  const comic = await addComic(reading)
  await rm(comic.path)
  await symlink(comic.path, comic.path)
  await t.rejects(readPage(reader, { caller, bookId: comic.id, pageNumber: 1, signal }), {
    code: 'not_found',
    message: /"comic.cbz" is no longer where it was/,
  })

  // The memory of a process is a file that can be opened, but its first byte cannot be read: a failed network share does the same.
  const dead = `/proc/${process.pid}`
  const library_id = await addLibrary(database, { path: dead })
  const [page] = comic.pages
  for (const [pageSource, format] of [
    ['zip', 'cbz'],
    ['rar', 'cbr'],
    ['pdf', 'pdf'],
  ] as const) {
    const fileName = `dead.${format}`
    const { id } = await addPagedBook(database, { folder, fileName, bytes: Buffer.from('x'), format, pageSource, pages: [page!] })
    const path = `${dead}/mem`
    await database('books')
      .where({ path })
      .update({ path: `${dead}/was ${fileName}` })
    const facts = await stat(path, { bigint: true })
    await database('books')
      .where({ id })
      .update({ library_id, path, file_size: String(facts.size), file_mtime_ns: String(facts.mtimeNs) })
    await t.rejects(
      readPage(reader, { caller, bookId: id, pageNumber: 1, signal }),
      { code: 'unavailable', message: /at the moment/, details: { code: 'EIO', syscall: 'read' } },
      fileName,
    )
  }

  const solid = await addPagedBook(database, {
    ...{ folder, fileName: 'solid.cbr', bytes: Buffer.from('x'), format: 'cbr', pageSource: 'rar_solid', pages: [page!] },
  })
  await rm(join(folder, 'cache', 'temporary'), { recursive: true })
  await t.rejects(
    readPage(reader, { caller, bookId: solid.id, pageNumber: 1, signal }),
    { code: 'unavailable', details: { code: 'ENOENT', syscall: 'mkdir' } },
    'a cache that cannot be written',
  )
  t.same(await errors(), [])

  const hurried = await openReading(t, { deadlineMs: 1 })
  const packed = await addPagedBook(hurried.database, {
    ...{
      folder,
      fileName: 'slow.cbr',
      // Long enough to list that the deadline comes meanwhile, also where this thread waits for a core.
      bytes: buildRar(Array.from({ length: 10_000 }, (_, index) => ({ name: `${index}.jpg`, data: Buffer.from('x') }))),
      format: 'cbr',
    },
    pageSource: 'rar',
    pages: [{ name: '1.jpg', mediaType: 'image/jpeg', width: 60, height: 90, bytes: 1 }],
  })
  const ask = { caller: hurried.caller, bookId: packed.id, pageNumber: 1, signal }
  await t.rejects(readPage(hurried.reader, ask), { code: 'unavailable', message: /took longer/, details: { deadlineMs: 1 } })
  t.same(await hurried.database('book_errors'), [])
})

t.test('pages of one analysis are never sent with the ETag of another', async (t) => {
  const reading = await openReading(t, { rightsFreshMs: 60_000 })
  const { reader, caller, database } = reading
  const comic = await addComic(reading)
  const other = await addCaller(database)
  const width = async (who: Caller) => (await reader.listPages({ caller: who, bookId: comic.id }))[0]?.width
  const tag = async (who: Caller) => (await reader.getPage({ caller: who, bookId: comic.id, pageNumber: 1, signal })).etag
  t.equal(await width(caller), 400)

  const fileHash = 'f0'.repeat(32)
  const [page] = comic.pages
  await database('book_pages')
    .where({ book_id: comic.id })
    .update({ pages: JSON.stringify([{ ...page, width: 55 }]) })
  await database('books').where({ id: comic.id }).update({ file_hash: fileHash, analyzed_at: new Date() })
  t.equal(await width(other), 55, 'who asks for the first time sees the new book')
  t.equal(await tag(caller), `${fileHash.slice(0, 32)}-1-original`, 'and who remembers the old one does not put its tag on new pages')

  // A book that is analyzed again between two statements.
  const { rows } = await database.raw("SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'books'")
  const columns = (rows as { name: string }[]).map(({ name }) => (name === 'analyzed_at' ? 'clock_timestamp() AS analyzed_at' : name))
  await database.raw('ALTER TABLE books RENAME TO books_before')
  await database.raw(`CREATE VIEW books AS SELECT ${columns.join(', ')} FROM books_before`)
  const third = await addCaller(database)
  await t.rejects(tag(third), { code: 'conflict', message: /"comic.cbz" is being analyzed again/ })
})

t.test('pages are resized and converted, never enlarged', async (t) => {
  const reading = await openReading(t)
  const { reader, caller, counts } = reading
  const comic = await addComic(reading)
  const read = (pageNumber: number, width?: number, format?: string) =>
    readPage(reader, { caller, bookId: comic.id, pageNumber, width, format: readPageFormat(format), signal })
  const table: [pageNumber: number, width: number | undefined, format: string | undefined, expected: object, resized: boolean][] = [
    [1, 320, undefined, { width: 320, height: 480, format: 'jpeg' }, true],
    [1, 640, undefined, { width: 400, height: 600, format: 'jpeg' }, false],
    [1, undefined, 'jpeg', { width: 400, height: 600, format: 'jpeg' }, false],
    [1, 2000, 'webp', { width: 400, height: 600, format: 'webp' }, true],
    [1, 320, 'png', { width: 320, height: 480, format: 'png' }, true],
    [2, 320, undefined, { width: 320, height: 480, format: 'png' }, true],
    [3, undefined, undefined, { width: 400, height: 600, format: 'gif' }, false],
    [3, 320, undefined, { width: 320, height: 480, format: 'jpeg' }, true],
    [3, undefined, 'webp', { width: 400, height: 600, format: 'webp' }, true],
  ]
  const etags = new Set<string>()
  for (const [pageNumber, width, format, expected, resized] of table) {
    const label = `page ${pageNumber} at ${width} as ${format}`
    const before = counts.resized
    const page = await read(pageNumber, width, format)
    t.same(await measured(page.bytes), expected, label)
    t.equal(page.mediaType, `image/${(expected as { format: string }).format}`, label)
    t.equal(counts.resized - before, resized ? 1 : 0, label)
    etags.add(page.etag)
    const again = await read(pageNumber, width, format)
    t.ok(Buffer.from(again.bytes).equals(page.bytes), `${label}: the same again`)
    t.same([again.etag, again.mediaType], [page.etag, page.mediaType])
    t.equal(counts.resized - before, resized ? 1 : 0, `${label}: made once`)
  }
  t.equal(etags.size, 8, 'each picture has its own tag; only the unchanged ones share theirs')
  for (const width of [0, -320, 321, 4000]) await t.rejects(read(1, width), { code: 'invalid_request', message: /Known widths/ })
  for (const format of ['avif', 'gif', '', 'JPEG']) t.throws(() => readPageFormat(format), { code: 'invalid_request' })
})

t.test('a picture that cannot be converted is served unchanged, and does not count as damaged', async (t) => {
  const { reader, caller, database, folder } = await openReading(t)
  // The signature of JPEG XL, which the resizer does not support.
  const jxl = Buffer.from([0xff, 0x0a, ...Array(100).fill(7)])
  const zip = { offset: 0, compressedBytes: jxl.length, method: 0, crc32: crc32(jxl) } as const
  const pages = [{ name: '1.jxl', mediaType: 'image/jxl', width: 1000, height: 1000, bytes: jxl.length, zip }]
  const { id: bookId } = await addPagedBook(database, { folder, fileName: 'new.cbz', bytes: jxl, format: 'cbz', pageSource: 'zip', pages })
  const page = await readPage(reader, { caller, bookId, pageNumber: 1, signal })
  t.same([page.mediaType, Buffer.from(page.bytes).equals(jxl)], ['image/jxl', true])
  await t.rejects(readPage(reader, { caller, bookId, pageNumber: 1, width: 320, signal }), {
    code: 'page_unreadable',
    message: /without width and format/,
  })
  t.same(await database('book_errors'), [])
})

t.test('a page without the first bytes of a picture is never served as one', async (t) => {
  const { reader, caller, database, folder } = await openReading(t)
  const strangers: [name: string, bytes: Buffer][] = [
    ['1.jpg', Buffer.from('<html><script>alert(1)</script></html>')],
    ['2.png', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
    ['3.gif', Buffer.alloc(64)],
    ['4.bmp', Buffer.from('BM is how this text begins, which is no bitmap.')],
    ['5.avif', Buffer.from('\0\0\0\x20ftypisom\0\0\0\0isommp42 and so on')],
  ]
  const avif = Buffer.concat([Buffer.from('\0\0\0\x20ftypavif\0\0\0\0avifmif1'), Buffer.alloc(40)])
  const entries: typeof strangers = [...strangers, ['6.jpg', avif]]
  const bytes = Buffer.concat(entries.map(([, data]) => data))
  let offset = 0
  const pages = entries.map(([name, data]) => {
    const zip = { offset, compressedBytes: data.length, method: 0, crc32: crc32(data) } as const
    offset += data.length
    return { name, mediaType: 'image/jpeg', width: null, height: null, bytes: data.length, zip }
  })
  const zipped = await addPagedBook(database, { folder, fileName: 'odd.cbz', bytes, format: 'cbz', pageSource: 'zip', pages })
  const epub = await addPagedBook(database, { folder, fileName: 'odd.epub', bytes, format: 'epub', pageSource: 'zip', pages })
  const inRar = pages.map(({ zip: _, ...page }) => page)
  const rars = await Promise.all(
    [true, false].map((solid) =>
      addPagedBook(database, {
        ...{
          folder,
          fileName: `odd ${solid}.cbr`,
          bytes: buildRar(
            entries.map(([name, data]) => ({ name, data })),
            { solid },
          ),
        },
        ...{ format: 'cbr', pageSource: solid ? 'rar_solid' : 'rar', pages: inRar },
      }),
    ),
  )
  for (const { id: bookId } of [zipped, epub, ...rars]) {
    for (const [index, [name]] of strangers.entries()) {
      for (const variant of [{}, { width: 320 }, { format: 'png' }, { width: 320, format: 'webp' }] as const) {
        const asked = readPage(reader, { caller, bookId, pageNumber: index + 1, ...variant, signal })
        await t.rejects(asked, { code: 'page_unreadable', message: /not a picture/ }, `${name} ${JSON.stringify(variant)}`)
      }
    }
    const page = await readPage(reader, { caller, bookId, pageNumber: entries.length, signal })
    t.equal(page.mediaType, 'image/avif', 'what only browsers can decode is served, and as what it is')
  }
  t.match(await database('book_errors').where({ book_id: zipped.id }), [{ error_type: 'page_extraction', fatal: false }])
})

t.test('pages of a PDF are rendered once and cached', async (t) => {
  const reading = await openReading(t)
  const { reader, caller, counts, database, folder } = reading
  const bytes = buildPdf({
    pages: [
      { width: 600, height: 900, text: 'One' },
      { width: 900, height: 300, text: 'Two' },
      { width: 30, height: 9000, text: 'Strip' },
    ],
  })
  const pages = [
    { name: 'page 1', mediaType: 'image/jpeg', width: 1250, height: 1875, bytes: 0 },
    { name: 'page 2', mediaType: 'image/jpeg', width: 1875, height: 625, bytes: 0 },
    { name: 'page 3', mediaType: 'image/jpeg', width: 62, height: 18750, bytes: 0 },
  ]
  const book = await addPagedBook(database, { folder, fileName: 'book.pdf', bytes, format: 'pdf', pageSource: 'pdf', pages })
  const read = (from: typeof reader, pageNumber: number, width?: number, format?: string) =>
    readPage(from, { caller, bookId: book.id, pageNumber, width, format: readPageFormat(format), signal })

  const both = await Promise.all([read(reader, 1), read(reader, 1), read(reader, 1, undefined, 'jpeg')])
  t.equal(counts.rendered, 1, 'three readers of one page, one rendering')
  t.match(await measured(both[0].bytes), { width: 1333, height: 2000, format: 'jpeg' })
  t.match(await measured((await read(reader, 2, 640)).bytes), { width: 640, format: 'jpeg' })
  t.match(await measured((await read(reader, 1, 640)).bytes), { width: 640, height: 960, format: 'jpeg' })
  t.match(await measured((await read(reader, 3, 2000)).bytes), { height: 4000 }, 'a strip has an end')
  t.match(await measured((await read(reader, 1, 640, 'webp')).bytes), { width: 640, height: 960, format: 'webp' })
  t.same([counts.rendered, counts.resized], [3, 2], 'a narrower page comes from the larger picture, and what was there was converted')
  await reader.close()

  const again = await reading.open()
  t.ok(Buffer.from((await read(again, 1)).bytes).equals(Buffer.from(both[0].bytes)), 'kept over a restart')
  t.equal(counts.rendered, 3)
  await utimes(book.path, 1, 1)
  t.ok(await read(again, 1), 'rendered pages belong to the content and stay valid')
  await t.rejects(read(again, 2, 960), { code: 'conflict' }, 'a changed file is not rendered under the old name')
  await rm(book.path)
  await t.rejects(read(again, 2, 960), { code: 'not_found' })
  await again.close()
})

t.test('first and last pages of the smaller comics of the corpus', async (t) => {
  const corpus = findCorpus()
  const reading = await openReading(t)
  const { reader, caller, counts, database, pool } = reading
  const sources = new Set<string>()
  for (const expected of corpus.files) {
    if (!/^comics\//.test(expected.path) || expected.notABook || expected.expectedErrorType || expected.size > 2_000_000) continue
    const path = corpus.folder + expected.path
    const analysis = await pool.analyze({ ...fileAt(path), verifyPages: false })
    if (analysis.problems.some((problem) => problem.fatal) || analysis.pageSource === 'none') continue
    sources.add(analysis.pageSource)
    const { id } = await addAnalyzedFile(database, path, analysis)
    const wrong: string[] = []
    const before = counts.extracted
    for (const pageNumber of new Set([analysis.pages.length, 1])) {
      const known = analysis.pages[pageNumber - 1]
      const page = await readPage(reader, { caller, bookId: id, pageNumber, signal })
      if (known?.bytes && page.bytes.length !== known.bytes)
        wrong.push(`page ${pageNumber}: ${page.bytes.length} bytes instead of ${known.bytes}`)
      if (analysis.pageSource !== 'pdf' && page.mediaType !== known?.mediaType) wrong.push(`page ${pageNumber} is ${page.mediaType}`)
    }
    t.same(wrong, [], `${expected.path} (${analysis.pageSource}, ${analysis.pages.length} pages)`)
    if (analysis.pageSource === 'rar_solid') t.equal(counts.extracted - before, 1, `${expected.path} is extracted once`)
  }
  t.same([...sources].sort(), ['rar', 'rar_solid', 'zip'], 'every way of having pages of a comic was met')
})
