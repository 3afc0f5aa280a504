import t from 'tap'
import { bodyOf, OAUTH, openUserPluginServer, sendJson } from '#test/support/user-plugin-server.ts'

t.setTimeout(60_000)

const CLIENT = { clientId: 'carrel-of-a-test', clientSecret: 'a-client-secret-that-nobody-sees' }

t.test('a user who disconnects during the token request stays disconnected', async (t) => {
  let meanwhile = async () => {}
  const { install, host, signUp, as, services } = await openUserPluginServer(t, async (request, response) => {
    await bodyOf(request)
    await meanwhile()
    sendJson(response, { access_token: 'too-late', refresh_token: 'too-late-as-well' })
  })
  const id = await install({ auth: OAUTH })
  await host.plugins.edit(id, { credentials: CLIENT })
  const { id: userId, token } = await signUp({ username: 'rita' })
  const rita = as(token)
  await rita('GET', 'plugins')
  await rita('POST', `plugins/${id}/enable`)
  const begin = async () => {
    const { redirectUrl, browserKey } = await services.userPlugins.beginSignIn(userId, id, 'https://books.example.org/back')
    return { state: new URL(redirectUrl).searchParams.get('state') as string, browserKey }
  }
  const finish = (begun: { state: string; browserKey: string }) =>
    services.userPlugins.finishSignIn({ ...begun, code: 'a code', error: undefined, userId })

  meanwhile = async () => void (await rita('DELETE', `plugins/${id}`))
  await t.rejects(finish(await begin()), { name: 'SignInError', message: /Nothing was connected/ })
  t.same(await host.pluginCredentials.reveal({ pluginId: id, userId }), {}, 'all data of the user stays deleted')

  await rita('GET', 'plugins')
  await rita('POST', `plugins/${id}/enable`)
  meanwhile = async () => {}
  t.match(await finish(await begin()), { name: 'Taste' })
  t.match(await host.pluginCredentials.reveal({ pluginId: id, userId }), { accessToken: 'too-late' })

  const held = await begin()
  meanwhile = async () => {
    await host.pluginLifecycle.uninstall(id)
  }
  await t.rejects(finish(held), { name: 'SignInError' }, 'as for a removed plugin')
})
