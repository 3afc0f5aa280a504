import { setImmediate as turn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { duringWork, NAME_BYTES_MAX, noteWork, readWork, takeLongestWork, workRegister } from '#core/foundation/current-work.ts'
import { onlyCost } from '#test/support/lane-size.ts'

const open = () => readWork(workRegister).open.map(({ kind, name }) => `${kind} ${name}`)

t.test('work is listed until its promise has settled', async (t) => {
  const held = Promise.withResolvers<void>()
  const running = duringWork('request', 'GET /a 1', () => held.promise)
  t.same(open(), ['request GET /a 1'])
  held.resolve()
  await running
  t.same(readWork(workRegister), { last: null, open: [], omitted: 0 })
  await t.rejects(
    duringWork('task', 'scan 1', async () => {
      throw new Error('failed')
    }),
    /failed/,
  )
  t.same(open(), [], 'failed work has ended too')
})

t.test('work that continues after a pause is recorded again', async (t) => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const seen: (string | undefined)[] = []
  const running = gates.map((gate, index) =>
    duringWork('request', `number ${index}`, async () => {
      await gate.promise
      noteWork()
      seen.push(readWork(workRegister).last?.name)
      await turn()
    }),
  )
  t.equal(readWork(workRegister).last?.name, 'number 1', 'the work that began last')
  gates[0]!.resolve()
  await turn()
  gates[1]!.resolve()
  await Promise.all(running)
  t.same(seen, ['number 0', 'number 1'])
})

t.test('the longest work is reported after its end', async (t) => {
  const standStill = async (ms: number) => {
    const until = performance.now() + ms
    while (performance.now() < until);
  }
  takeLongestWork()
  await duringWork('request', 'short', () => standStill(5))
  await duringWork('request', 'long', () => standStill(200))
  await duringWork('request', 'short', () => standStill(5))
  t.same(takeLongestWork(), { kind: 'request', name: 'long' })
})

t.test('work without a free slot is counted, and long names keep their end', async (t) => {
  const held = Promise.withResolvers<void>()
  const running = Array.from({ length: 400 }, (_, index) => duringWork('file', `${'é/'.repeat(300)}${index}.cbz`, () => held.promise))
  const report = readWork(workRegister)
  t.equal(report.open.length + report.omitted, 400)
  t.ok(report.omitted > 0)
  t.ok(
    report.open.every(({ name }) => /^.?[é/]+\d+\.cbz$/.test(name) && Buffer.byteLength(name) <= NAME_BYTES_MAX + 2),
    'their end is kept',
  )
  held.resolve()
  await Promise.all(running)
  t.same(readWork(workRegister), { last: null, open: [], omitted: 0 })
})

t.test('another thread can read the register', async (t) => {
  const source = new URL('../../../core/foundation/current-work.ts', import.meta.url).href
  const code = `const { workerData, parentPort } = require('node:worker_threads')
    import(${JSON.stringify(source)}).then(({ readWork }) => parentPort.postMessage(readWork(workerData)))`
  const report = await duringWork(
    'plugin call',
    'anilist metadata.series.search',
    () => new Promise((resolve) => new Worker(code, { eval: true, workerData: workRegister }).once('message', resolve)),
  )
  t.match(report, { last: { kind: 'plugin call', name: 'anilist metadata.series.search' }, omitted: 0 })
})

t.test('recording costs next to nothing', onlyCost, async (t) => {
  const rounds = 20_000
  const began = performance.now()
  for (let round = 0; round < rounds; round++) await duringWork('request', 'GET /api/v1/books/:bookId 12345678', async () => noteWork())
  const microseconds = ((performance.now() - began) / rounds) * 1000
  t.comment(`${microseconds.toFixed(2)} µs a request`)
  t.ok(microseconds < 200, 'far below a millisecond, whatever else the machine does')
})
