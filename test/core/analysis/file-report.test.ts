import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { AnalysisEnd } from '#core/analysis/book-store.ts'
import { FileReport } from '#core/analysis/file-report.ts'
import { openAnnouncer } from '#core/events/announcer.ts'
import type { CarrelEvent } from '#core/events/event.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/library-fixture.ts'
import { addCaller, addLibrary } from '#test/support/library-rows.ts'
import { receiveEvents } from '#test/support/received-events.ts'

type Files = Extract<CarrelEvent, { type: 'scan_files' }>

const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

async function openReport(t: Test) {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const announcer = openAnnouncer({ database, log: silentLog })
  t.teardown(() => announcer.close())
  const report = new FileReport(announcer)
  const admin = await addCaller(database, { role: 'admin' })
  const [received] = (await receiveEvents(t, database, [admin])) as [Files[]]
  /** Reports a file that is read until the returned function is called. */
  const begin = (number: number, name = `${number}.cbz`) => {
    const { promise, resolve, reject } = Promise.withResolvers<AnalysisEnd>()
    let leave = () => {}
    const file = { id: idOf(number), library_id, file_name: name }
    const done = report.during(
      file,
      () => {},
      (leaving) => {
        leave = leaving
        return promise
      },
    )
    return { resolve, reject, done, leave: () => leave() }
  }
  return { report, received, begin, library_id }
}

t.test('files that are read and what became of them are reported, by name, outcome and duration', async (t) => {
  const { report, received, begin, library_id } = await openReport(t)
  const [good, bad, stale, tried, broken] = [begin(1), begin(2), begin(3), begin(4), begin(5)]
  await until(() => received.at(-1)?.running.length === 5)
  t.match(received.at(-1)?.running[0], { bookId: idOf(1), libraryId: library_id, fileName: '1.cbz', startedAt: /Z$/ })
  good.leave()
  await until(() => received.at(-1)?.running.length === 4)
  t.same(received.at(-1)?.finished, [], 'a file that was read is not finished before its data is written')
  report.fail(idOf(2))
  good.resolve({ kind: 'written' } as AnalysisEnd)
  bad.resolve({ kind: 'written' } as AnalysisEnd)
  stale.resolve({ kind: 'unchanged' })
  tried.resolve({ kind: 'busy' })
  broken.reject(new Error('stopped'))
  await t.rejects(broken.done, { message: 'stopped' })
  await until(() => received.at(-1)?.running.length === 0)
  const finished = received.flatMap((event) => event.finished)
  t.same(
    finished.map(({ fileName, outcome }) => [fileName, outcome]),
    [
      ['1.cbz', 'analyzed'],
      ['2.cbz', 'failed'],
      ['3.cbz', 'unchanged'],
    ],
  )
  t.ok(finished.every(({ durationMs }) => Number.isInteger(durationMs) && durationMs >= 0))
  t.equal(new Set(received.map(({ readerId }) => readerId)).size, 1)
})

t.test('hundreds of files with long names are few events that fit into a notification', async (t) => {
  const { received, begin } = await openReport(t)
  const name = `${'\u0001本'.repeat(400)}.cbz`
  const running = Array.from({ length: 40 }, (_, at) => begin(at + 1_000, name))
  const began = performance.now()
  for (let at = 0; at < 300; at++) {
    const file = begin(at, at === 299 ? 'last.cbz' : name)
    file.resolve({ kind: 'written' } as AnalysisEnd)
    await file.done
    // Files of a few milliseconds, over more than one second.
    if (at % 30 === 0) await sleep(120)
  }
  const tookMs = performance.now() - began
  await until(() => received.reduce((sum, { finishedCount }) => sum + finishedCount, 0) === 300)
  t.ok(received.length <= Math.ceil(tookMs / 250) + 2, `${received.length} events in ${tookMs} ms`)
  t.equal(received.flatMap(({ finished }) => finished).at(-1)?.fileName, 'last.cbz', 'the newest are kept')
  for (const { running, finished } of received) {
    t.ok(Buffer.byteLength(JSON.stringify([running, finished])) < 7_100)
    t.ok([...running, ...finished].every(({ fileName }) => !fileName.includes('\u0001')))
  }
  for (const { resolve } of running) resolve({ kind: 'deleted' })
  await until(() => received.at(-1)?.running.length === 0)
})
