import t from 'tap'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { type CallSetting, findSpare, LiveIsolates } from '#plugins/host/live-isolates.ts'
import type { Guest } from '#plugins/runtime/guest.ts'

const MINUTE_MS = 60_000

t.test('closes isolates that are idle for long, and the longest idle when there are too many', async (t) => {
  const now = 60 * MINUTE_MS
  const at = (minutesAgo: number, calls = 0) => ({ calls, lastUsed: now - minutesAgo * MINUTE_MS })
  const [old, young, busy] = [at(11), at(9), at(30, 1)]
  t.same(findSpare([young, busy, old], now), [old], 'an isolate with a running call stays')
  t.same(findSpare([], now), [])

  const full = Array.from({ length: 64 }, (_, index) => at(1 + index / 64))
  t.same(findSpare(full, now), [full[63]], 'one is closed for the next')
  t.same(findSpare(full.slice(0, 63), now), [], 'there is room')
  t.same(
    findSpare(
      Array.from({ length: 70 }, () => at(1, 1)),
      now,
    ),
    [],
    'none with a running call is closed',
  )
})

function openLive(readCode: () => Promise<string> = async () => '') {
  const closed: string[] = []
  let started = 0
  const isolates = new LiveIsolates({
    readCode,
    start() {
      const name = `guest ${++started}`
      return { close: () => void closed.push(name) } as Guest
    },
    setUp: async () => {},
  })
  return { isolates, closed, started: () => started }
}

const settingOf = (
  id: string,
  change: { versionId?: string; userId?: string | null; config?: Record<string, unknown> } = {},
): CallSetting => ({
  plugin: { id, versionId: change.versionId ?? 'one' } as InstalledPlugin,
  userId: change.userId ?? null,
  own: null,
  config: change.config ?? {},
  userConfig: {},
})

t.test('one isolate for each plugin and user, until its version or configuration changes', async (t) => {
  const { isolates, closed } = openLive()
  t.teardown(() => isolates.close())
  const first = await isolates.open(settingOf('a'))
  t.equal(await isolates.open(settingOf('a')), first)
  const own = await isolates.open(settingOf('a', { userId: 'mira' }))
  t.not(own, first, 'users do not share an isolate')
  t.same(closed, [])

  const updated = await isolates.open(settingOf('a', { versionId: 'two' }))
  t.same(closed, ['guest 1'])
  await isolates.open(settingOf('a', { versionId: 'two', config: { key: 1 } }))
  t.same(closed, ['guest 1', 'guest 3'])
  isolates.drop(updated)
  t.equal((await isolates.open(settingOf('a', { versionId: 'two', config: { key: 1 } }))).key, 'a/', 'the isolate of the new version stays')

  const keysOf = (pluginId: string | null, userId: string | null) => isolates.list({ pluginId, userId }).map(({ key }) => key)
  await isolates.open(settingOf('b', { userId: 'mira' }))
  t.same(keysOf('a', 'mira'), ['a/mira'])
  t.same(keysOf('a', null), ['a/mira', 'a/'])
  t.same(keysOf(null, 'mira'), ['a/mira', 'b/mira'])
  t.same(keysOf(null, null), ['a/mira', 'a/', 'b/mira'])
})

t.test('concurrent calls share an isolate', async (t) => {
  const { isolates, started } = openLive()
  t.teardown(() => isolates.close())
  const [one, two] = await Promise.all([isolates.open(settingOf('a')), isolates.open(settingOf('a'))])
  t.equal(one, two)
  t.equal(started(), 1)
})

t.test('closing the list closes all isolates in it', async (t) => {
  const { isolates, closed } = openLive()
  await isolates.open(settingOf('a'))
  await isolates.open(settingOf('b'))
  isolates.close()
  t.same(closed, ['guest 1', 'guest 2'])
})
