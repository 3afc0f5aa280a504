import t, { type Test } from 'tap'
import { openPlugins } from '#api/compose-plugins.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { Credentials } from '#plugins/credentials/credentials.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { openHostOn, SECRETS } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { testSettings } from '#test/support/server.ts'
import { findRules, findSupervisor } from '#test/support/supervisor.ts'
import { resizePicture } from '#workers/images/image.ts'

t.setTimeout(240_000)

const FRESH = 'the-new-key-of-tests-that-has-at-least-thirty-two-bytes'
const STRANGE = 'a-key-of-somebody-else-that-has-at-least-thirty-two-bytes'
const AUTH = {
  type: 'apiKey',
  scope: 'server',
  bind: { host: 'api.example.org', header: 'Authorization', format: 'Bearer {token}' },
} as const
const MAIN = 'export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: "1" }) } } }'

async function openKept(t: Test) {
  const { database } = await openTestDatabase(t)
  const { host } = await openHostOn(t, database)
  const { plugin } = await host.pluginLifecycle.install(pluginOf(MAIN, { auth: AUTH }), { userId: null })
  const owner = { pluginId: plugin.id, userId: null }
  await host.pluginCredentials.set(owner, AUTH, { token: 'of a user' })

  /** Starts everything with these keys and ends it again. Answers what the log was told. */
  async function startWith(secretKeys: readonly string[], enabled = true): Promise<string[]> {
    const told: string[] = []
    const tell = (level: string) => (_fields: object, message: string) => void told.push(`${level}: ${message}`)
    const log = { ...silentLog, info: tell('info'), warn: tell('warn'), error: tell('error') }
    const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
    const settings = testSettings({
      dataFolder: t.testdir(),
      plugins: { enabled, isolation: 'strict', hardened: false, allowLocal: [], secretKeys },
    })
    const opened = await openPlugins({
      ...{ settings, log, database, tasks, supervisor: findSupervisor(), rules: findRules() },
      drawCover: async () => ({ refused: 'kind' }),
      resizeImage: resizePicture,
    })
    opened.start()
    await opened.close()
    await tasks.stop()
    return told
  }
  const opens = async (secret: string) => (await new Credentials(database, [secret]).reveal(owner, AUTH))['token'] === 'of a user'
  return { startWith, opens }
}

t.test('a new key in front: credentials are encrypted anew at the start, and the old key can go', async (t) => {
  const [OLD = ''] = SECRETS
  for (const enabled of [true, false]) {
    const { startWith, opens } = await openKept(t)
    t.same(await startWith([OLD], enabled), [], 'nothing to do, nothing told')
    t.match(await startWith([FRESH, OLD], enabled), [/^info: .*Encrypted plugin credentials again.*no longer need the older keys/])
    t.ok(await opens(FRESH))
    t.notOk(await opens(OLD))
    t.same(await startWith([FRESH], enabled), [], 'without the old key')
  }
})

t.test('a key that is gone is told of, and what it opens stays for when it is back', async (t) => {
  const [OLD = ''] = SECRETS
  const { startWith, opens } = await openKept(t)
  t.match(await startWith([STRANGE]), [/^warn: .*unknown key. Append that key/])
  t.ok(await opens(OLD))
})
