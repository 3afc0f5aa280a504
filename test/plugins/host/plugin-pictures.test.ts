import type { RequestListener } from 'node:http'
import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import type { PluginHostServices } from '#api/areas/plugins.ts'
import { deleteUserPlugin, updateUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { makePicture } from '#test/support/pictures.ts'
import { agree, openHostOn, openPictures, openTestHost } from '#test/support/plugin-hosts.ts'
import { until } from '#test/support/user-plugin-server.ts'

t.setTimeout(240_000)

const MAIN = 'export default { recommendations: { get: () => ({ recommendations: [] }) } }'
const MANIFEST = {
  capabilities: { recommendations: { methods: ['get'] } },
  permissions: { network: [{ host: 'covers.example.org', reason: 'Covers' }] },
}
const COVER = 'https://covers.example.org/1.jpg'
/** A running fetch must have ended by then, also on a busy machine. */
const ENDED_MS = 10_000

/** A service that begins each picture, and ends it when the test says so. */
async function openSlow(t: Test) {
  const picture = await makePicture({ width: 20, height: 30 })
  const open = new Set<Parameters<RequestListener>[1]>()
  const { host, way, run, database } = await openTestHost(t, (_request, response) => {
    response.setHeader('content-type', 'image/jpeg')
    response.write(picture.subarray(0, 10))
    open.add(response)
    response.on('close', () => open.delete(response))
  })
  const { id: pluginId } = await run(MAIN, MANIFEST)
  const pictures = openPictures(database, host, new HttpsEgress(way))
  /** The picture for a user, or the error. */
  const begin = async (userId: string, isOwn: boolean) => {
    const plugin = await host.plugins.get(pluginId)
    const ownId = isOwn ? await pictures.ownIdOf({ pluginId, userId }) : null
    const token = pictures.tokenOf(COVER, { plugin, userId, ownId }) as string
    return { result: pictures.get({ pluginId, userId }, token, new AbortController().signal).catch((error: Error) => error) }
  }
  const finish = () => {
    for (const response of open) response.end(picture.subarray(10))
  }
  return { host, database, pluginId, pictures, begin, finish, open }
}

interface Reader {
  pluginId: string
  userId: string
}

/** What can be withdrawn, as another server or a command does it. `isOwn`: the plugin has named the picture in a call for the user. */
const WITHDRAWALS: Record<
  string,
  { isOwn: boolean; withdraw: (other: { host: PluginHostServices; database: Knex }, ann: Reader) => Promise<unknown> }
> = {
  'the plugin is disabled': { isOwn: false, withdraw: ({ host }, { pluginId }) => host.pluginLifecycle.setEnabled(pluginId, false) },
  'the plugin is uninstalled': { isOwn: false, withdraw: ({ host }, { pluginId }) => host.pluginLifecycle.uninstall(pluginId) },
  'the plugin is revoked': {
    isOwn: false,
    withdraw: ({ database }, { pluginId }) => database('plugins').where({ id: pluginId }).update({ state: 'revoked' }),
  },
  'the host is taken away': {
    isOwn: false,
    withdraw: async ({ host, database }, { pluginId }) => {
      const { granted } = await host.plugins.get(pluginId)
      await database('plugins')
        .where({ id: pluginId })
        .update({ granted: { ...granted, network: [] } })
    },
  },
  'the user disables the plugin': { isOwn: true, withdraw: ({ database }, ann) => updateUserPlugin(database, ann, { enabled: false }) },
  'the user deletes its data': { isOwn: true, withdraw: ({ database }, ann) => deleteUserPlugin(database, ann) },
  'the user is disabled': {
    isOwn: false,
    withdraw: ({ database }, { userId }) => database('users').where({ id: userId }).update({ is_active: false }),
  },
  'the user is deleted': { isOwn: false, withdraw: ({ database }, { userId }) => database('users').where({ id: userId }).delete() },
}

for (const [title, { isOwn, withdraw }] of Object.entries(WITHDRAWALS))
  t.test(`a picture that is being fetched is given up on every server when ${title}`, async (t) => {
    const { host, database, pluginId, begin, open } = await openSlow(t)
    const { host: other } = await openHostOn(t, database)
    const { userId } = await addCaller(database)
    await agree(host, database, { pluginId, userId })
    const { result } = await begin(userId, isOwn)
    await until(async () => open.size > 0, 'the request for the picture')
    const at = performance.now()
    await withdraw({ host: other, database }, { pluginId, userId })
    t.match(await result, { code: /^(conflict|not_found)$/ })
    t.ok(performance.now() - at < ENDED_MS, `${Math.round(performance.now() - at)} ms`)
    await until(async () => open.size === 0, 'the connection to the service to end')
  })

t.test('what one user withdraws ends no fetch that another user waits for', async (t) => {
  const { host, database, pluginId, begin, finish, open } = await openSlow(t)
  const [ann, bob] = [(await addCaller(database)).userId, (await addCaller(database)).userId]
  for (const userId of [ann, bob]) await agree(host, database, { pluginId, userId })
  const own = await begin(ann, true)
  await until(async () => open.size > 0, 'the request for the picture')
  const others = await begin(bob, true)
  await updateUserPlugin(database, { pluginId, userId: ann }, { enabled: false })
  t.match(await own.result, { code: 'conflict' })
  // On a busy machine Bob may begin to wait only now.
  const finishing = setInterval(finish, 20)
  t.match(await others.result, { etag: String })
  clearInterval(finishing)
})

t.test('a cover that the server fetches for itself is given up too', async (t) => {
  const { host, pluginId, pictures, open } = await openSlow(t)
  const fetched = pictures
    .download({ url: COVER, pluginId, userId: null, signal: new AbortController().signal })
    .catch((error: Error) => error)
  await until(async () => open.size > 0, 'the request for the cover')
  await host.pluginLifecycle.setEnabled(pluginId, false)
  t.match(await fetched, { code: 'conflict' })
})

t.test('a kept picture is forgotten when the rights of its user change, and its address ends with the data of the user', async (t) => {
  const picture = await makePicture({ width: 20, height: 30 })
  const { host, way, run, database } = await openTestHost(t, (_request, response) => response.end(picture))
  const { id: pluginId } = await run(MAIN, MANIFEST)
  const pictures = openPictures(database, host, new HttpsEgress(way))
  const ann = { pluginId, userId: (await addCaller(database)).userId }
  const tokenNow = async () => {
    const shown = { plugin: await host.plugins.get(pluginId), userId: ann.userId, ownId: await pictures.ownIdOf(ann) }
    return pictures.tokenOf(COVER, shown) as string
  }
  const get = (token: string) => pictures.get(ann, token, new AbortController().signal)
  await agree(host, database, ann)
  const token = await tokenNow()
  const isAskedFor = async () => {
    const before = way.asked.length
    await get(token)
    return way.asked.length > before
  }
  t.equal(await isAskedFor(), true)
  // The news of the agreement may arrive only now.
  await until(async () => !(await isAskedFor()), 'the picture to be kept')
  await updateUserPlugin(database, ann, { config: { other: 1 } })
  await until(isAskedFor, 'the picture to be forgotten')
  await deleteUserPlugin(database, ann)
  await t.rejects(get(token), { code: 'not_found' })
  await agree(host, database, ann)
  await t.rejects(get(token), { code: 'not_found', message: /There is no such picture for you/ }, 'the address of before')
  const before = way.asked.length
  await get(await tokenNow())
  t.equal(way.asked.length, before + 1, 'nothing of before is shown')
})
