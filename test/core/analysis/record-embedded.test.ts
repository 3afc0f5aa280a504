import { unlinkSync } from 'node:fs'
import t from 'tap'
import { BOOK_FIELDS, BOOK_LOCKS, bookLockName } from '#core/fields/book-metadata.ts'
import type { Author, Field, MetadataRecord } from '#core/fields/field.ts'
import { applyPatch, joinNames } from '#core/metadata/apply-patch.ts'
import { changeNames } from '#core/metadata/edit-metadata.ts'
import { readRecords, storeRecords } from '#core/metadata/metadata-record-store.ts'
import { type LibraryFixture, openLibraryFixture } from '#test/support/library-fixture.ts'
import { addCaller, addServicePlugin } from '#test/support/library-rows.ts'
import { makePicture } from '#test/support/pictures.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(240_000)

const fields: readonly Field[] = BOOK_FIELDS
const comicInfo = (elements: Record<string, string>) =>
  `<ComicInfo>${Object.entries(elements)
    .map(([name, text]) => `<${name}>${text}</${name}>`)
    .join('')}</ComicInfo>`

/** A comic of one page with this ComicInfo.xml. */
function comicWith(page: Buffer, info: string | null): Buffer {
  const parts = [{ name: '1.jpg', data: page }]
  return buildZip(info === null ? parts : [...parts, { name: 'ComicInfo.xml', data: Buffer.from(info) }])
}

const recordOf = async (fixture: LibraryFixture, id: string) =>
  (await readRecords(fixture.database, 'book', [id])).get(id) as MetadataRecord
const idOf = async (fixture: LibraryFixture, path: string) => (await fixture.books()).get(path)?.id as string

/** First and second version of everything that files say of a book. */
function version(which: 1 | 2): { comicInfo: Record<string, string>; opf: string; expected: Record<string, unknown> } {
  const v = (first: string, second: string) => (which === 1 ? first : second)
  const n = (first: number, second: number) => (which === 1 ? first : second)
  const people = {
    writer: 'Wri',
    penciller: 'Pen',
    inker: 'Ink',
    colorist: 'Col',
    letterer: 'Let',
    coverArtist: 'Cov',
    editor: 'Edi',
    translator: 'Tra',
  }
  const elements = Object.fromEntries(
    Object.entries(people).map(([field, name]) => [field[0]?.toUpperCase() + field.slice(1), `${name} ${which}`]),
  )
  return {
    comicInfo: {
      ...elements,
      Title: `Title ${which}`,
      Number: v('1.5', '2.5'),
      Volume: v('3', '4'),
      Count: v('10', '20'),
      Summary: `Summary ${which}`,
      Year: v('1991', '1992'),
      Month: v('1', '2'),
      Day: v('11', '12'),
      Publisher: `Publisher ${which}`,
      Imprint: `Imprint ${which}`,
      Genre: `Genre ${which}`,
      LanguageISO: v('en', 'de'),
      Format: v('Omnibus', 'Magazine'),
      BlackAndWhite: v('Yes', 'No'),
      Manga: v('Yes', 'No'),
      GTIN: v('9780306406157', '0306406152'),
    },
    opf:
      `<package xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf"><metadata>` +
      `<dc:title id="s">Subtitle ${which}</dc:title><meta refines="#s" property="title-type">subtitle</meta>` +
      `<dc:title id="e">Edition ${which}</dc:title><meta refines="#e" property="title-type">edition</meta>` +
      `<meta name="calibre:title_sort" content="Sort ${which}"/><dc:subject>Subject ${which}</dc:subject>` +
      `<dc:date opf:event="original-publication">${v('1891', '1892')}</dc:date>` +
      `<meta name="calibre:user_metadata:#shelf" content='{"#value#":"Shelf ${which}"}'/>` +
      `</metadata></package>`,
    expected: {
      number: n(1.5, 2.5),
      volume: n(3, 4),
      count: n(10, 20),
      summary: `Summary ${which}`,
      year: n(1991, 1992),
      month: n(1, 2),
      day: n(11, 12),
      publisher: `Publisher ${which}`,
      imprint: `Imprint ${which}`,
      genre: `Genre ${which}`,
      languageIso: v('en', 'de'),
      formatDetail: v('Omnibus', 'Magazine'),
      bookType: v('omnibus', 'magazine'),
      blackAndWhite: which === 1,
      manga: which === 1,
      isbns: v('9780306406157', '0306406152'),
      subtitle: `Subtitle ${which}`,
      edition: `Edition ${which}`,
      titleSort: `Sort ${which}`,
      subjects: [`Subject ${which}`],
      originalYear: n(1891, 1892),
      customMetadata: { shelf: `Shelf ${which}` },
      // The first title in the file beside the book.
      title: `Subtitle ${which}`,
      ...Object.fromEntries(Object.entries(people).map(([field, name]) => [field, `${name} ${which}`])),
    },
  }
}

/** No file has these: they are inserted as if one had, and removed by the next analysis, unless locked. */
const UNSAID: Record<string, unknown> = {
  awards: [{ name: 'Prize', won: true }],
  originalTitle: 'Was sonst',
  seriesTotal: 7,
  seriesPosition: 2.5,
  chapter: 99,
}

const shown = ({ values }: MetadataRecord, { name, role }: Field) =>
  role ? (joinNames((values.authors as Author[] | undefined) ?? [], role) ?? undefined) : values[name]

t.test('each of the 38 locks holds through a scan that changes everything', async (t) => {
  const fixture = await openLibraryFixture(t)
  const [first, second] = await Promise.all([makePicture({ width: 40, height: 60 }), makePicture({ width: 60, height: 40 })])
  const put = (which: 1 | 2) => {
    const said = version(which)
    for (const lock of BOOK_LOCKS) {
      fixture.put(`${lock}/Book c5.cbz`, comicWith(which === 1 ? first : second, comicInfo(said.comicInfo)))
      fixture.put(`${lock}/Book c5.opf`, said.opf)
    }
    return said.expected
  }
  const before: Record<string, unknown> = { ...put(1), ...UNSAID }
  await fixture.scan()
  const books = await fixture.books()
  t.equal(BOOK_LOCKS.length, 38)
  await fixture.database.transaction(async (trx) => {
    const records = await readRecords(
      trx,
      'book',
      [...books.values()].map(({ id }) => id),
    )
    const changed = BOOK_LOCKS.map((lock): [string, MetadataRecord] => {
      const id = books.get(`${lock}/Book c5.cbz`)?.id as string
      const record = records.get(id) as MetadataRecord
      const sources = { ...record.sources, ...Object.fromEntries(Object.keys(UNSAID).map((name) => [name, 'embedded' as const])) }
      return [id, { values: { ...record.values, ...UNSAID }, sources, locks: new Set([lock]) }]
    })
    await storeRecords(trx, 'book', new Map(changed))
  })
  const covers = new Map((await fixture.database('books').select('id', 'cover_hash')).map((row) => [row.id, row.cover_hash]))
  const after: Record<string, unknown> = { ...put(2), chapter: 5 }
  await fixture.scan()
  for (const lock of BOOK_LOCKS) {
    const id = books.get(`${lock}/Book c5.cbz`)?.id as string
    const record = await recordOf(fixture, id)
    const { cover_hash } = await fixture.database('books').where('id', id).first('cover_hash')
    t.equal(cover_hash === covers.get(id), lock === 'cover', `${bookLockName(lock)}: cover`)
    for (const field of fields) {
      if (field.name === 'authors') continue
      const isLocked = field.name === lock || (lock === 'authors' && field.role !== undefined)
      t.same(shown(record, field), isLocked ? before[field.name] : after[field.name], `${bookLockName(lock)}: ${field.name}`)
    }
    t.same([...record.locks], [lock], 'and stays')
  }
})

t.test('data of a file is added, changed and removed; data of a user stays', async (t) => {
  const fixture = await openLibraryFixture(t)
  const page = await makePicture({ width: 40, height: 60 })
  fixture.put('plain/A 1.cbz', comicWith(page, null))
  fixture.put(
    's/Book 3.cbz',
    comicWith(
      page,
      comicInfo({
        Title: 'One',
        Number: '7',
        Writer: 'Ann, Bob',
        Genre: 'Drama, Noir',
        Tags: 'old, kept',
        Publisher: 'P',
        Web: 'https://a.example/1',
      }),
    ),
  )
  await fixture.scan()
  t.same(await fixture.database('book_metadata').where('book_id', await idOf(fixture, 'plain/A 1.cbz')), [], 'nothing said, nothing kept')
  const id = await idOf(fixture, 's/Book 3.cbz')
  t.match(await recordOf(fixture, id), {
    values: {
      title: 'One',
      number: 7,
      publisher: 'P',
      authors: [
        { name: 'Ann', role: 'writer' },
        { name: 'Bob', role: 'writer' },
      ],
    },
    sources: { title: 'embedded', number: 'embedded', publisher: 'embedded', writer: 'embedded' },
  })
  const names = async (table: 'genre' | 'tag') =>
    (
      await fixture.database(`book_${table}s`).join(`${table}s`, `${table}s.id`, `${table}_id`).where('book_id', id).orderBy('name_key')
    ).map((row) => row.name)
  t.same(
    [await names('genre'), await names('tag')],
    [
      ['Drama', 'Noir'],
      ['kept', 'old'],
    ],
  )
  t.match(await fixture.database('book_external_links').where('book_id', id), [{ source: 'comicinfo', url: 'https://a.example/1' }])

  // A user sets one, clears another, and removes a tag.
  await fixture.database.transaction(async (trx) => {
    const record = (await readRecords(trx, 'book', [id])).get(id) as MetadataRecord
    const { next } = applyPatch(fields, record, { publisher: 'Mine' }, 'user')
    await storeRecords(trx, 'book', new Map([[id, { ...next, locks: new Set() }]]))
    await trx('book_tags').where('book_id', id).whereIn('tag_id', trx('tags').where('name', 'kept').select('id')).delete()
  })
  fixture.put('s/Book 3.cbz', comicWith(page, comicInfo({ Writer: 'Cy', Genre: 'drama, War', Tags: 'kept, new', Publisher: 'Q' })))
  await fixture.scan()
  t.match(await recordOf(fixture, id), {
    values: { title: 'Book 3', number: 3, publisher: 'Mine', authors: [{ name: 'Cy', role: 'writer' }] },
    sources: { title: 'file_name', number: 'file_name', publisher: 'user' },
  })
  t.same([await names('genre'), await names('tag')], [['Drama', 'War'], ['new']])
  t.same(await fixture.database('book_external_links').where('book_id', id), [])

  fixture.put('s/Book 3.cbz', comicWith(page, '<ComicInfo><Writer>cut'))
  await fixture.scan()
  t.match(await recordOf(fixture, id), { values: { authors: [{ name: 'Cy' }] } }, 'what cannot be read does not say that there is nothing')
  t.match(await fixture.database('book_errors').where('book_id', id), [{ error_type: 'metadata', fatal: false }])
  t.match((await fixture.books()).get('s/Book 3.cbz'), { state: 'analyzed', page_count: 1 }, 'and the book is readable')

  fixture.put('s/Book 3.cbz', comicWith(page, comicInfo({ Title: 'T', GTIN: '9780306406158', Year: '0', Month: '13' })))
  await fixture.scan()
  const [error] = await fixture.database('book_errors').where('book_id', id)
  t.match(error.message, /GTIN "9780306406158".*check digit/)
  t.match(error.message, /Month "13"/)
  const { values } = await recordOf(fixture, id)
  t.same([values.title, values.isbns, values.year, values.month, values.authors], ['T', undefined, undefined, undefined, undefined])
})

t.test('identifiers of files have the keys of their services', async (t) => {
  const fixture = await openLibraryFixture(t)
  await addServicePlugin(fixture.database, 'goodreads')
  const page = await makePicture({ width: 40, height: 60 })
  const opf = (ids: Record<string, string>) =>
    `<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>${Object.entries(ids)
      .map(([scheme, id]) => `<dc:identifier>${scheme}:${id}</dc:identifier>`)
      .join('')}</metadata></package>`
  fixture.put('s/A.cbz', comicWith(page, comicInfo({ GTIN: '9780306406157, urn:comicvine:4000-7, 761941341828' })))
  fixture.put('s/B/B.cbz', comicWith(page, null))
  fixture.put('s/B/B.opf', opf({ goodreads: '1', amazon: '2' }))
  await fixture.scan()
  const ids = async (path: string) =>
    Object.fromEntries(
      (await fixture.database('book_external_ids').where('book_id', await idOf(fixture, path))).map((row) => [row.source, row.external_id]),
    )
  t.same(await ids('s/A.cbz'), { comicinfo: 'urn:comicvine:4000-7' })
  t.equal((await recordOf(fixture, await idOf(fixture, 's/A.cbz'))).values.isbns, '9780306406157')
  t.same(await ids('s/B/B.cbz'), { 'plugin:goodreads': '1', amazon: '2' })
  fixture.put('s/B/B.cbz', comicWith(page, comicInfo({ Year: '2001' })))
  fixture.put('s/B/B.opf', opf({ goodreads: '3' }))
  await fixture.scan()
  t.same(await ids('s/B/B.cbz'), { 'plugin:goodreads': '3' })
  fixture.put('s/A.cbz', comicWith(page, comicInfo({ Title: 'A' })))
  fixture.put('s/B/B.cbz', comicWith(page, comicInfo({ Year: '2002' })))
  fixture.put('s/B/B.opf', opf({ kobo: '4' }))
  await fixture.scan()
  t.same([await ids('s/A.cbz'), await ids('s/B/B.cbz')], [{}, { kobo: '4' }])
})

t.test('a moved book keeps its data, and takes the new name unless a better source gave one', async (t) => {
  const fixture = await openLibraryFixture(t)
  const page = await makePicture({ width: 40, height: 60 })
  const bytes = comicWith(page, comicInfo({ Publisher: 'P' }))
  const path = fixture.put('a/Old 1.cbz', bytes)
  await fixture.scan()
  const id = await idOf(fixture, 'a/Old 1.cbz')
  await fixture.database.transaction(async (trx) => {
    const record = (await readRecords(trx, 'book', [id])).get(id) as MetadataRecord
    await storeRecords(trx, 'book', new Map([[id, applyPatch(fields, record, { number: 42 }, 'user').next]]))
  })
  unlinkSync(path)
  fixture.put('a/New 2.cbz', bytes)
  await fixture.scan()
  t.equal(await idOf(fixture, 'a/New 2.cbz'), id)
  t.match(await recordOf(fixture, id), { values: { title: 'New 2', number: 42, publisher: 'P' }, sources: { number: 'user' } })
})

t.test('files beside a book replace its own metadata', async (t) => {
  const fixture = await openLibraryFixture(t)
  const page = await makePicture({ width: 40, height: 60 })
  const mylar = JSON.stringify({
    version: '1.0.2',
    metadata: {
      name: 'S',
      publisher: 'Mylar',
      year: 1999,
      status: 'Continuing',
      total_issues: 12,
      comicid: 4711,
      description_text: 'About.',
      age_rating: '17+',
    },
  })
  fixture.put('series.json', mylar)
  fixture.put('Root.cbz', comicWith(page, null))
  fixture.put('s/series.json', mylar)
  fixture.put('s/metadata.opf', '<package><metadata><title>Not whose</title></metadata></package>')
  fixture.put('s/A 1.cbz', comicWith(page, comicInfo({ Title: 'In', Publisher: 'In' })))
  fixture.put('s/A 1.xml', comicInfo({ Title: 'Beside' }))
  fixture.put('s/B 2.cbz', comicWith(page, null))
  fixture.put('one/metadata.opf', '<package><metadata><title>Calibre</title><creator>Ann Able</creator></metadata></package>')
  fixture.put('one/X.cbz', comicWith(page, null))
  fixture.put('bad/metadata.opf', '<package><metadata>')
  fixture.put('bad/series.json', '[1')
  fixture.put('bad/X.cbz', comicWith(page, null))
  await fixture.scan()
  const of = async (path: string) => (await recordOf(fixture, await idOf(fixture, path))).values
  t.match(await of('s/A 1.cbz'), { title: 'Beside', publisher: 'In' }, 'they win, member by member')
  t.match(await of('s/B 2.cbz'), { title: 'B 2' }, 'a file of the folder says nothing where several books lie in it')
  t.match(await of('one/X.cbz'), { title: 'Calibre', authors: [{ name: 'Ann Able', role: 'author' }] })
  const status = await fixture.scan('deep')
  const sidecar = async (path: string) => (await fixture.database('series').where('path', path).first('sidecar')).sidecar
  t.match(await sidecar('s'), {
    fields: { title: 'S', publisher: 'Mylar', year: 1999, status: 'ongoing', totalVolumeCount: 12, summary: 'About.', ageRating: 17 },
    links: [{ source: 'comicvine', url: 'https://comicvine.gamespot.com/volume/4050-4711/' }],
  })
  const series = async (path: string) => {
    const { series_id } = (await fixture.books()).get(path) ?? {}
    return (await readRecords(fixture.database, 'series', [series_id as string])).get(series_id as string)
  }
  t.match(await series('s/A 1.cbz'), {
    values: { title: 'S', publisher: 'Mylar', year: 1999, status: 'ongoing', totalVolumeCount: 12, ageRating: 17 },
    sources: { title: 'embedded', publisher: 'embedded' },
  })
  t.match((await series('one/X.cbz'))?.values, { authors: [{ name: 'Ann Able', role: 'author' }] }, 'books tell of their series')
  t.equal(await sidecar('Root.cbz'), null, 'beside the library itself it would speak of every book there')
  const [error] = await fixture.database('book_errors').where('book_id', await idOf(fixture, 'bad/X.cbz'))
  t.match(error.message, /metadata\.opf beside the book cannot be read/)
  t.match(status.errors, [/"bad\/series\.json": series\.json beside the book does not/])
})

t.test('what users gave stays when the file does not contain it any more, and a file changes none of their links', async (t) => {
  const fixture = await openLibraryFixture(t)
  const page = await makePicture({ width: 40, height: 60 })
  const put = (info: Record<string, string>) => fixture.put('Run/1.cbz', comicWith(page, comicInfo(info)))
  put({ Tags: 'Kept, Going, Removed', Genre: 'Horror, Drama', Web: 'https://one.example.org/a' })
  await fixture.scan()
  const id = await idOf(fixture, 'Run/1.cbz')
  const { database } = fixture
  const rowsOf = async (name: 'tag' | 'genre') => {
    const rows = await database(`book_${name}s AS j`).join(`${name}s AS n`, 'n.id', `j.${name}_id`).where('book_id', id)
    return Object.fromEntries(rows.map((row) => [row.name, row.given_by]))
  }
  const linksOf = () => database('book_external_links').where('book_id', id).select('url', 'given_by')
  t.same(await rowsOf('tag'), { Kept: 'embedded', Going: 'embedded', Removed: 'embedded' })
  t.match(await linksOf(), [{ url: 'https://one.example.org/a', given_by: 'embedded' }])
  const person = await addCaller(database, { role: 'admin' })
  const change = { kind: 'book', ids: [id], taxonomy: 'tag', add: ['kept', 'Mine'], remove: ['Removed'] } as const
  await changeNames(database, person, change)
  await database('book_external_links').where('book_id', id).update({ url: 'https://one.example.org/mine', given_by: 'user' })

  put({ Tags: 'New', Genre: 'Drama', Web: 'https://one.example.org/b' })
  await fixture.scan()
  t.same(await rowsOf('tag'), { Kept: 'user', Mine: 'user', New: 'embedded' })
  t.same(await rowsOf('genre'), { Drama: 'embedded' })
  t.match(await linksOf(), [{ url: 'https://one.example.org/mine', given_by: 'user' }])
  put({ Tags: 'Removed' })
  await fixture.scan()
  t.same(await rowsOf('tag'), { Kept: 'user', Mine: 'user' }, 'what a person took away does not come back with another version of the file')
  t.match(await linksOf(), [{ url: 'https://one.example.org/mine' }])
})
