import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { SingleFlight } from '#core/database/single-flight.ts'

/** Work that returns how often it has run. */
function countedWork() {
  let runs = 0
  return async () => {
    const run = ++runs
    await sleep(10)
    return run
  }
}

t.test('the work of one key runs once for all concurrent callers', async (t) => {
  const flights = new SingleFlight()
  const work = countedWork()
  t.same(await Promise.all([flights.join('a', undefined, work), flights.join('a', undefined, work)]), [1, 1])
  t.equal(await flights.join('a', undefined, work), 2, 'and anew for who comes later')
  t.same(await Promise.all([flights.join('a', undefined, work), flights.join('b', undefined, work)]), [3, 4], 'another key is other work')
  const fail = () => flights.join('a', undefined, () => Promise.reject(new Error('no')))
  await Promise.all([t.rejects(fail(), { message: 'no' }), t.rejects(fail(), { message: 'no' })])
  t.equal(await flights.join('a', undefined, work), 5, 'what failed is not kept')
})

t.test('work is aborted when the last waiting caller has left', async (t) => {
  const flights = new SingleFlight()
  let signal: AbortSignal | undefined
  const work = async (given: AbortSignal) => {
    signal = given
    await sleep(30)
    return 'done'
  }
  const [one, other] = [new AbortController(), new AbortController()]
  const first = flights.join('a', one.signal, work)
  const second = flights.join('a', other.signal, work)
  one.abort(new Error('left'))
  await t.rejects(first, { message: 'left' })
  t.equal(signal?.aborted, false, 'the other still waits')
  t.equal(await second, 'done')
  const third = flights.join('a', other.signal, work)
  other.abort(new Error('left too'))
  await t.rejects(third, { message: 'left too' })
  t.equal(signal?.aborted, true)
})

t.test('waiting callers receive the result of forgotten work, and no caller joins it', async (t) => {
  const flights = new SingleFlight()
  const work = countedWork()
  const before = flights.join('a', undefined, work)
  flights.forget()
  const after = flights.join('a', undefined, work)
  const joined = flights.join('a', undefined, work)
  t.same(await Promise.all([before, after, joined]), [1, 2, 2], 'its end does not take the new one away')
})

t.test('closing aborts running work and waits for its end', async (t) => {
  const flights = new SingleFlight()
  let ended = false
  const work = flights.join('a', undefined, async (signal) => {
    await sleep(1_000, undefined, { signal }).catch(() => {})
    ended = true
  })
  await flights.close()
  t.equal(ended, true)
  await work
})
