import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { visibleTo } from '#core/account/visibility.ts'
import { findBookFile } from '#core/catalog/book-file.ts'
import { SeriesDownloads } from '#core/reading/download-series.ts'
import { rateSeries, setTestRule } from '#test/support/access-rules.ts'
import { openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addCaller, shareSeries } from '#test/support/library-rows.ts'
import { comicOfPages } from '#test/support/paged-comics.ts'
import { findPool } from '#test/support/pool.ts'

/** A library whose analyses wait between `hold()` and the call of what it returns. */
async function openHeldFixture(t: Test) {
  let gate = Promise.resolve()
  const fixture = await openLibraryFixture(t, {
    analyze: async (request, options) => {
      await gate
      return await findPool().analyze(request, options)
    },
  })
  const hold = () => {
    let release = () => {}
    gate = new Promise<void>((resolve) => {
      release = resolve
    })
    t.teardown(() => release())
    return () => release()
  }
  return { fixture, hold }
}

t.test('the file of a hidden book that was tagged and moved beside visible ones is not sent until it is known', async (t) => {
  const { fixture, hold } = await openHeldFixture(t)
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
  const release = hold()
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

t.test('a hidden folder that was renamed on a drive which finds it by its former name too stays hidden before it is read', async (t) => {
  const { fixture, hold } = await openHeldFixture(t)
  const { database, libraryId, root, put, scans } = fixture
  for (const name of ['hidden', 'open']) put(`${name}/1.cbz`, comicOfPages(name, { isPadded: true }))
  await fixture.scan()
  const hidden = (await fixture.books()).get('hidden/1.cbz')
  const child = await addCaller(database)
  await shareSeries(database, { seriesId: hidden?.series_id as string, caller: child, mode: 'deny' })
  // Every drive finds a file by such a name, and lists it by another one, as one that ignores case does after a rename.
  await database('books')
    .where('id', hidden?.id as string)
    .update({ path: `${root}/./hidden/1.cbz` })
  await database('series')
    .where('id', hidden?.series_id as string)
    .update({ path: './hidden' })
  await database('scanned_folders').delete()
  const release = hold()
  const { taskId } = await scans.start(libraryId)
  await until(async () => {
    const status = await scans.getStatus(libraryId)
    return status.taskId === taskId && status.completedAt !== null
  })
  const seen = async () => await database('books').modify(visibleTo(child, 'books.series_id')).pluck('file_name')
  t.not((await fixture.books()).get('hidden/1.cbz')?.id, hidden?.id, 'it waits for its analysis')
  t.equal((await seen()).length, 1)
  release()
  await until(async () => (await database('tasks').whereIn('status', ['pending', 'processing'])).length === 0)
  t.equal((await fixture.books()).get('hidden/1.cbz')?.id, hidden?.id)
  t.equal((await seen()).length, 1)
})
