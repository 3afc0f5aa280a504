import t from 'tap'
import { updateUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { agree, openTestHost } from '#test/support/plugin-hosts.ts'
import { holdHost } from '#test/support/plugins.ts'
import { bodyOf, OAUTH, RECOMMENDER, RECOMMENDER_MANIFEST, sendJson, until } from '#test/support/user-plugin-server.ts'

t.setTimeout(120_000)

const CLIENT = { clientId: 'carrel-of-a-test', clientSecret: 'a-client-secret-that-nobody-sees' }

/** A user who is signed in to a service whose tokens are valid for so many seconds. */
async function openSignedIn(t: Parameters<typeof openTestHost>[0], seconds: number) {
  let renewals = 0
  const { host, run, way, database } = await openTestHost(t, async (request, response) => {
    if (!request.url?.startsWith('/token')) return sendJson(response, { recommendations: [] })
    await bodyOf(request)
    renewals += 1
    sendJson(response, { access_token: `token-${renewals}`, expires_in: seconds })
  })
  const { id: pluginId } = await run(RECOMMENDER, { ...RECOMMENDER_MANIFEST, auth: OAUTH })
  const { userId } = await addCaller(database)
  await agree(host, database, { pluginId, userId })
  const owner = { pluginId, userId }
  const { auth } = (await host.plugins.get(pluginId)).manifest
  const give = (left: number) =>
    host.pluginCredentials.set(owner, auth, { accessToken: 'first', refreshToken: 'renews' }, new Date(Date.now() + left * 1000))
  const call = () => host.pluginCalls.call({ ...owner, method: 'recommendations.refresh', input: { limit: 1 } })
  return { host, way, database, pluginId, owner, give, call, renewals: () => renewals }
}

t.test('a short-lived token is renewed in the second half of its life, not before each use', async (t) => {
  const { host, database, pluginId, give, call, renewals } = await openSignedIn(t, 500)
  await host.plugins.edit(pluginId, { credentials: CLIENT })
  await give(-1)
  for (let times = 0; times < 3; times++) await call()
  t.equal(renewals(), 1)
  const back = (column: string) => database.raw(`${column} - interval '260 seconds'`)
  await database('plugin_credentials').update({ expires_at: back('expires_at'), renewing_until: back('renewing_until') })
  await call()
  t.equal(renewals(), 2)
})

t.test('without renewal, callers do not wait', async (t) => {
  const { give, call, renewals, way } = await openSignedIn(t, 3_600)
  // An administrator has deleted the client id.
  await give(-1)
  const begun = performance.now()
  for (let times = 0; times < 2; times++) await t.rejects(call(), { code: 'unavailable', details: { code: 'auth' } })
  t.ok(performance.now() - begun < 10_000, 'it does not wait as for a renewal by another server')
  t.same([renewals(), way.asked.length], [0, 0])
})

t.test('a renewal that waits to be sent is not sent after the user or an administrator has withdrawn', async (t) => {
  const { host, way, database, pluginId, owner, give, call, renewals } = await openSignedIn(t, 3_600)
  await host.plugins.edit(pluginId, { credentials: CLIENT })
  const isFree = async () =>
    await database('plugin_credentials').where({ field: 'refreshToken' }).whereRaw('renewing_until <= now()').first()
  for (const [what, withdraw, enable] of [
    ['the user', () => updateUserPlugin(database, owner, { enabled: false }), () => updateUserPlugin(database, owner, { enabled: true })],
    ['an administrator', () => host.pluginLifecycle.setEnabled(pluginId, false), () => host.pluginLifecycle.setEnabled(pluginId, true)],
  ] as const) {
    await give(-1)
    const { waits, release } = holdHost(way, 'tokens.example.org')
    const refused = t.rejects(call(), { code: 'conflict', message: /disabled/ }, what)
    await waits
    await withdraw()
    await refused
    await until(isFree, 'the renewal to end')
    release()
    t.equal(renewals(), 0, what)
    await enable()
  }
  await call()
  t.equal(renewals(), 1, 'the token is renewed when the plugin may run again')
})
