import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { deathProblem } from '#core/analysis/suspect.ts'
import { noteSuspects } from '#core/analysis/suspect-store.ts'
import { readWork, workRegister } from '#core/foundation/current-work.ts'
import { factsOfFile, fakeAnalysis } from '#test/support/analyses.ts'
import { comic, type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'

t.setTimeout(240_000)

const errorsOf = async (fixture: LibraryFixture, fileName: string) =>
  await fixture
    .database('book_errors')
    .join('books', 'books.id', 'book_errors.book_id')
    .where({ file_name: fileName })
    .select('error_type', 'message', 'fatal', 'details')
const suspectsOf = async (fixture: LibraryFixture) =>
  await fixture.database('book_suspects').join('books', 'books.id', 'book_id').orderBy('file_name').select('file_name', 'times')
const bookOf = async (fixture: LibraryFixture, path: string) => (await fixture.books()).get(path)

t.test('a file that stops the server repeatedly is analyzed alone, and then not analyzed any more', async (t) => {
  let atWork = 0
  let beside: number | null = null
  let hang: string | null = null
  const fixture: LibraryFixture = await openLibraryFixture(t, {
    files: ['a/1.cbz', 'a/2.cbz', 'a/3.cbz', 'a/bad.cbz'],
    analyze: async ({ path }, { signal } = {}) => {
      atWork += 1
      try {
        if (path.endsWith('bad.cbz')) beside = atWork - 1
        // The file that would stop the server: here the analysis waits until it is stopped.
        if (hang !== null && path.endsWith(hang)) {
          await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }))
        }
        await sleep(5)
        return fakeAnalysis({ file: factsOfFile(path), pageCount: 3 })
      } finally {
        atWork -= 1
      }
    },
  })
  const path = (name: string) => join(fixture.root, name)
  await fixture.scan()
  const everything = ['a/1.cbz', 'a/2.cbz', 'a/3.cbz', 'a/bad.cbz'].map(path)

  // Twice the server was blocked while all of them were being analyzed.
  t.equal(await noteSuspects(fixture.database, { paths: [...everything, '/elsewhere/x.cbz', 'half a pa\0'] }, 'server_stalled'), 4)
  t.equal(await noteSuspects(fixture.database, { paths: everything, bookIds: ['cut of', ''] }, 'server_stalled'), 4)
  t.equal((await suspectsOf(fixture)).length, 4)
  await fixture.scan('deep')
  t.same(await suspectsOf(fixture), [], 'those that came through alone are suspected no more')
  t.equal(beside, 0, 'nothing was beside it')
  t.match(await bookOf(fixture, 'a/bad.cbz'), { state: 'analyzed', page_count: 3 })

  // Now it blocks the server alone, too.
  for (const _ of [1, 2]) await noteSuspects(fixture.database, { paths: [path('a/bad.cbz')] }, 'server_stalled')
  hang = 'bad.cbz'
  writeFileSync(path('a/3.cbz'), comic('another'))
  await fixture.scans.start(fixture.libraryId, 'deep')
  await until(async () => (await fixture.database('book_suspects').whereNotNull('alone_task').first()) !== undefined)
  const bad = (await bookOf(fixture, 'a/bad.cbz'))?.id as string
  const { open } = await until(() => {
    const report = readWork(workRegister)
    return report.open.some(({ kind }) => kind === 'file') && report
  })
  t.same(
    open.filter(({ kind }) => kind === 'file').map(({ name }) => name),
    [`${path('a/bad.cbz')} (book ${bad})`],
    'nothing but this file is at work',
  )
  t.equal(await noteSuspects(fixture.database, { bookIds: [bad] }, 'server_stalled'), 1)
  t.same(await suspectsOf(fixture), [{ file_name: 'bad.cbz', times: 3 }])
  await fixture.tasks.cancelAll({ type: 'analyze_book', libraryId: fixture.libraryId })
  hang = null
  fixture.analyzed.clear()
  await fixture.scan('deep')
  t.notOk(fixture.analyzed.has('a/bad.cbz'), 'it is not opened any more')
  t.match(await bookOf(fixture, 'a/bad.cbz'), { state: 'analyzed', page_count: 3 }, 'its data stays')
  t.match(await errorsOf(fixture, 'bad.cbz'), [
    { error_type: 'other', message: /stopped the whole server, 3 times/, details: { times: 3 } },
  ])
  fixture.analyzed.clear()
  await fixture.scan()
  t.equal(fixture.analyzed.size, 0, 'nor does a scan try it again')

  // Until a user requests it.
  const params = { force: true, verifyPages: false }
  await fixture.tasks.add({ type: 'analyze_book', libraryId: fixture.libraryId, bookId: bad, dedupeKey: 'person', params })
  await until(async () => (await suspectsOf(fixture)).length === 0)
  t.equal(fixture.analyzed.get('a/bad.cbz'), 1)
  t.same(await errorsOf(fixture, 'bad.cbz'), [])
})

t.test("a user's retry is one attempt, not one for each restart of the server", async (t) => {
  const fixture: LibraryFixture = await openLibraryFixture(t, {
    files: ['bad.cbz', 'good.cbz'],
    analyze: async ({ path }, { signal } = {}) => {
      if (path.endsWith('bad.cbz')) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      return fakeAnalysis({ file: factsOfFile(path) })
    },
  })
  await fixture.scans.start(fixture.libraryId)
  const bad = await until(async () => (fixture.analyzed.has('bad.cbz') ? ((await bookOf(fixture, 'bad.cbz')) ?? null) : null))
  await fixture.tasks.cancelAll({ type: 'analyze_book', libraryId: fixture.libraryId })
  await fixture.database('book_suspects').insert({ book_id: bad.id, times: 3, reason: 'server_stalled', alone_task: null })
  await fixture.scan()
  t.match(await bookOf(fixture, 'bad.cbz'), { state: 'failed' }, 'a book that was never analyzed has failed')
  t.match(await errorsOf(fixture, 'bad.cbz'), [{ fatal: true }])

  const params = { force: true, verifyPages: false }
  const { taskId } = await fixture.tasks.add({
    type: 'analyze_book',
    libraryId: fixture.libraryId,
    bookId: bad.id,
    dedupeKey: 'person',
    params,
  })
  await until(async () => (await fixture.database('book_suspects').where('alone_task', taskId).first()) ?? null)
  // The file blocked the server, which was restarted: the task runs again.
  await noteSuspects(fixture.database, { bookIds: [bad.id] }, 'server_stalled')
  await fixture.tasks.cancel(taskId)
  await until(async () => await fixture.tasks.retry(taskId))
  await until(
    async () => (await fixture.database.raw(`SELECT 1 FROM tasks WHERE id = ? AND status = 'completed'`, [taskId])).rows.length > 0,
  )
  t.match(await suspectsOf(fixture), [{ file_name: 'bad.cbz', times: 3 }])
  t.match(await bookOf(fixture, 'bad.cbz'), { state: 'failed' })

  fixture.put('bad.cbz', comic('another file'))
  await fixture.scans.start(fixture.libraryId)
  await until(async () => (await suspectsOf(fixture)).length === 0)
  t.pass('another file of that name is not suspected')
})

t.test('a thread or child process that dies while analyzing a file', async (t) => {
  let atWork = 0
  const beside: number[] = []
  let deaths = 0
  const fixture: LibraryFixture = await openLibraryFixture(t, {
    files: ['a/1.cbz', 'a/2.cbz', 'a/bad.cbz'],
    analyze: async ({ path }) => {
      atWork += 1
      await sleep(5)
      if (path.endsWith('bad.cbz')) {
        beside.push(atWork - 1)
        atWork -= 1
        if (deaths-- > 0) return fakeAnalysis({ file: null, problems: [deathProblem('thread', 'worker exited with code: 1')] })
        return fakeAnalysis({ file: factsOfFile(path), pageCount: 9 })
      }
      atWork -= 1
      return fakeAnalysis({ file: factsOfFile(path) })
    },
  })
  deaths = 2
  await fixture.scan()
  t.equal(fixture.analyzed.get('a/bad.cbz'), 3)
  t.equal(beside.at(-1), 0, 'the third time alone')
  t.match(await bookOf(fixture, 'a/bad.cbz'), { state: 'analyzed', page_count: 9 }, 'and came through')
  t.same(await errorsOf(fixture, 'bad.cbz'), [])
  t.same(await suspectsOf(fixture), [])

  fixture.put('a/bad.cbz', comic('worse'))
  fixture.analyzed.clear()
  deaths = Number.POSITIVE_INFINITY
  await fixture.scan()
  t.equal(fixture.analyzed.get('a/bad.cbz'), 3, 'never more than that')
  t.match(await bookOf(fixture, 'a/bad.cbz'), { state: 'failed' })
  t.match(await errorsOf(fixture, 'bad.cbz'), [{ fatal: true, message: /ended the thread that read it, 3 times/ }])
  fixture.analyzed.clear()
  await fixture.scan()
  await fixture.scan('deep')
  t.notOk(fixture.analyzed.has('a/bad.cbz'), 'and no scan tries it again')
  fixture.put('a/bad.cbz', comic('mended'))
  deaths = 0
  await fixture.scan()
  t.match(await bookOf(fixture, 'a/bad.cbz'), { state: 'analyzed', page_count: 9 })
  t.same(await errorsOf(fixture, 'bad.cbz'), [])
})
