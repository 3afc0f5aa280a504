import { copyFileSync, mkdirSync, renameSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { MOVE_CASES, type MoveCase, SIX } from '#test/core/scan/moves.table.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addCaller, addLibrary } from '#test/support/library-rows.ts'
import { comicOfPages } from '#test/support/paged-comics.ts'

t.setTimeout(600_000)

interface Libraries extends LibraryFixture {
  /** The folder of the two libraries `A` and `B`. */
  folder: string
  ids: Record<string, string>
}

async function openLibraries(t: Test): Promise<Libraries> {
  const fixture = await openLibraryFixture(t)
  const folder = fixture.root
  const ids: Record<string, string> = { A: fixture.libraryId, B: await addLibrary(fixture.database, { path: join(folder, 'B') }) }
  for (const name of ['A', 'B']) mkdirSync(join(folder, name))
  await fixture
    .database('libraries')
    .where('id', fixture.libraryId)
    .update({ path: join(folder, 'A') })
  return { ...fixture, folder, ids }
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
        books.filter(([, { deleted_at }]) => deleted_at !== null).map(([path, { id }]) => [path, pathOf.get(id)]),
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

for (const one of MOVE_CASES) {
  const orders = one.steps.some((step) => step.slice(1).some((path) => path?.startsWith('B/'))) ? ['AB', 'BA'] : ['A']
  for (const order of orders)
    for (const isPadded of [true, false])
      t.test(`${one.title}, files of ${isPadded ? 'different sizes' : 'one size'}, scans of ${order}`, (t) =>
        checkCase(t, one, { order, isPadded }),
      )
}
