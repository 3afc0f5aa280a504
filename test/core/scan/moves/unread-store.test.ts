import { renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { findPool } from '#test/support/pool.ts'

t.setTimeout(120_000)

t.test('a file that gets another name while it is copied leaves no missing book', async (t) => {
  let gate = Promise.resolve()
  const fixture = await openLibraryFixture(t, {
    analyze: async (request, options) => {
      await gate
      return await findPool().analyze(request, options)
    },
  })
  const { database, root, scans, libraryId, put } = fixture
  put('s/1.cbz')
  put('s/lost.cbz')
  await fixture.scan()
  let release = () => {}
  gate = new Promise<void>((resolve) => {
    release = resolve
  })
  t.teardown(() => release())
  /** Without waiting for analyses. */
  const scan = async () => {
    const { taskId } = await scans.start(libraryId, 'normal', null, { confirm: true })
    await until(async () => {
      const status = await scans.getStatus(libraryId)
      return status.taskId === taskId && status.status === 'completed'
    })
  }
  for (const path of ['s/a.cbz', 'new/a.cbz', 'rated/a.cbz', 'mine/a.cbz', 's/read.cbz']) put(path)
  await scan()
  const books = await fixture.books()
  const { userId } = await addCaller(database)
  const idOf = (path: string) => books.get(path)?.id as string
  for (const path of ['rated/a.cbz', 'mine/a.cbz'])
    await database('series_user_ratings').insert({ user_id: userId, series_id: books.get(path)?.series_id, rating: 50 })
  await database('read_progress').insert({ user_id: userId, book_id: idOf('s/read.cbz'), current_page: 1 })
  for (const folder of ['s', 'new', 'rated']) {
    renameSync(join(root, folder, 'a.cbz'), join(root, folder, 'b.cbz'))
    put(`${folder}/b.cbz`, 'another part of it')
  }
  renameSync(join(root, 'new'), join(root, 'newer'))
  unlinkSync(join(root, 'mine/a.cbz'))
  unlinkSync(join(root, 's/lost.cbz'))
  unlinkSync(join(root, 's/read.cbz'))
  await scan()
  const after = await fixture.books()
  t.same(
    [...after.keys()].sort(),
    ['mine/a.cbz', 'newer/b.cbz', 'rated/b.cbz', 's/1.cbz', 's/b.cbz', 's/lost.cbz', 's/read.cbz'].toSorted(),
  )
  t.same(
    [...after.values()]
      .filter(({ deleted_at }) => deleted_at)
      .map(({ id }) => id)
      .sort(),
    [idOf('mine/a.cbz'), idOf('s/lost.cbz'), idOf('s/read.cbz')].sort(),
  )
  t.same(await database('series').orderBy('path').pluck('path'), ['mine', 'newer', 'rated', 's'])
  t.equal(after.get('rated/b.cbz')?.series_id, books.get('rated/a.cbz')?.series_id)
})
