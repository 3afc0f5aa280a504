import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { DiskCalls } from '#core/foundation/disk-calls.ts'

/** Calls of a disk that answer when `answer` is called. */
function hangingDisk() {
  const { promise, resolve } = Promise.withResolvers<string>()
  return { call: () => promise, answer: () => resolve('late') }
}

const SILENCE = { code: 'ETIMEDOUT', message: /disk of "\/slow" does not answer/ }
const quick = async () => 'quick'

t.test('a disk that hangs is refused at once after its first late call, others answer, and it comes back with its answer', async (t) => {
  const disks = new DiskCalls({ answerMs: 20, lookMs: 5 })
  const hanging = hangingDisk()
  const discarded: string[] = []
  // More than have a place: some wait for theirs.
  const asked = Array.from({ length: 20 }, () => disks.ask('/slow', hanging.call, (result) => discarded.push(result)))
  t.equal(await disks.ask('/fast', quick), 'quick', 'while the first calls wait')
  // The only timer of the calls does not keep this process alive.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  await Promise.all(asked.map((one) => t.rejects(one, SILENCE)))
  let isCalled = false
  const refused = disks.ask('/slow', async () => {
    isCalled = true
  })
  await t.rejects(refused, SILENCE)
  t.equal(isCalled, false, 'the disk is not asked again')
  t.equal(await disks.ask('/fast', quick), 'quick')

  hanging.answer()
  await sleep(0)
  t.same(discarded, Array(6).fill('late'), 'results that nobody waits for any more are given back; six have had a place')
  t.equal(await disks.ask('/slow', quick), 'quick')
})

t.test('a call that has no place in time does not begin later', async (t) => {
  // One look finds all of them late, also on a machine that pauses this test while it asks.
  const disks = new DiskCalls({ answerMs: 150, lookMs: 500 })
  const [first, second] = [hangingDisk(), hangingDisk()]
  const asked = [...Array(6).fill(['/one', first]), ...Array(6).fill(['/two', second])].map(([root, { call }]) => disks.ask(root, call))
  const began: string[] = []
  const waiting = disks.ask('/slow', async () => began.push('/slow'))
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  await Promise.all([...asked, waiting].map((one) => t.rejects(one, { code: 'ETIMEDOUT' })))
  await t.rejects(disks.ask('/slow', quick), SILENCE, 'twelve late calls leave no thread for any library')
  first.answer()
  await sleep(0)
  t.equal(await disks.ask('/slow', quick), 'quick')
  t.same(began, [])
  second.answer()
})

t.test('errors of a call are its own', async (t) => {
  const disks = new DiskCalls()
  await t.rejects(
    disks.ask('/fast', () => Promise.reject(new Error('gone'))),
    { message: 'gone' },
  )
  t.equal(await disks.ask('/fast', quick), 'quick')
})
