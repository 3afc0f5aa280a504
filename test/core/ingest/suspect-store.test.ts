import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { deathProblem } from '#core/catalog/suspect.ts'
import { readWork, workRegister } from '#core/foundation/current-work.ts'
import { noteSuspects } from '#core/ingest/suspect-store.ts'
import { factsOfFile, madeUpAnalysis } from '#test/support/analyses.ts'
import { comic, type House, openHouse, until } from '#test/support/house.ts'

t.setTimeout(240_000)

const errorsOf = async (house: House, fileName: string) =>
  await house
    .database('book_errors')
    .join('books', 'books.id', 'book_errors.book_id')
    .where({ file_name: fileName })
    .select('error_type', 'message', 'fatal', 'details')
const suspectsOf = async (house: House) =>
  await house.database('book_suspects').join('books', 'books.id', 'book_id').orderBy('file_name').select('file_name', 'times')
const bookOf = async (house: House, path: string) => (await house.books()).get(path)

t.test('a file that stops the server repeatedly is analyzed alone, and then not analyzed any more', async (t) => {
  let atWork = 0
  let beside: number | null = null
  let hang: string | null = null
  const house: House = await openHouse(t, {
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
        return madeUpAnalysis({ file: factsOfFile(path), pageCount: 3 })
      } finally {
        atWork -= 1
      }
    },
  })
  const path = (name: string) => join(house.root, name)
  await house.scan()
  const everything = ['a/1.cbz', 'a/2.cbz', 'a/3.cbz', 'a/bad.cbz'].map(path)

  // Twice the server was blocked while all of them were being analyzed.
  t.equal(await noteSuspects(house.database, { paths: [...everything, '/elsewhere/x.cbz', 'half a pa\0'] }, 'server_stalled'), 4)
  t.equal(await noteSuspects(house.database, { paths: everything, bookIds: ['cut of', ''] }, 'server_stalled'), 4)
  t.equal((await suspectsOf(house)).length, 4)
  await house.scan('deep')
  t.same(await suspectsOf(house), [], 'those that came through alone are suspected no more')
  t.equal(beside, 0, 'nothing was beside it')
  t.match(await bookOf(house, 'a/bad.cbz'), { state: 'analyzed', page_count: 3 })

  // Now it blocks the server alone, too.
  for (const _ of [1, 2]) await noteSuspects(house.database, { paths: [path('a/bad.cbz')] }, 'server_stalled')
  hang = 'bad.cbz'
  writeFileSync(path('a/3.cbz'), comic('another'))
  await house.scans.start(house.libraryId, 'deep')
  await until(async () => (await house.database('book_suspects').whereNotNull('alone_task').first()) !== undefined)
  const bad = (await bookOf(house, 'a/bad.cbz'))?.id as string
  const { open } = await until(() => {
    const report = readWork(workRegister)
    return report.open.some(({ kind }) => kind === 'file') && report
  })
  t.same(
    open.filter(({ kind }) => kind === 'file').map(({ name }) => name),
    [`${path('a/bad.cbz')} (book ${bad})`],
    'nothing but this file is at work',
  )
  t.equal(await noteSuspects(house.database, { bookIds: [bad] }, 'server_stalled'), 1)
  t.same(await suspectsOf(house), [{ file_name: 'bad.cbz', times: 3 }])
  await house.tasks.cancelAll({ type: 'analyze_book', libraryId: house.libraryId })
  hang = null
  house.analyzed.clear()
  await house.scan('deep')
  t.notOk(house.analyzed.has('a/bad.cbz'), 'it is not opened any more')
  t.match(await bookOf(house, 'a/bad.cbz'), { state: 'analyzed', page_count: 3 }, 'its data stays')
  t.match(await errorsOf(house, 'bad.cbz'), [{ error_type: 'other', message: /stopped the whole server, 3 times/, details: { times: 3 } }])
  house.analyzed.clear()
  await house.scan()
  t.equal(house.analyzed.size, 0, 'nor does a scan try it again')

  // Until a user requests it.
  const params = { force: true, verifyPages: false }
  await house.tasks.add({ type: 'analyze_book', libraryId: house.libraryId, bookId: bad, dedupeKey: 'person', params })
  await until(async () => (await suspectsOf(house)).length === 0)
  t.equal(house.analyzed.get('a/bad.cbz'), 1)
  t.same(await errorsOf(house, 'bad.cbz'), [])
})

t.test("a user's retry is one attempt, not one for each restart of the server", async (t) => {
  const house: House = await openHouse(t, {
    files: ['bad.cbz', 'good.cbz'],
    analyze: async ({ path }, { signal } = {}) => {
      if (path.endsWith('bad.cbz')) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      return madeUpAnalysis({ file: factsOfFile(path) })
    },
  })
  await house.scans.start(house.libraryId)
  const bad = await until(async () => (house.analyzed.has('bad.cbz') ? ((await bookOf(house, 'bad.cbz')) ?? null) : null))
  await house.tasks.cancelAll({ type: 'analyze_book', libraryId: house.libraryId })
  await house.database('book_suspects').insert({ book_id: bad.id, times: 3, reason: 'server_stalled', alone_task: null })
  await house.scan()
  t.match(await bookOf(house, 'bad.cbz'), { state: 'failed' }, 'a book that was never analyzed has failed')
  t.match(await errorsOf(house, 'bad.cbz'), [{ fatal: true }])

  const params = { force: true, verifyPages: false }
  const { taskId } = await house.tasks.add({
    type: 'analyze_book',
    libraryId: house.libraryId,
    bookId: bad.id,
    dedupeKey: 'person',
    params,
  })
  await until(async () => (await house.database('book_suspects').where('alone_task', taskId).first()) ?? null)
  // The file blocked the server, which was restarted: the task runs again.
  await noteSuspects(house.database, { bookIds: [bad.id] }, 'server_stalled')
  await house.tasks.cancel(taskId)
  await until(async () => await house.tasks.retry(taskId))
  await until(async () => (await house.database.raw(`SELECT 1 FROM tasks WHERE id = ? AND status = 'completed'`, [taskId])).rows.length > 0)
  t.match(await suspectsOf(house), [{ file_name: 'bad.cbz', times: 3 }])
  t.match(await bookOf(house, 'bad.cbz'), { state: 'failed' })

  house.put('bad.cbz', comic('another file'))
  await house.scans.start(house.libraryId)
  await until(async () => (await suspectsOf(house)).length === 0)
  t.pass('another file of that name is not suspected')
})

t.test('a thread or child process that dies while analyzing a file', async (t) => {
  let atWork = 0
  const beside: number[] = []
  let deaths = 0
  const house: House = await openHouse(t, {
    files: ['a/1.cbz', 'a/2.cbz', 'a/bad.cbz'],
    analyze: async ({ path }) => {
      atWork += 1
      await sleep(5)
      if (path.endsWith('bad.cbz')) {
        beside.push(atWork - 1)
        atWork -= 1
        if (deaths-- > 0) return madeUpAnalysis({ file: null, problems: [deathProblem('thread', 'worker exited with code: 1')] })
        return madeUpAnalysis({ file: factsOfFile(path), pageCount: 9 })
      }
      atWork -= 1
      return madeUpAnalysis({ file: factsOfFile(path) })
    },
  })
  deaths = 2
  await house.scan()
  t.equal(house.analyzed.get('a/bad.cbz'), 3)
  t.equal(beside.at(-1), 0, 'the third time alone')
  t.match(await bookOf(house, 'a/bad.cbz'), { state: 'analyzed', page_count: 9 }, 'and came through')
  t.same(await errorsOf(house, 'bad.cbz'), [])
  t.same(await suspectsOf(house), [])

  house.put('a/bad.cbz', comic('worse'))
  house.analyzed.clear()
  deaths = Number.POSITIVE_INFINITY
  await house.scan()
  t.equal(house.analyzed.get('a/bad.cbz'), 3, 'never more than that')
  t.match(await bookOf(house, 'a/bad.cbz'), { state: 'failed' })
  t.match(await errorsOf(house, 'bad.cbz'), [{ fatal: true, message: /ended the thread that read it, 3 times/ }])
  house.analyzed.clear()
  await house.scan()
  await house.scan('deep')
  t.notOk(house.analyzed.has('a/bad.cbz'), 'and no scan tries it again')
  house.put('a/bad.cbz', comic('mended'))
  deaths = 0
  await house.scan()
  t.match(await bookOf(house, 'a/bad.cbz'), { state: 'analyzed', page_count: 9 })
  t.same(await errorsOf(house, 'bad.cbz'), [])
})
