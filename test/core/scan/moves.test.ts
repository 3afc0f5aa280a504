import { copyFileSync, cpSync, mkdirSync, renameSync, rmSync, unlinkSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { visibleTo } from '#core/account/visibility.ts'
import type { Analyze } from '#core/fields/analysis.ts'
import { saveProgress } from '#core/reading/progress-store.ts'
import { MOVE_CASES, type MoveCase, SIX } from '#test/core/scan/moves.table.ts'
import { rateSeries, setTestRule } from '#test/support/access-rules.ts'
import { oneOfEach } from '#test/support/lane-size.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addCaller, addLibrary } from '#test/support/library-rows.ts'
import { comicOfPages } from '#test/support/paged-comics.ts'
import { findPool } from '#test/support/pool.ts'

t.setTimeout(600_000)

const WRITTEN_AT = 1_700_000_000

interface Libraries extends LibraryFixture {
  /** The folder of the two libraries `A` and `B`. */
  folder: string
  ids: Record<string, string>
}

async function openLibraries(t: Test, analyze?: Analyze): Promise<Libraries> {
  const fixture = await openLibraryFixture(t, analyze ? { analyze } : {})
  const folder = fixture.root
  const ids: Record<string, string> = { A: fixture.libraryId, B: await addLibrary(fixture.database, { path: join(folder, 'B') }) }
  for (const name of ['A', 'B']) mkdirSync(join(folder, name))
  await fixture
    .database('libraries')
    .where('id', fixture.libraryId)
    .update({ path: join(folder, 'A') })
  // Two files of one size that are written in one tick of the clock of the disk look the same to a scan.
  let seconds = WRITTEN_AT
  const put: LibraryFixture['put'] = (path, content) => {
    const written = fixture.put(path, content)
    seconds += 1
    utimesSync(written, seconds, seconds)
    return written
  }
  return { ...fixture, put, folder, ids }
}

async function scanOne({ scans, database }: Libraries, libraryId: string): Promise<void> {
  const { taskId } = await scans.start(libraryId)
  await until(async () => {
    const status = await scans.getStatus(libraryId)
    const { rows } = await database.raw(`SELECT count(*)::int AS count FROM tasks WHERE status IN ('pending', 'processing')`)
    return status.taskId === taskId && status.completedAt !== null && rows[0].count === 0
  })
}

interface Seen {
  id: string
  series_id: string
  deleted_at: Date | null
  page: number | null
  state: string
}

async function booksOf({ database, folder }: Libraries): Promise<Map<string, Seen>> {
  const rows: (Seen & { path: string })[] = await database('books')
    .leftJoin('read_progress AS p', 'p.book_id', 'books.id')
    .select('books.id', 'series_id', 'deleted_at', 'path', 'state', 'p.current_page AS page')
  return new Map(rows.map(({ path, ...row }) => [path.slice(folder.length + 1), row]))
}

const folderOf = (path: string) => dirname(path)

async function checkCase(t: Test, one: MoveCase, { order, isPadded }: { order: string; isPadded: boolean }): Promise<void> {
  const libraries = await openLibraries(t)
  const { folder, ids, database } = libraries
  const at = (path: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    return join(folder, path)
  }
  const put = (path: string, content: string) => libraries.put(path, comicOfPages(content, { isPadded }))
  for (const [path, content] of Object.entries(one.books ?? SIX)) put(path, content)
  for (const name of ['A', 'B']) await scanOne(libraries, ids[name] as string)
  const before = await booksOf(libraries)
  const { userId } = await addCaller(database)
  for (const { id } of before.values()) await database('read_progress').insert({ user_id: userId, book_id: id, current_page: 2 })
  for (const [kind, path, more] of one.steps) {
    if (kind === 'move') renameSync(join(folder, path), at(more))
    else if (kind === 'copy') copyFileSync(join(folder, path), at(more))
    else if (kind === 'put') put(path, more)
    else unlinkSync(join(folder, path))
  }
  for (const name of order) await scanOne(libraries, ids[name] as string)
  const look = async () => {
    const books = [...(await booksOf(libraries))]
    const pathOf = new Map([...before].map(([path, { id }]) => [id, path]))
    const seriesOf = new Map([...before].map(([path, row]) => [row.series_id, folderOf(path)]))
    const present = books.filter(([, { deleted_at }]) => deleted_at === null)
    return {
      after: Object.fromEntries(present.map(([path, { id }]) => [path, pathOf.get(id) ?? null])),
      missing: Object.fromEntries(
        books
          .filter(([, { deleted_at }]) => deleted_at !== null)
          // Where another book has the path.
          .map(([path, { id }]) => [path.replace(` (missing ${id})`, ''), pathOf.get(id)]),
      ),
      series: Object.fromEntries(present.map(([path, { series_id }]) => [folderOf(path), seriesOf.get(series_id) ?? null])),
      pages: Object.fromEntries(present.map(([path, { page }]) => [path, page])),
      states: [...new Set(present.map(([, { state }]) => state))],
    }
  }
  const found = await look()
  t.same(found.after, one.after)
  t.same(found.missing, one.missing ?? {})
  t.match(found.series, one.series ?? {})
  const pages = Object.fromEntries(Object.entries(one.after).map(([path, from]) => [path, one.pages?.[path] ?? (from === null ? null : 2)]))
  t.same(found.pages, pages)
  t.same(found.states, ['analyzed'])
  const { rows: strays } = await database.raw(
    'SELECT b.path FROM books b JOIN series s ON s.id = b.series_id WHERE s.library_id <> b.library_id',
  )
  t.same(strays, [], 'each book is in the library of its series')
  for (const name of 'AB') await scanOne(libraries, ids[name] as string)
  t.same(await look(), found, 'later scans change nothing')
}

const CASES = MOVE_CASES.flatMap((one) => {
  const orders = one.steps.some((step) => step.slice(1).some((path) => path?.startsWith('B/'))) ? ['AB', 'BA'] : ['A']
  return orders.flatMap((order) => [true, false].map((isPadded) => ({ one, way: { order, isPadded } })))
})
for (const { one, way } of oneOfEach(2, 'ways to scan a move', CASES))
  t.test(`${one.title}, files of ${way.isPadded ? 'different sizes' : 'one size'}, scans of ${way.order}`, (t) => checkCase(t, one, way))

t.test('a file that moves to another library is read once, and keeps what belongs to it', async (t) => {
  const libraries = await openLibraries(t)
  const { database, ids, folder, analyzed } = libraries
  for (const [path, content] of Object.entries(SIX)) libraries.put(path, comicOfPages(content))
  for (const name of 'AB') await scanOne(libraries, ids[name] as string)
  const before = await booksOf(libraries)
  const { id, series_id } = before.get('A/s/01.cbz') as Seen
  await database('book_metadata').insert({ book_id: id, summary: 'Mine', locks: ['summary'], sources: { summary: 'user' } })
  analyzed.clear()
  renameSync(join(folder, 'A/s'), join(folder, 'B/s'))
  for (const name of 'BA') await scanOne(libraries, ids[name] as string)
  t.same(Object.fromEntries(analyzed), Object.fromEntries([1, 2, 3, 4, 5].map((number) => [`B/s/0${number}.cbz`, 1])))
  t.match(await database('book_metadata').where('book_id', id).first(), { summary: 'Mine', locks: ['summary'] })
  t.match(await database('series').where('id', series_id).first(), { library_id: ids['B'], path: 's', title: 's' })
  t.same(await database('series').orderBy('path').pluck('path'), ['s', 't'], 'nothing is left of it in the other library')
})

t.test('files that are copied to another library first, and then deleted, are the same books', async (t) => {
  const libraries = await openLibraries(t)
  const { database, ids, folder } = libraries
  for (const [path, content] of Object.entries(SIX)) libraries.put(path, comicOfPages(content))
  for (const name of 'AB') await scanOne(libraries, ids[name] as string)
  const before = await booksOf(libraries)
  cpSync(join(folder, 'A/s'), join(folder, 'B/s'), { recursive: true })
  await scanOne(libraries, ids['B'] as string)
  t.not((await booksOf(libraries)).get('B/s/01.cbz')?.id, before.get('A/s/01.cbz')?.id)
  rmSync(join(folder, 'A/s'), { recursive: true })
  await database('libraries')
    .where('id', ids['A'] as string)
    .update({ devices: null })
  libraries.put('A/u/1.cbz', comicOfPages('u1'))
  await scanOne(libraries, ids['A'] as string)
  const { guard } = await libraries.scans.getStatus(ids['A'] as string)
  if (guard) {
    const { taskId } = await libraries.scans.start(ids['A'] as string, 'normal', null, { confirm: true })
    await until(async () => (await database('tasks').whereIn('status', ['pending', 'processing'])).length === 0)
    t.ok(taskId)
  }
  const after = await booksOf(libraries)
  for (const name of ['01', '02', '03', '04', '05'])
    t.match(after.get(`B/s/${name}.cbz`), {
      id: before.get(`A/s/${name}.cbz`)?.id,
      series_id: before.get('A/s/01.cbz')?.series_id,
      state: 'analyzed',
      deleted_at: null,
    })
  t.same([...after.keys()].sort(), ['A/t/01.cbz', 'A/u/1.cbz', ...['01', '02', '03', '04', '05'].map((name) => `B/s/${name}.cbz`)])
})

t.test('a book whose path another one has taken comes back with its file', async (t) => {
  const libraries = await openLibraries(t)
  const { database, ids, folder } = libraries
  for (const [path, content] of Object.entries(SIX)) libraries.put(path, comicOfPages(content))
  const scan = async () => await scanOne(libraries, ids['A'] as string)
  await scan()
  const before = await booksOf(libraries)
  const idOf = (path: string) => before.get(path)?.id as string
  await database('book_metadata').insert({ book_id: idOf('A/t/01.cbz'), summary: 'Mine', locks: ['summary'], sources: { summary: 'user' } })
  renameSync(join(folder, 'A/s/01.cbz'), join(folder, 'A/t/01.cbz'))
  libraries.put('A/s/01.cbz', comicOfPages('new'))
  await scan()
  const missing = await database('books').where('id', idOf('A/t/01.cbz')).first()
  t.equal(missing.path, join(folder, `A/t/01.cbz (missing ${missing.id})`))
  t.match(missing, { missing_why: 'file', series_id: before.get('A/t/01.cbz')?.series_id, file_name: '01.cbz' })
  const fresh = await database('books').where('path', join(folder, 'A/s/01.cbz')).first()
  t.match(fresh, { title: '01', number: 1, page_count: 3, state: 'analyzed', series_id: before.get('A/s/01.cbz')?.series_id })
  t.same(await database('book_metadata').where('summary', 'Mine').pluck('book_id'), [missing.id], 'its metadata is its own')
  libraries.put('A/s/07.cbz', comicOfPages('other'))
  await scan()
  t.match((await booksOf(libraries)).get('A/s/07.cbz'), { id: missing.id, deleted_at: null, state: 'analyzed' })
})

t.test('a new file at the path of a book that went on to another path is a new book', async (t) => {
  const libraries = await openLibraries(t)
  const { database, ids, folder } = libraries
  for (const [path, content] of Object.entries(SIX)) libraries.put(path, comicOfPages(content))
  const scan = async () => await scanOne(libraries, ids['A'] as string)
  await scan()
  const before = await booksOf(libraries)
  renameSync(join(folder, 'A/s/05.cbz'), join(folder, 'A/s/04.cbz'))
  await scan()
  libraries.put('A/s/05.cbz', comicOfPages('new'))
  await scan()
  t.equal((await booksOf(libraries)).size, before.size + 1)
  t.same(await database('books').whereNotNull('deleted_at').pluck('id'), [before.get('A/s/04.cbz')?.id])
})

t.test('missing books of a series stay in their library', async (t) => {
  for (const order of ['AB', 'BA']) {
    const libraries = await openLibraries(t)
    const { database, ids, folder } = libraries
    for (const [path, content] of Object.entries(SIX)) libraries.put(path, comicOfPages(content))
    for (const name of 'AB') await scanOne(libraries, ids[name] as string)
    const before = await booksOf(libraries)
    unlinkSync(join(folder, 'A/s/05.cbz'))
    await scanOne(libraries, ids['A'] as string)
    renameSync(join(folder, 'A/s'), join(folder, 'B/s'))
    for (const name of order) await scanOne(libraries, ids[name] as string)
    const after = await booksOf(libraries)
    t.equal(after.get('B/s/01.cbz')?.series_id, before.get('A/s/01.cbz')?.series_id, order)
    const missing = after.get('A/s/05.cbz') as Seen
    t.equal(missing.id, before.get('A/s/05.cbz')?.id)
    const series = await database('series').where('id', missing.series_id).first()
    t.match(series, { library_id: ids['A'], path: 's', title: 's' })
    // It comes back.
    libraries.put('A/s/05.cbz', comicOfPages('five'))
    await scanOne(libraries, ids['A'] as string)
    t.match((await booksOf(libraries)).get('A/s/05.cbz'), { id: missing.id, deleted_at: null })
  }
})

t.test('progress in a replaced file is cut, and comes back with the old content', async (t) => {
  const libraries = await openLibraries(t)
  const { database, ids, put } = libraries
  put('A/s/1.cbz', comicOfPages('long:9', { isPadded: true }))
  put('A/s/2.cbz', comicOfPages('other:9', { isPadded: true }))
  const scan = async () => await scanOne(libraries, ids['A'] as string)
  await scan()
  const book = (await booksOf(libraries)).get('A/s/1.cbz') as Seen
  const [far, done, near] = [await addCaller(database), await addCaller(database), await addCaller(database)]
  const at = async ({ userId }: { userId: string }, page: number, completed = false) =>
    await saveProgress(database, {
      userId,
      bookId: book.id,
      position: { currentPage: page, percentage: page / 9, completed },
      pageCount: 9,
    })
  await at(far, 8)
  await at(done, 9, true)
  await at(near, 2)
  const progress = async () =>
    await Promise.all(
      [far, done, near].map(async ({ userId }) => {
        const row = await database('read_progress').where({ user_id: userId, book_id: book.id }).first()
        return [row.current_page, row.completed]
      }),
    )
  const sittings = async () => await database('reading_sittings').orderBy(['reading_id', 'begun_at'])
  const history = await sittings()
  put('A/s/1.cbz', comicOfPages('short', { isPadded: true }))
  await scan()
  t.same(await progress(), [
    [3, false],
    [3, true],
    [2, false],
  ])
  t.same(await sittings(), history, 'nobody has read anything')
  put('A/t/old.cbz', comicOfPages('long:9', { isPadded: true }))
  await scan()
  t.equal((await booksOf(libraries)).get('A/t/old.cbz')?.id, book.id)
  t.same(await progress(), [
    [8, false],
    [9, true],
    [2, false],
  ])
  t.same(await sittings(), history)
})

t.test('restricted users never see more than before', async (t) => {
  let gate = Promise.resolve()
  const libraries = await openLibraries(t, async (request, options) => {
    await gate
    return await findPool().analyze(request, options)
  })
  const { database, ids, folder, scans } = libraries
  const files = { 'A/hidden/1.cbz': 'h1', 'A/hidden/2.cbz': 'h2', 'A/rated/1.cbz': 'r1', 'A/open/1.cbz': 'o1', 'B/open/1.cbz': 'o2' }
  for (const [path, content] of Object.entries(files)) libraries.put(path, comicOfPages(content, { isPadded: true }))
  for (const name of 'AB') await scanOne(libraries, ids[name] as string)
  const before = await booksOf(libraries)
  const seriesOf = (path: string) => (before.get(path) as Seen).series_id
  const [tag] = await database('sharing_tags').insert({ name: 'hidden' }, 'id')
  await database('series_sharing_tags').insert({ series_id: seriesOf('A/hidden/1.cbz'), sharing_tag_id: tag.id })
  const child = await addCaller(database)
  await database('user_sharing_grants').insert({ user_id: child.userId, sharing_tag_id: tag.id, access_mode: 'deny' })
  await setTestRule(database, { user_id: child.userId }, { age: { mode: 'up_to', years: 12, unrated: 'show' } })
  await rateSeries(database, seriesOf('A/rated/1.cbz'), 18)
  await database('series_metadata')
    .where('age_rating', 18)
    .update({ sources: { ageRating: 'user' }, locks: ['ageRating'] })
  const seen = async () => {
    const rows: { path: string }[] = await database('books').modify(visibleTo(child, 'books.series_id')).select('path')
    return rows.map(({ path }) => path.slice(folder.length + 1)).sort()
  }
  t.same(await seen(), ['A/open/1.cbz', 'B/open/1.cbz'])

  let release = () => {}
  gate = new Promise<void>((resolve) => {
    release = resolve
  })
  t.teardown(() => release())
  mkdirSync(join(folder, 'B/new'))
  renameSync(join(folder, 'A/hidden/1.cbz'), join(folder, 'B/new/1.cbz'))
  renameSync(join(folder, 'A/rated/1.cbz'), join(folder, 'B/rated.cbz'))
  await scans.start(ids['B'] as string)
  await until(async () => (await booksOf(libraries)).has('B/rated.cbz'))
  const shown = ['A/open/1.cbz', 'B/open/1.cbz']
  t.same(await seen(), shown, 'not even while the files wait for their analysis')
  release()
  await until(async () => (await database('tasks').whereIn('status', ['pending', 'processing'])).length === 0)
  t.same(await seen(), shown)
  const after = await booksOf(libraries)
  t.equal(after.get('B/new/1.cbz')?.id, before.get('A/hidden/1.cbz')?.id)
  t.equal(after.get('B/rated.cbz')?.id, before.get('A/rated/1.cbz')?.id)
  for (const name of 'AB') await scanOne(libraries, ids[name] as string)
  t.same(await seen(), shown)
})

t.test('a tag that shows a series does not show where one of its books went', async (t) => {
  const libraries = await openLibraries(t)
  const { database, ids, folder } = libraries
  for (const [path, content] of Object.entries(SIX)) libraries.put(path, comicOfPages(content))
  const scan = async () => await scanOne(libraries, ids['A'] as string)
  await scan()
  const before = await booksOf(libraries)
  const [tag] = await database('sharing_tags').insert({ name: 'for children' }, 'id')
  await database('series_sharing_tags').insert({ series_id: (before.get('A/s/01.cbz') as Seen).series_id, sharing_tag_id: tag.id })
  const { userId } = await addCaller(database)
  await database('user_sharing_grants').insert({ user_id: userId, sharing_tag_id: tag.id, access_mode: 'allow' })
  renameSync(join(folder, 'A/s/01.cbz'), join(folder, 'A/t/02.cbz'))
  await scan()
  const after = await booksOf(libraries)
  t.equal(after.get('A/t/02.cbz')?.id, before.get('A/s/01.cbz')?.id)
  t.same(await database('series_sharing_tags').pluck('series_id'), [before.get('A/s/02.cbz')?.series_id])
})

t.test('an exchange that is interrupted is done later, and nothing of it before', async (t) => {
  const libraries = await openLibraries(t)
  const { database, ids, folder } = libraries
  for (const [path, content] of Object.entries(SIX)) libraries.put(path, comicOfPages(content, { isPadded: true }))
  await scanOne(libraries, ids['A'] as string)
  const before = await booksOf(libraries)
  await database.raw(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON book_pages FOR EACH ROW EXECUTE FUNCTION refuse()`)
  for (const [from, to] of [
    ['01', 'x'],
    ['02', '01'],
    ['x', '02'],
  ])
    renameSync(join(folder, `A/s/${from}.cbz`), join(folder, `A/s/${to}.cbz`))
  await libraries.scans.start(ids['A'] as string)
  const failing = async () => await database('tasks').where({ type: 'analyze_book', status: 'pending' }).whereNotNull('last_error')
  await until(async () => (await failing()).length > 0)
  const idOf = (books: Map<string, Seen>) => ['01', '02'].map((name) => books.get(`A/s/${name}.cbz`)?.id)
  t.same(idOf(await booksOf(libraries)), idOf(before))
  await database.raw('DROP TRIGGER refuse ON book_pages')
  await until(async () => (await database('tasks').whereIn('status', ['pending', 'processing'])).length === 0)
  t.same(idOf(await booksOf(libraries)), idOf(before).toReversed())
})

t.test('books on a disk that is not mounted have not moved', async (t) => {
  const libraries = await openLibraries(t)
  const { database, ids, folder } = libraries
  for (const [path, content] of Object.entries(SIX)) libraries.put(path, comicOfPages(content))
  await scanOne(libraries, ids['A'] as string)
  const before = await booksOf(libraries)
  renameSync(join(folder, 'A'), join(folder, 'away'))
  libraries.put('B/s/01.cbz', comicOfPages('one'))
  await scanOne(libraries, ids['B'] as string)
  t.not((await booksOf(libraries)).get('B/s/01.cbz')?.id, before.get('A/s/01.cbz')?.id, 'the folder of the library is missing')
  mkdirSync(join(folder, 'A'))
  await database('libraries')
    .where('id', ids['A'] as string)
    .update({ devices: { '': 1 } })
  libraries.put('B/s/02.cbz', comicOfPages('two'))
  await scanOne(libraries, ids['B'] as string)
  t.not((await booksOf(libraries)).get('B/s/02.cbz')?.id, before.get('A/s/02.cbz')?.id, 'the mount point is empty, on another device')
})
