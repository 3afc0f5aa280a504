import type { KeyObject } from 'node:crypto'
import t from 'tap'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { publicKeyText } from '#plugins/packages/plugin-package.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { keyOf } from '#test/support/signed-packages.ts'
import { openUserPluginServer, RECOMMENDER_MANIFEST } from '#test/support/user-plugin-server.ts'

t.setTimeout(120_000)

const [AUTHOR, OTHER] = [keyOf(1), keyOf(2)]
const [HERE, THERE] = ['https://plugins.example.org/', 'https://other.example.net/']

/** Stores data of its user, and when the data is migrated sends what it can read of that user. */
const MAIN = `export default {
  async migrate(ctx, from) {
    const { entries } = await ctx.library.entries().catch(() => ({ entries: null }))
    if (entries !== null) await ctx.fetch('https://api.example.org/migrated?entries=' + entries.length)
  },
  recommendations: {
    async refresh(_, ctx) { await ctx.storage.set('data', 'of this user'); return { recommendations: [] } },
    dismiss() {} } }`

interface Origin {
  keys?: readonly KeyObject[]
  repository?: string
}

/** A plugin that a user has enabled and that has data of the user, and its update that also stores its data in another form. */
async function openEnabled(t: Parameters<typeof openUserPluginServer>[0], { keys = [], ...origin }: Origin) {
  const server = await openUserPluginServer(t, (_request, response) => response.end('{}'))
  const { host, signUp, as, way } = server
  const packed = (dataVersion: number, keys: readonly KeyObject[]) =>
    pluginOf(
      MAIN,
      {
        ...RECOMMENDER_MANIFEST,
        version: `1.${dataVersion}.0`,
        dataVersion,
        permissions: {
          network: [{ host: 'api.example.org', reason: 'The lists' }],
          library: ['ratings'],
          storage: { quotaKB: 16 },
        },
      },
      keys,
    )
  const { plugin, sha256 } = await host.pluginLifecycle.install(packed(1, keys), { userId: null, ...origin })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  const { id: userId, token } = await signUp({ username: 'ann' })
  const ann = as(token)
  await ann('GET', 'plugins')
  await ann('POST', `plugins/${plugin.id}/enable`)
  await host.pluginCalls.call({ pluginId: plugin.id, userId, method: 'recommendations.refresh', input: { limit: 1 } })
  const update = async ({ keys = [], ...origin }: Origin & { trustKey?: string; moveFrom?: string }) => {
    const updated = await host.pluginLifecycle.install(packed(2, keys), { userId: null, ...origin })
    await host.pluginLifecycle.consent(plugin.id, updated)
  }
  const sent = () => way.asked.filter(({ url }) => url.startsWith('/migrated')).length
  const own = async () => (await ann<{ pause: string | null; consent: { sha256: string } }>('GET', `plugins/${plugin.id}`)).json
  const agree = async () => await ann('POST', `plugins/${plugin.id}/enable`, { sha256: (await own()).consent.sha256 })
  return { update, sent, own, agree }
}

t.test('an update with the same signer and place migrates the data of a user who has agreed to it', async (t) => {
  const { update, sent, own } = await openEnabled(t, { keys: [AUTHOR], repository: HERE })
  await update({ keys: [AUTHOR], repository: HERE })
  t.match(await own(), { pause: null })
  t.equal(sent(), 1)
})

for (const [what, before, after] of [
  ['that another key has signed', { keys: [AUTHOR] }, { keys: [OTHER], trustKey: fingerprintOf(publicKeyText(OTHER)) }],
  ['that is the first to be signed', {}, { keys: [AUTHOR] }],
  ['that comes from another repository', { repository: HERE }, { repository: THERE, moveFrom: HERE }],
] as const)
  t.test(`an update ${what} migrates the data of a user only after the user has agreed to that`, async (t) => {
    const { update, sent, own, agree } = await openEnabled(t, before)
    await update(after)
    t.equal(sent(), 0, 'nothing of her was sent')
    t.match(await own(), { pause: 'changed' })
    t.match(await agree(), { status: 200 })
    t.equal(sent(), 1)
    t.match(await own(), { pause: null })
  })
