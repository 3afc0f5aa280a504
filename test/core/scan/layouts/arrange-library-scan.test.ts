import { randomUUID } from 'node:crypto'
import t from 'tap'
import { findLibraryRow } from '#core/catalog/library-store.ts'
import { editLibrary } from '#core/scan/edit-library.ts'
import { arrangeNow } from '#core/scan/layouts/arrange-library.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { findRules } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

const partsOf = ({ database, tasks, dataFolder }: LibraryFixture) => ({ database, tasks, rules: findRules(), settings: { dataFolder } })
const seriesOf = async ({ database }: LibraryFixture): Promise<{ id: string; path: string; books: number }[]> => {
  const { rows } = await database.raw(
    'SELECT s.id, s.path, count(*)::int AS books FROM series s JOIN books b ON b.series_id = s.id GROUP BY s.id ORDER BY s.path, s.name_key',
  )
  return rows
}

t.test('a scan that comes before the books are moved takes no place from a series that moves there', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['Manga/Berserk/Vol 1/a.cbz', 'Manga/Berserk/Vol 1/b.cbz'] })
  await fixture.scan()
  const { database } = fixture
  const [known] = await seriesOf(fixture)
  // As if the server was killed before it queued the task.
  await database('libraries').update({ series_strategy: 'series_volume_chapter', arrange_due: true })
  for (const file of ['c', 'd', 'e']) fixture.put(`Manga/Berserk/Vol 2/${file}.cbz`)
  await fixture.scan()
  t.match(await seriesOf(fixture), [{ id: known?.id, path: 'Manga/Berserk', books: 5 }])
  t.match(await database('libraries').first(), { arrange_due: false })
})

t.test('scans while books are moved to and fro', async (t) => {
  const files = Array.from({ length: 40 }, (_, n) => `Manga/S ${n % 10}/Vol ${n % 4}/${n}.cbz`)
  const fixture = await openLibraryFixture(t, { files })
  await fixture.scan()
  const before = await fixture.books()
  const { database, scans, libraryId } = fixture
  let added = 0
  for (const seriesStrategy of ['series_volume_chapter', 'auto', 'series_volume', 'flat', 'series_volume_chapter'] as const) {
    await until(async () => (await scans.listActive()).length === 0)
    await editLibrary(partsOf(fixture), libraryId, { seriesStrategy })
    for (let n = 0; n < 10; n++) fixture.put(`Manga/S ${n}/Vol 9/new ${added++}.cbz`)
    await database.transaction(async (trx) => {
      // The scan waits before it records its folders: it must not end before the other change.
      await trx.raw('LOCK TABLE scanned_folders IN SHARE MODE')
      await scans.start(libraryId)
      await t.rejects(editLibrary(partsOf(fixture), libraryId, { seriesStrategy: 'calibre' }), { code: 'scan_running' })
    })
  }
  await fixture.scan()
  await until(
    async () => !(await database('tasks').where('type', 'arrange_library').whereIn('status', ['pending', 'processing']).first('id')),
  )
  const found = await seriesOf(fixture)
  t.same(
    found.map(({ path, books }) => [path, books]),
    Array.from({ length: 10 }, (_, n) => [`Manga/S ${n}`, 9]),
  )
  t.same(await database('tasks').where('type', 'arrange_library').where('status', 'failed'), [])
  const after = await fixture.books()
  for (const [path, { id }] of before) t.equal(after.get(path)?.id, id, path)
})

t.test('a series that a scan makes at the same place meanwhile: the books are moved after all', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['M/Berserk/Vol 1/a.cbz', 'M/Berserk/Vol 2/b.cbz'] })
  await fixture.scan()
  const { database, tasks, libraryId } = fixture
  await tasks.stop()
  await database('libraries').update({ series_strategy: 'series_volume_chapter', arrange_due: true })
  const library = await findLibraryRow(database, libraryId)
  if (!library) throw new Error('The library is gone')
  // A scan that has not committed yet.
  const trx = await database.transaction()
  const [made] = await trx('series').insert({ library_id: libraryId, path: 'M/Berserk', title: 'Berserk' }, ['id'])
  const arranged = arrangeNow({ ...partsOf(fixture) }, library, { signal: new AbortController().signal, progress: () => {} })
  await until(async () => {
    const { rows } = await database.raw(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ILIKE 'UPDATE series%'`,
    )
    return rows.length > 0
  })
  await trx('books').insert({
    library_id: libraryId,
    series_id: made.id,
    path: `${fixture.root}/M/Berserk/Vol 3/c.cbz`,
    file_name: 'c.cbz',
    file_format: 'cbz',
    file_size: 1,
    file_mtime_ns: 1,
    title: 'c',
  })
  await trx.commit()
  t.match(await arranged, { isDone: true, moved: 2 })
  t.match(await seriesOf(fixture), [{ path: 'M/Berserk', books: 3 }])
})

t.test('a change of the layout waits for a scan that is just being started', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['M/Berserk/Vol 1/a.cbz'], manual: true })
  const { database, libraryId } = fixture
  const trx = await database.transaction()
  await trx('scans').insert({ id: randomUUID(), library_id: libraryId, mode: 'normal', status: 'pending' })
  const edited = t.rejects(editLibrary(partsOf(fixture), libraryId, { seriesStrategy: 'auto' }), { code: 'scan_running' })
  await until(async () => {
    const { rows } = await database.raw(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
    return rows.length > 0
  }).finally(() => trx.commit())
  await edited
})
