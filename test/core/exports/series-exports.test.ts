import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Knex } from 'knex'
import t from 'tap'
import type { Caller } from '#core/account/caller.ts'
import { BOOK_EXPORT_FIELDS, SERIES_EXPORT_FIELDS } from '#core/exports/export-field-query.ts'
import { openExports } from '#core/exports/series-exports.ts'
import { silentLog } from '#core/foundation/log.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { readCsv } from '#test/support/csv-reader.ts'
import { addManySeries, openExportFixture } from '#test/support/export-fixture.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

t.setTimeout(240_000)

type Row = Record<string, unknown>

/** Two series with books, one of which the user has read a little, and one without books. */
async function fillShelf(database: Knex, { libraryId, caller }: { libraryId: string; caller: Caller }) {
  const saga = await addSeries(database, { library_id: libraryId, title: 'Saga', path: 'Saga' })
  const zed = await addSeries(database, { library_id: libraryId, title: 'The Zed', title_sort: 'Zed, The', path: 'Zed' })
  await addSeries(database, { library_id: libraryId, title: 'Nothing there' })
  const book = { library_id: libraryId, series_id: saga, page_count: 10 }
  const two = await addBook(database, { ...book, title: 'Saga 2', number: 2 })
  const one = await addBook(database, { ...book, title: 'Saga 1', number: 1, volume: 1, chapter: 1.5, file_size: '5000000000' })
  const extra = await addBook(database, { ...book, title: 'Saga Extra' })
  await addBook(database, { ...book, title: 'Saga gone', number: 9, deleted_at: new Date() })
  await addBook(database, { library_id: libraryId, series_id: zed, title: 'Zed 1' })
  await database('series_metadata').insert({
    series_id: saga,
    summary: 'Two soldiers.\nOne child.',
    year: 2012,
    status: 'ongoing',
    authors: JSON.stringify([{ name: 'Vaughan', role: 'writer' }]),
    total_volume_count: 12,
    total_chapter_count: 72.5,
  })
  await database('book_metadata').insert({
    book_id: one,
    year: 2012,
    month: 3,
    isbns: '9781607066019, 9781607066927',
    subjects: ['War'],
    language_iso: 'en',
  })
  for (const name of ['Space', 'drama']) {
    const [genre] = await database('genres').insert({ name, name_key: name.toLowerCase() }, 'id')
    await database('series_genres').insert({ series_id: saga, genre_id: genre.id })
    await database('book_genres').insert({ book_id: one, genre_id: genre.id })
  }
  const [tag] = await database('tags').insert({ name: 'owned', name_key: 'owned' }, 'id')
  await database('series_tags').insert({ series_id: saga, tag_id: tag.id })
  await database('series_alternate_titles').insert({ series_id: saga, label: 'French', title: 'La saga' })
  await database('series_external_ids').insert({ series_id: saga, source: 'plugin:anilist', external_id: '7' })
  await database('series_external_ratings').insert({ series_id: saga, source: 'mal', rating: 84.5, vote_count: 3 })
  const other = await addCaller(database)
  await database('series_user_ratings').insert([
    { series_id: saga, user_id: caller.userId, rating: 90, notes: 'Mine.' },
    { series_id: saga, user_id: other.userId, rating: 85, notes: 'Theirs.' },
  ])
  await database('read_progress').insert([
    { user_id: caller.userId, book_id: one, current_page: 10, completed: true },
    { user_id: caller.userId, book_id: two, current_page: 3 },
    { user_id: other.userId, book_id: extra, current_page: 10, completed: true },
  ])
  return { saga, zed, one, two, extra }
}

t.test('every field shows the data of the library, in each format', async (t) => {
  const fixture = await openExportFixture(t)
  const { saga, one, zed } = await fillShelf(fixture.database, fixture)
  const fields = Object.keys(SERIES_EXPORT_FIELDS)
  const bookFields = Object.keys(BOOK_EXPORT_FIELDS)

  const series = await fixture.make({ fields })
  t.match(series, { rowCount: 2, exportType: 'series', fileSizeBytes: Buffer.byteLength(series.text), error: null, fields, bookFields: [] })
  const [first, second] = JSON.parse(series.text) as [Row, Row]
  t.same(Object.keys(first), fields, 'in the requested order')
  const { created_at, updated_at, ...told } = first
  t.ok(Date.parse(String(created_at)) > 0 && Date.parse(String(updated_at)) > 0)
  t.same(told, {
    series_name: 'Saga',
    series_id: saga,
    library_id: fixture.libraryId,
    library_name: 'Comics',
    path: 'Saga',
    title: 'Saga',
    title_sort: null,
    summary: 'Two soldiers.\nOne child.',
    publisher: null,
    imprint: null,
    status: 'ongoing',
    year: 2012,
    age_rating: null,
    language: null,
    authors: [{ name: 'Vaughan', role: 'writer' }],
    genres: ['drama', 'Space'],
    tags: ['owned'],
    alternate_titles: [{ label: 'French', title: 'La saga' }],
    external_ids: [{ source: 'plugin:anilist', externalId: '7' }],
    expected_book_count: 12,
    expected_chapter_count: 72.5,
    actual_book_count: 3,
    unread_book_count: 2,
    progress: 33,
    user_rating: 90,
    user_notes: 'Mine.',
    community_avg_rating: 87.5,
    external_ratings: [{ source: 'mal', rating: 84.5, voteCount: 3 }],
  })
  t.match(second, { series_id: zed, authors: [], genres: [], external_ratings: [], user_rating: null, progress: 0, unread_book_count: 1 })

  const books = await fixture.make({ exportType: 'books', bookFields })
  t.match(books, { rowCount: 4, fields: [], bookFields })
  const rows = JSON.parse(books.text) as Row[]
  t.same(
    rows.map(({ book_name }) => book_name),
    ['Saga 1', 'Saga 2', 'Saga Extra', 'Zed 1'],
    'in reading order',
  )
  t.match(rows[0], {
    book_id: one,
    series_id: saga,
    series_name: 'Saga',
    library_name: 'Comics',
    file_format: 'cbz',
    file_size: 5_000_000_000,
    number: 1,
    volume: 1,
    chapter: 1.5,
    language: 'en',
    release_date: '2012-03',
    isbns: ['9781607066019', '9781607066927'],
    genres: ['drama', 'Space'],
    subjects: ['War'],
    current_page: 10,
    progress: 100,
    completed: true,
  })
  t.match(rows[1], { progress: 30, completed: false, isbns: null, release_date: null, authors: [] })
  t.match(rows[2], { progress: null, current_page: null, completed: false, last_read_at: null, number: null }, 'no data of other users')

  const both = await fixture.make({ exportType: 'both', format: 'csv', fields: ['year'], bookFields: ['number'] })
  t.same(readCsv(both.text.slice(1)), [
    ['record_type', 'series_name', 'year', 'book_name', 'book_number'],
    ['series', 'Saga', '2012', '', ''],
    ['book', 'Saga', '', 'Saga 1', '1'],
    ['book', 'Saga', '', 'Saga 2', '2'],
    ['book', 'Saga', '', 'Saga Extra', ''],
    ['series', 'The Zed', '', '', ''],
    ['book', 'The Zed', '', 'Zed 1', ''],
  ])
  t.equal(both.rowCount, 6)
  const nested = JSON.parse((await fixture.make({ exportType: 'both' })).text) as { series_name: string; books: unknown[] }[]
  t.same(
    nested.map(({ series_name, books }) => [series_name, books.length]),
    [
      ['Saga', 3],
      ['The Zed', 1],
    ],
  )
  t.match((await fixture.make({ format: 'md', fields: ['summary'] })).text, '- **Summary:** Two soldiers.\\\n  One child.\n')
  t.same(fixture.files().length, 5, 'and there is no other file')
})

t.test('pages neither lose nor repeat records', async (t) => {
  const { database, libraryId, make } = await openExportFixture(t)
  // More series than a page, one of them with more books than a page, all with keys that tie.
  await database.raw(
    `INSERT INTO series (library_id, path, title) SELECT ?, 'p' || n, CASE WHEN n % 3 = 0 THEN 'Same' ELSE 'Title ' || n END FROM generate_series(1, 350) n`,
    [libraryId],
  )
  await database.raw(
    `INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, title, number)
     SELECT s.library_id, s.id, s.path || '/' || n, CASE WHEN n % 2 = 0 THEN 'same' ELSE 'f' || n END, 'cbz', 1, 1, 'Book', CASE WHEN n % 5 > 0 THEN n / 7 END
     FROM series s, generate_series(1, CASE WHEN s.path = 'p77' THEN 900 WHEN s.path LIKE 'p1%' THEN 3 ELSE 1 END) n`,
  )
  const books = (await database('books').count({ count: '*' }).first())?.['count'] as number
  for (const exportType of ['series', 'books', 'both'] as const) {
    const { text, rowCount } = await make({ exportType, format: 'csv', fields: ['series_id'], bookFields: ['book_id', 'number'] })
    const rows = readCsv(text.slice(1)).slice(1)
    const expected = { series: 350, books, both: 350 + Number(books) }[exportType]
    t.equal(rows.length, expected, exportType)
    t.equal(rowCount, expected)
    t.equal(new Set(rows.map((row) => row.join())).size, expected, 'each once')
    const big = await database('series').where({ path: 'p77' }).first('id')
    if (exportType !== 'both') continue
    const numbers = rows.filter((row) => row[0] === 'book' && row[2] === big.id).map((row) => (row[5] === '' ? Infinity : Number(row[5])))
    t.equal(numbers.length, 900)
    t.same(
      numbers,
      numbers.toSorted((a, b) => a - b),
      'in reading order across pages',
    )
  }
})

t.test('a user sees only what they may, and no other user’s exports', async (t) => {
  const { database, libraryId, make, exports, caller, newExport } = await openExportFixture(t)
  const shelf = await fillShelf(database, { libraryId, caller })
  const other = await addCaller(database)
  await shareSeries(database, { seriesId: shelf.saga, caller: other, mode: 'deny' })
  for (const exportType of ['series', 'books', 'both'] as const) {
    for (const format of ['json', 'csv', 'md'] as const) {
      const fields = Object.keys(SERIES_EXPORT_FIELDS)
      const all = { exportType, format, fields, bookFields: Object.keys(BOOK_EXPORT_FIELDS) }
      const { text, id, rowCount } = await make(all, other)
      t.notMatch(text, /saga/i, `${exportType} ${format}`)
      t.match(text, /Zed/)
      t.equal(rowCount, exportType === 'both' ? 2 : 1, 'nor counted')
      await t.rejects(exports.get(caller, id), { code: 'not_found' })
      await t.rejects(exports.findFile(caller, id), { code: 'not_found' })
      await t.rejects(exports.remove(caller, id), { code: 'not_found' })
      await exports.remove(other, id)
    }
  }
  t.same(await exports.list(caller), [])
  const narrow: Caller = { ...caller, permissions: new Set(['series-read'] as const) }
  await t.rejects(exports.create(narrow, newExport({ exportType: 'both' })), { code: 'forbidden' }, 'a key that may not read books')
  const { id } = await make({ exportType: 'books' })
  await t.rejects(exports.findFile(narrow, id), { code: 'forbidden' })
})

t.test('invalid requests are refused with the reason', async (t) => {
  const { exports, caller, newExport } = await openExportFixture(t, { manual: true })
  const nowhere = '00000000-0000-4000-8000-000000000000'
  await t.rejects(exports.create(caller, newExport({ libraryIds: [nowhere] })), { code: 'not_found', message: /no library 0000/ })
  await t.rejects(exports.create(caller, newExport({ fields: ['titel'] })), {
    code: 'invalid_value',
    message: /"titel".*There are: series_name/,
  })
  await t.rejects(exports.create(caller, newExport({ bookFields: ['toString'] })), { code: 'invalid_value', message: /bookFields/ })
  t.same((await exports.create(caller, newExport({ fields: ['year', 'series_name', 'year'] }))).fields, ['series_name', 'year'])
})

t.test('exports are limited in number for each user', async (t) => {
  const { database, exports, caller, newExport, make, tasks, ended, files } = await openExportFixture(t, {
    manual: true,
    limits: { keptMax: 4, bytesMax: 4_000 },
  })
  await t.test('three at the same time, also with concurrent requests', async (t) => {
    const asked = await Promise.allSettled(Array.from({ length: 8 }, () => exports.create(caller, newExport())))
    const refused = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    t.equal(refused.length, 5)
    t.match(refused, Array(5).fill({ code: 'conflict', message: /3 of your exports are running/ }))
    const other = await addCaller(database)
    const foreign = await exports.create(other, newExport())
    t.equal(foreign.status, 'pending', 'those of other users do not count')
    await tasks.start()
    for (const { id } of await exports.list(caller)) t.equal((await ended(id)).status, 'completed')
    t.equal((await ended(foreign.id, other)).status, 'completed')
  })
  await t.test('the oldest exports of a user are deleted for new ones', async (t) => {
    const oldest = (await exports.list(caller)).at(-1)?.id as string
    const before = await exports.findFile(caller, oldest)
    for (let times = 0; times < 2; times++) await make()
    const list = await exports.list(caller)
    t.equal(list.length, 4)
    t.notOk(list.some(({ id }) => id === oldest))
    t.notOk(existsSync(before.path), 'with their files')
    await t.rejects(exports.findFile(caller, oldest), { code: 'not_found' })
    t.equal(files().length, 5, 'four, and the one of the other')
  })
  await t.test('exports of all users together have a storage limit', async (t) => {
    await database('series_exports').update({ file_bytes: 700 })
    const libraryId = await addLibrary(database, { name: 'Large' })
    const seriesId = await addSeries(database, { library_id: libraryId, title: 'x'.repeat(3_000) })
    await addBook(database, { library_id: libraryId, series_id: seriesId, title: '1' })
    const kept = files()
    const { id } = await exports.create(caller, newExport({ libraryIds: [libraryId] }))
    const failed = await ended(id)
    t.match(failed, { status: 'failed', error: /would exceed the storage limit/, rowCount: null, fileSizeBytes: null })
    t.equal((await getTask(database, failed.taskId)).attempts, 1, 'a retry would not help')
    t.equal(files().length, kept.length - 1, 'nothing of it is left, and the oldest was deleted')
    await t.rejects(exports.findFile(caller, id), { code: 'conflict', message: /it failed/ })
    await database('series_exports').where({ status: 'completed' }).update({ file_bytes: 2_000 })
    await t.rejects(exports.create(caller, newExport()), { code: 'conflict', message: /storage limit/ })
    t.equal((await exports.list(caller)).length, 4, 'a refused request deletes nothing')
  })
})

t.test('exports are deleted when they expire', async (t) => {
  const { database, exports, caller, make, dataFolder, files, tasks } = await openExportFixture(t)
  const gone = await make()
  const kept = await make()
  await database('series_exports')
    .where({ id: gone.id })
    .update({ expires_at: new Date(Date.now() - 1000) })
  await t.rejects(exports.get(caller, gone.id), { code: 'not_found' }, 'immediately')
  await t.rejects(exports.findFile(caller, gone.id), { code: 'not_found' })
  t.equal((await exports.list(caller)).length, 1)
  const folder = join(dataFolder, 'exports')
  const old = '11111111-1111-4111-8111-111111111111.csv'
  for (const name of [old, '22222222-2222-4222-8222-222222222222.md', 'notes.txt', `${kept.id}.json.33.part`]) {
    writeFileSync(join(folder, name), 'x')
  }
  const longAgo = new Date(Date.now() - 8 * 24 * 3_600_000)
  for (const name of [old, 'notes.txt', `${kept.id}.json`]) utimesSync(join(folder, name), longAgo, longAgo)
  await tasks.stop()
  const next = await openTaskQueue({ database, log: silentLog, nodeId: 'next' })
  const again = await openExports({ database, tasks: next, dataFolder, log: silentLog })
  await again.close()
  await next.stop()
  t.same(files(), ['22222222-2222-4222-8222-222222222222.md', 'notes.txt', `${kept.id}.json`].sort(), 'the next start cleans up')
  t.equal(await database('series_exports').where({ id: gone.id }).first(), undefined)
  mkdirSync(folder, { recursive: true })
  rmSync(join(folder, `${kept.id}.json`))
  await t.rejects(exports.findFile(caller, kept.id), { code: 'not_found', message: /The file of this export is missing/ })
})

t.test('a file is refused while it shows what its maker may not see any more', async (t) => {
  const { database, exports, libraryId, make, caller, newExport } = await openExportFixture(t)
  const [shown, hidden] = [
    await addSeries(database, { library_id: libraryId, title: 'Shown' }),
    await addSeries(database, { library_id: libraryId, title: 'Hidden' }),
  ]
  for (const seriesId of [shown, hidden]) await addBook(database, { library_id: libraryId, series_id: seriesId, title: 'One' })
  const made = {
    series: await make({ fields: ['title'] }),
    books: await make({ exportType: 'books' }),
    both: await make({ exportType: 'both', format: 'csv' }),
  }
  const [tag] = await database('sharing_tags').insert({ name: 'for adults' }, 'id')
  const [other] = await database('sharing_tags').insert({ name: 'for all' }, 'id')
  const grant = (tagId: string, mode: string) => ({ user_id: caller.userId, sharing_tag_id: tagId, access_mode: mode })
  await database('series_sharing_tags').insert([
    { series_id: hidden, sharing_tag_id: tag.id },
    { series_id: shown, sharing_tag_id: other.id },
  ])
  const stays = await make({ fields: ['title'] })
  /** What takes the series away, and gives it back. */
  const changes: Record<string, [away: () => Promise<unknown>, back: () => Promise<unknown>]> = {
    'its tag is denied': [
      () => database('user_sharing_grants').insert(grant(tag.id, 'deny')),
      () => database('user_sharing_grants').delete(),
    ],
    'another tag alone is allowed': [
      () => database('user_sharing_grants').insert(grant(other.id, 'allow')),
      () => database('user_sharing_grants').delete(),
    ],
    'the series gets a denied tag': [
      async () => {
        await database('series_sharing_tags').where({ series_id: hidden }).delete()
        await database('user_sharing_grants').insert(grant(tag.id, 'deny'))
        for (const { id } of Object.values(made)) await exports.findFile(caller, id)
        await database('series_sharing_tags').insert({ series_id: hidden, sharing_tag_id: tag.id })
      },
      () => database('user_sharing_grants').delete(),
    ],
    'the account is disabled': [
      () => database('users').where({ id: caller.userId }).update({ is_active: false }),
      () => database('users').where({ id: caller.userId }).update({ is_active: true }),
    ],
  }
  for (const [said, [away, back]] of Object.entries(changes)) {
    await away()
    for (const [kind, { id }] of Object.entries({ ...made, stays })) {
      await t.rejects(exports.findFile(caller, id), { code: 'conflict', message: /may not see any more/ }, `${said}: ${kind}`)
      t.notOk(await exports.mayDownload(caller, id))
    }
    await back()
    for (const { id } of Object.values(made)) t.ok((await exports.findFile(caller, id)).path, `not any more: ${said}`)
  }
  await database('user_sharing_grants').insert(grant(tag.id, 'deny'))
  const smaller = await make({ fields: ['title'] })
  t.notMatch(smaller.text, /Hidden/)
  t.ok((await exports.findFile(caller, smaller.id)).path, 'one that was made since then is for its maker')
  // A series that was hidden does not come back by being deleted.
  await database('series').where({ id: hidden }).delete()
  await t.rejects(exports.findFile(caller, made.series.id), { code: 'conflict' })
  t.ok((await exports.findFile(caller, smaller.id)).path)

  await database('users').where({ id: caller.userId }).update({ is_active: false })
  await t.rejects(exports.create(caller, newExport()), { code: 'not_found' }, 'a disabled account has no library')
})

t.test('nothing is made for an account that was disabled meanwhile', async (t) => {
  const { database, exports, tasks, caller, newExport, ended } = await openExportFixture(t, { manual: true })
  const { id } = await exports.create(caller, newExport())
  await database('users').where({ id: caller.userId }).update({ is_active: false })
  await tasks.start()
  t.match(await ended(id), { status: 'failed', error: /disabled/ })
})

t.test('the series of a file of many pages are all remembered', async (t) => {
  const { database, exports, libraryId, make, caller } = await openExportFixture(t)
  await addManySeries(database, libraryId, 1_100)
  const { id, rowCount } = await make({ fields: ['title'] })
  const [{ count } = { count: 0 }] = await database('export_series').select(database.raw('sum(cardinality(series_ids))::int AS count'))
  t.same([rowCount, count], [1_100, 1_100])
  t.ok((await exports.findFile(caller, id)).path)
  const last = await database('series').orderBy('sort_key', 'desc').first('id')
  await shareSeries(database, { seriesId: last.id, caller, mode: 'deny' })
  await t.rejects(exports.findFile(caller, id), { code: 'conflict' })
})
