import { randomUUID } from 'node:crypto'
import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { getLibraryProgress, getLibrarySummary, listLibrariesByName } from '#core/scan/library-progress-query.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { openTestDatabase } from '#test/support/database.ts'

t.test('the report on libraries at startup', async (t) => {
  const { database } = await openTestDatabase(t)
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  t.teardown(() => tasks.stop())
  t.same(await getLibraryProgress(database), { scans: [], books: 0, failed: 0, analyses: 0, libraryAnalyses: 0 })
  t.same(await getLibrarySummary(database), { libraries: [], books: 0, pending: 0, failures: [] })

  const [comics] = await database('libraries').insert({ name: 'Comics', path: '/srv/comics' }).returning('id')
  await database('libraries').insert({ name: 'Asleep', path: '/srv/asleep', is_active: false })
  t.match(await listLibrariesByName(database), [
    { name: 'Asleep', isActive: false },
    { name: 'Comics', path: '/srv/comics', isActive: true },
  ])

  const [series] = await database('series').insert({ library_id: comics.id, path: 'A', title: 'A' }).returning('id')
  const states = ['pending', 'analyzed', 'failed', 'failed', 'failed', 'failed', 'failed', 'analyzed']
  for (const [at, state] of states.entries()) {
    const file = { path: `/srv/comics/A/${at}.cbz`, file_name: `${at}.cbz`, file_format: 'cbz', file_size: 1, file_mtime_ns: '1' }
    // The file of the last one is missing.
    const gone = at === states.length - 1 ? { deleted_at: new Date() } : {}
    const [book] = await database('books')
      .insert({ ...file, ...gone, library_id: comics.id, series_id: series.id, title: `${at}`, state })
      .returning('id')
    if (state === 'failed') {
      const errorType = at === 6 ? 'zero_pages' : 'parser'
      await database('book_errors').insert({ book_id: book.id, error_type: errorType, message: `broken ${at}`, fatal: true })
    }
    // A readable book may have a problem too, which does not count as a failure.
    if (at === 1) await database('book_errors').insert({ book_id: book.id, error_type: 'thumbnail', message: 'no cover', fatal: false })
  }
  const scan = { id: randomUUID(), library_id: comics.id, mode: 'normal', files_total: 9, files_processed: 4 }
  await database('scans').insert({ ...scan, status: 'processing' })
  t.same(await getLibraryProgress(database), {
    scans: [{ library: 'Comics', filesTotal: 9, filesProcessed: 4 }],
    books: 7,
    failed: 5,
    analyses: 0,
    libraryAnalyses: 0,
  })
  // Tasks report current work: a deep scan analyzes books that are analyzed already, and a pending book may have no task.
  const { taskId } = await tasks.add({ type: 'analyze_book', libraryId: comics.id, dedupeKey: 'one' })
  await tasks.add({ type: 'analyze_book', libraryId: comics.id, dedupeKey: 'two' })
  await tasks.add({ type: 'analyze_library', libraryId: comics.id, dedupeKey: 'all' })
  t.match(await getLibraryProgress(database), { analyses: 2, libraryAnalyses: 1 })
  await tasks.add({ type: 'analyze_book', libraryId: comics.id, dedupeKey: 'later', scheduledFor: new Date(Date.now() + 3_600_000) })
  t.match(await getLibraryProgress(database), { analyses: 2 }, 'one that is scheduled for later does not count')
  await tasks.cancel(taskId)
  t.match(await getLibraryProgress(database), { analyses: 1, libraryAnalyses: 1 })

  await database('scans').update({ status: 'completed', errors: JSON.stringify(['a folder could not be read']) })
  const summary = await getLibrarySummary(database)
  t.equal(summary.books, 7)
  t.equal(summary.pending, 1)
  t.match(summary.libraries, [
    { name: 'Asleep', books: 0, series: 0, scanStatus: null, scanErrors: [] },
    { name: 'Comics', books: 7, series: 1, scanStatus: 'completed', scanErrors: ['a folder could not be read'] },
  ])
  t.match(summary.failures, [
    { errorType: 'parser', count: 4, examples: [{ path: '/srv/comics/A/2.cbz', message: 'broken 2' }, {}, {}] },
    { errorType: 'zero_pages', count: 1, examples: [{ message: 'broken 6' }] },
  ])
  t.equal(summary.failures[0]!.examples.length, 3, 'a few examples are enough')
})
