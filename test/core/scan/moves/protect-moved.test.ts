import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findBookFile } from '#core/catalog/book-file.ts'
import { SeriesDownloads } from '#core/reading/download-series.ts'
import { rateSeries, setTestRule } from '#test/support/access-rules.ts'
import { openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addCaller, shareSeries } from '#test/support/library-rows.ts'
import { comicOfPages } from '#test/support/paged-comics.ts'
import { findPool } from '#test/support/pool.ts'

t.test('the file of a hidden book that was tagged and moved beside visible ones is not sent until it is known', async (t) => {
  let gate = Promise.resolve()
  const fixture = await openLibraryFixture(t, {
    analyze: async (request, options) => {
      await gate
      return await findPool().analyze(request, options)
    },
  })
  const { database, libraryId, root, put, scans } = fixture
  for (const name of ['hidden', 'rated', 'open', 'other']) put(`${name}/1.cbz`, comicOfPages(name, { isPadded: true }))
  await fixture.scan()
  const seriesOf = async (path: string) => (await fixture.books()).get(path)?.series_id as string
  const child = await addCaller(database)
  await shareSeries(database, { seriesId: await seriesOf('hidden/1.cbz'), caller: child, mode: 'deny' })
  await setTestRule(database, { user_id: child.userId }, { age: { mode: 'not_from', years: 18, unrated: 'show' } })
  await rateSeries(database, await seriesOf('rated/1.cbz'), 18)
  await database('series_metadata')
    .where('age_rating', 18)
    .update({ sources: { ageRating: 'user' }, locks: ['ageRating'] })
  let release = () => {}
  gate = new Promise<void>((resolve) => {
    release = resolve
  })
  t.teardown(() => release())
  const downloads = new SeriesDownloads({ database })
  const isRefused = async (path: string, code: string) => {
    const book = (await fixture.books()).get(path)
    await t.rejects(findBookFile(database, child, book?.id as string), { code }, path)
    await t.rejects(downloads.open(child, book?.series_id as string), { code }, `the series of ${path}`)
  }

  unlinkSync(join(root, 'hidden/1.cbz'))
  put('open/2.cbz', comicOfPages('hidden+tagged', { isPadded: true }))
  unlinkSync(join(root, 'rated/1.cbz'))
  // In the place of a file that is visible.
  put('other/1.cbz', comicOfPages('rated+tagged', { isPadded: true }))
  await isRefused('other/1.cbz', 'conflict')
  const { taskId } = await scans.start(libraryId)
  await until(async () => {
    const status = await scans.getStatus(libraryId)
    return status.taskId === taskId && status.completedAt !== null
  })
  await isRefused('open/2.cbz', 'not_analyzed')
  await isRefused('other/1.cbz', 'not_analyzed')
  release()
  await until(async () => (await database('tasks').whereIn('status', ['pending', 'processing'])).length === 0)
  await isRefused('open/2.cbz', 'not_found')
  await isRefused('other/1.cbz', 'not_found')
})
