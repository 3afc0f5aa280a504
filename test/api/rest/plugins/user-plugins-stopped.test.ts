import t from 'tap'
import { openUserPluginServer, sendJson } from '#test/support/user-plugin-server.ts'

t.setTimeout(60_000)

interface Own {
  enabled: boolean
  pause: string | null
}

t.test('a user is told that an administrator has disabled a plugin, and others that there is none', async (t) => {
  const { install, as, signUp, host } = await openUserPluginServer(t, (_request, response) => sendJson(response, {}))
  const id = await install({})
  const ann = as((await signUp({ username: 'ann' })).token)
  const bob = as((await signUp({ username: 'bob' })).token)
  t.equal((await ann('POST', `plugins/${id}/enable`)).status, 200)
  await host.pluginLifecycle.setEnabled(id, false)
  t.match((await ann<{ enabled: Own[]; available: Own[] }>('GET', 'plugins')).json, {
    enabled: [{ enabled: true, pause: 'stopped' }],
    available: [],
  })
  t.match(await ann('POST', `plugins/${id}/enable`), {
    status: 409,
    json: { message: 'An administrator has disabled "Taste". It runs again when an administrator enables it.' },
  })
  t.match(await bob('POST', `plugins/${id}/enable`), { status: 404, json: { message: /There is no plugin/ } })
  await host.pluginLifecycle.setEnabled(id, true)
  t.match((await ann<Own>('GET', `plugins/${id}`)).json, { pause: null })
})
