import t from 'tap'
import {
  culpritOf,
  isIdle,
  isSilent,
  isWorthRepeating,
  memoryExcess,
  type RunnerUse,
  residentBytesMax,
  UNEXPECTED_MAX,
  unexpectedCount,
} from '#plugins/runtime/runner-limits.ts'

const USE: RunnerUse = { isBusy: false, startedAt: 0, lastUsed: 0, lastHeard: 0, isTemporary: false, sessions: 0 }

t.test('a busy runner counts as silent after 4 s, an idle one after 10 s, a starting one after 15 s', async (t) => {
  const silentFrom = (use: Partial<RunnerUse>) =>
    [4_000, 4_001, 10_000, 10_001, 15_000, 15_001].find((now) => isSilent({ ...USE, ...use }, now))
  t.equal(silentFrom({ isBusy: true }), 4_001)
  t.equal(silentFrom({}), 10_001)
  t.equal(silentFrom({ lastHeard: Number.POSITIVE_INFINITY, isBusy: true }), 15_001)
  t.equal(silentFrom({ lastHeard: 12_000, isBusy: true }), undefined)
})

t.test('an idle runner ends, one for a single program soon after that program', async (t) => {
  t.notOk(isIdle(USE, 60_000, 60_000))
  t.ok(isIdle(USE, 60_001, 60_000))
  t.notOk(isIdle({ ...USE, isBusy: true }, 1e9, 60_000))
  t.ok(isIdle({ ...USE, isTemporary: true }, 2_001, 60_000))
  t.notOk(isIdle({ ...USE, isTemporary: true, sessions: 1 }, 2_001, 60_000))
  t.ok(isIdle({ ...USE, isTemporary: true }, 501, 500), 'not later than any other')
})

t.test('memory has a soft and a hard limit', async (t) => {
  const bytesMax = residentBytesMax(false)
  t.equal(bytesMax, 256 * 1024 * 1024)
  t.equal(residentBytesMax(true), 512 * 1024 * 1024)
  t.equal(residentBytesMax(true, 1), 1024 * 1024)
  t.equal(memoryExcess(bytesMax * 0.75, bytesMax), null)
  t.equal(memoryExcess(bytesMax * 0.75 + 1, bytesMax), 'soft')
  t.equal(memoryExcess(bytesMax, bytesMax), 'soft')
  t.equal(memoryExcess(bytesMax + 1, bytesMax), 'hard')
})

t.test('one late answer of any length is not a violation', async (t) => {
  t.equal(unexpectedCount(0), 0)
  t.equal(unexpectedCount(1), 1)
  t.equal(unexpectedCount(8_193), 2)
  t.equal(unexpectedCount(1e9), UNEXPECTED_MAX / 4)
})

t.test('the known cause of an exit is to blame, or else the only running place', async (t) => {
  t.equal(culpritOf('a', ['b'], false), 'a')
  t.equal(culpritOf('', ['b'], false), '', 'the cause was closed before: no remaining place is to blame')
  t.equal(culpritOf(null, ['b'], false), 'b')
  t.equal(culpritOf(null, ['b'], true), null, 'a runner that was never ready ran nothing')
  t.equal(culpritOf(null, ['a', 'b'], false), null)
  t.equal(culpritOf(null, [], false), null)
})

t.test('calls are repeated until runners have failed to start three times in a row', async (t) => {
  t.ok(isWorthRepeating(false, 7))
  t.ok(isWorthRepeating(true, 2))
  t.notOk(isWorthRepeating(true, 3))
})
