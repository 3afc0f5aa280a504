import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { describeStart, StartClock } from '#api/cli/start-clock.ts'

t.test('each step is measured from the end of the one before', async (t) => {
  const clock = new StartClock('program')
  await sleep(60)
  const before = performance.now()
  clock.done('database')
  clock.done('port')
  const tookMs = Math.round(performance.now() - before)
  const [program, database, port] = clock.split() as { step: string; ms: number }[]
  t.ok(program!.ms > 0, 'begins with the process')
  t.ok(database!.ms >= 55, `${database!.ms} ms`)
  t.ok(port!.ms <= tookMs, `${port!.ms} of ${tookMs} ms`)
})

t.test('one line says the sum and its parts', async (t) => {
  const split = [
    { step: 'program', ms: 449 },
    { step: 'database', ms: 1_251 },
  ]
  t.equal(describeStart(split), 'Started in 1.7 s (program 0.4 s, database 1.3 s)')
})
