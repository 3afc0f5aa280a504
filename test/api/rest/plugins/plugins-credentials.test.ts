import t from 'tap'
import { openUserPluginServer, sendJson } from '#test/support/user-plugin-server.ts'

t.setTimeout(60_000)

const TOKEN = 'tok-5f2a-very-secret-one'
/** Recommends what the address of the configuration answers. */
const MAIN = `export default { recommendations: {
  async refresh(_, ctx) {
    const answer = await ctx.fetch(ctx.config.baseUrl + '/list')
    ctx.log.info('asked ' + answer.url + ' ' + await answer.text())
    return { recommendations: [{ externalId: '1', title: (await answer.text()).slice(0, 200), score: 0.5, reason: 'So.' }] }
  },
  dismiss: () => null,
} }`
const manifestOf = (scope: 'user' | 'server') => ({
  id: `org.example.taste-${scope}`,
  permissions: { networkFromConfig: ['baseUrl'] },
  config: { type: 'object', properties: { baseUrl: { type: 'string', maxLength: 200 } } },
  auth: { type: 'apiKey', scope, bind: { hostFrom: 'baseUrl', query: 'key' } },
})

interface Shown {
  hasCredentials: boolean
  credentialsHost: string | null
  connected: boolean
  message: string
  calls: { callId: string }[]
}

t.test('an administrator sees where credentials go, confirms that, and gives them again for another address', async (t) => {
  const { install, request, adminToken, way, host } = await openUserPluginServer(t, (asked, response) =>
    sendJson(response, { asked: asked.url }),
  )
  const id = await install(manifestOf('server'), MAIN)
  const path = `/api/v1/admin/plugins/${id}`
  const ask = (method: string, body?: unknown) => request<Shown>(method, path, { token: adminToken, ...(body !== undefined && { body }) })
  t.match((await ask('GET')).json, {
    credentialsHost: null,
    hasCredentials: false,
    asksFor: { auth: { host: null, hostFromConfig: 'baseUrl' } },
  })
  t.match(await ask('PATCH', { credentials: { token: TOKEN } }), {
    status: 422,
    json: { message: /First enter the host.*config\/baseUrl/ },
  })
  t.match((await ask('PATCH', { config: { baseUrl: 'https://first.example.net/api' } })).json, {
    credentialsHost: 'https://first.example.net',
  })
  t.match(await ask('PATCH', { credentials: { token: TOKEN }, credentialsHost: 'https://other.example.net' }), {
    status: 409,
    json: { message: /would go to https:\/\/first\.example\.net/ },
  })
  t.match((await ask('GET')).json, { hasCredentials: false }, 'nothing was kept')
  t.match((await ask('PATCH', { credentials: { token: TOKEN }, credentialsHost: 'https://first.example.net' })).json, {
    hasCredentials: true,
  })
  t.match((await ask('PATCH', { config: { baseUrl: 'https://second.example.net' } })).json, {
    hasCredentials: false,
    credentialsHost: 'https://second.example.net',
  })
  t.match((await ask('PATCH', { credentials: { token: TOKEN } })).json, { hasCredentials: true })
  t.notMatch(JSON.stringify([way.asked, (await ask('GET')).json, await host.plugins.list()]), TOKEN)
})

t.test('a reader sees it too, and nothing that is shown of a call holds what was sent', async (t) => {
  const { install, request, as, signUp, adminToken, way, host } = await openUserPluginServer(t, (asked, response) =>
    sendJson(response, { asked: asked.url }),
  )
  const id = await install(manifestOf('user'), MAIN)
  const { id: userId, token } = await signUp({ username: 'rita' })
  const rita = as(token)
  const path = `/api/v1/admin/plugins/${id}`
  const move = (to: string) => request('PATCH', path, { token: adminToken, body: { config: { baseUrl: to } } })
  await move('https://first.example.net')
  await rita('GET', 'plugins')
  t.match((await rita<Shown>('POST', `plugins/${id}/enable`)).json, { connected: false, credentialsHost: 'https://first.example.net' })
  const give = (credentialsHost?: string) =>
    rita<Shown>('POST', `plugins/${id}/credentials`, { accessToken: TOKEN, ...(credentialsHost && { credentialsHost }) })
  t.match(await give('https://second.example.net'), { status: 409, json: { message: /would go to https:\/\/first/ } })
  t.match((await give('https://first.example.net')).json, { connected: true })

  const call = () => host.pluginCalls.call({ pluginId: id, method: 'recommendations.refresh', input: { limit: 1 }, userId })
  const { result } = await call()
  t.match(JSON.stringify(result), /\/list\?\[credential\]/)
  t.equal(way.asked.at(-1)?.url, `/list?key=${TOKEN}`)
  const { json: calls } = await request<Shown>('GET', `${path}/calls`, { token: adminToken })
  const callId = calls.calls[0]?.callId
  for (const at of [
    `${path}/calls`,
    `${path}/calls/${callId}`,
    `${path}/calls/${callId}/fixture`,
    `${path}/logs`,
    `${path}/failures`,
    path,
    '/api/v1/metrics/plugins',
  ]) {
    const answer = await request('GET', at, { token: adminToken })
    t.equal(answer.status, 200, at)
    t.notMatch(answer.text, TOKEN, at)
  }

  const asked = way.asked.length
  await move('https://second.example.net')
  t.match((await rita<Shown>('GET', `plugins/${id}`)).json, { connected: false, credentialsHost: 'https://second.example.net' })
  await t.rejects(call(), { code: 'conflict', message: /waits until the user enables it again/ })
  const { sha256 } = (await rita<{ consent: { sha256: string } }>('GET', `plugins/${id}`)).json.consent
  t.match(await rita('POST', `plugins/${id}/enable`, { sha256 }), { status: 200 })
  await t.rejects(call(), { message: /given for another address than https:\/\/second\.example\.net/, details: { code: 'auth' } })
  t.equal(way.asked.length, asked, 'nobody is asked')
  await give()
  await call()
  t.match(way.asked.at(-1), { host: /^second\.example\.net/, url: `/list?key=${TOKEN}` })
})
