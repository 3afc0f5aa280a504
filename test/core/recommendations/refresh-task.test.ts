import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { onlyFull } from '#test/support/lane-size.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { SECRETS } from '#test/support/plugin-hosts.ts'
import { receiveEvents } from '#test/support/received-events.ts'
import { item, openRecommendationServer, until } from '#test/support/user-plugin-server.ts'

t.setTimeout(240_000)

t.test('one task at a time, which can be canceled', async (t) => {
  const { rita, adminToken, get, setAnswer, request, settled, database, pluginId, signUp } = await openRecommendationServer(t)
  setAnswer({ value: { recommendations: [item('1', 1)], sleepMs: 60_000 } })
  const starts = await Promise.all(
    Array.from({ length: 6 }, () => rita<{ taskId: string; message: string }>('POST', 'recommendations/refresh')),
  )
  t.same(starts.map(({ status }) => status).sort(), [202, 409, 409, 409, 409, 409])
  const taskId = starts.find(({ status }) => status === 202)?.json.taskId
  const running = await until(async () => {
    const list = await get()
    return list.taskStatus === 'running' && list
  }, 'it to run')
  t.equal(running.taskId, taskId)
  t.equal((await rita('POST', 'recommendations/refresh')).status, 409)
  const task = await until(async () => {
    const { json } = await request<{ progress?: { current: number } }>('GET', `/api/v1/tasks/${taskId}`, { token: adminToken })
    return json.progress?.current === 50 && json
  }, 'its progress')
  t.match(task, { progress: { current: 50, total: 100, message: '(words about another user)' } })
  const maintainer = await signUp({ username: 'mona', role: 'maintainer' })
  t.equal((await request('GET', `/api/v1/tasks/${taskId}`, { token: maintainer.token })).status, 404, "it is nobody else's")

  const begun = performance.now()
  t.match(await rita('POST', `plugins/${pluginId}/disable`), { status: 200 })
  await until(async () => (await database('tasks').where('id', taskId).first()).status === 'cancelled', 'it to be cancelled')
  t.ok(performance.now() - begun < 30_000)
  await rita('GET', 'plugins')
  await rita('POST', `plugins/${pluginId}/enable`)
  setAnswer({ value: { recommendations: [item('2', 1)] } })
  await get()
  t.equal((await settled()).recommendations[0]?.externalId, '2', 'the canceled run left nothing')
  t.equal((await database('recommendations').first()).failures, 0)
})

t.test('a user hears that a list is ready, or that it could not be made', async (t) => {
  const { renew, setAnswer, rita, settled, database, pluginId, userId } = await openRecommendationServer(t)
  const reader = await addCaller(database, { role: 'admin' })
  const [mine, others] = (await receiveEvents(t, database, [{ ...reader, userId }, reader])) as [{ type: string }[], { type: string }[]]
  const told = () => mine.filter(({ type }) => type === 'recommendations_updated')
  await renew([item('1', 1)])
  await until(async () => told().length === 1, 'the event of the list')
  t.same(told(), [{ type: 'recommendations_updated', pluginId }])
  setAnswer({ value: 'no list' })
  await rita('POST', 'recommendations/refresh')
  await settled()
  await until(async () => told().length === 2, 'the event of the failure')
  t.notOk(
    others.some(({ type }) => type === 'recommendations_updated'),
    'nobody else does',
  )
})

t.test('a list stays while no task runs, and an interrupted task runs again', async (t) => {
  const { rita, get, renew, setAnswer, closeNode, openNode, services, pluginId, database } = await openRecommendationServer(t)
  await renew([item('1', 1)])
  setAnswer({ value: { recommendations: [item('2', 1)], sleepMs: 60_000 } })
  const { taskId } = (await rita<{ taskId: string }>('POST', 'recommendations/refresh')).json
  await until(async () => (await get()).taskStatus === 'running', 'it to run')
  await closeNode()
  setAnswer({ value: { recommendations: [item('2', 1)] } })
  const next = await openNode()
  Object.assign(services, next.services)
  t.match(
    await get(),
    { cached: true, taskId, taskStatus: 'pending', recommendations: [{ externalId: '1' }] },
    'the last list is answered at once',
  )
  await next.services.tasks.start()
  await until(async () => (await get()).taskId === undefined, 'the task to end')
  t.match(await get(), { recommendations: [{ externalId: '2' }] })
  t.equal(
    await database('recommendations')
      .first()
      .then(({ failures }) => failures),
    0,
  )

  t.test('as does one whose server was killed', async (t) => {
    // What a killed server leaves: an active task that no living node runs. Until its lock is free, nobody takes the task over.
    const dying = await database.transaction()
    await dying.raw('SELECT pg_advisory_xact_lock(12345)')
    await database('task_workers').insert({ worker: 'dead', node_id: 'dead', node_lock: 12_345 })
    await database('tasks').where('id', taskId).update({ status: 'processing', completed_at: null, result: null, worker: 'dead' })
    setAnswer({ value: { recommendations: [item('3', 1)] } })
    t.match(await get(), { taskId, taskStatus: 'running', recommendations: [{ externalId: '2' }] })
    t.equal((await rita('POST', 'recommendations/refresh')).status, 409)
    await dying.commit()
    await until(async () => (await get()).taskId === undefined, 'it to be taken over')
    t.match(await get(), { recommendations: [{ externalId: '3' }] })
  })

  t.test('and an abandoned claim expires', async (t) => {
    await database('recommendations').update({ requested_at: new Date(), generated_at: null })
    t.equal((await get()).taskId, undefined, 'another request is about to add a task')
    await database('recommendations').update({ requested_at: new Date(Date.now() - 11_000) })
    t.type((await get()).taskId, 'string')
    t.type(pluginId, 'string')
    await until(async () => (await get()).taskId === undefined, 'the task to end')
  })
})

t.test('a plugin that its user must connect says so, and a service that rejects the credentials breaks the connection', async (t) => {
  const { rita, install, get, settled, setAnswer, database, host } = await openRecommendationServer(t)
  const auth = { type: 'apiKey', scope: 'user', bind: { host: 'api.example.org', header: 'Authorization', format: 'Bearer {token}' } }
  const main = `export default { recommendations: { async refresh(_, ctx) {
    if ((await ctx.auth.status()) === 'missing') throw Object.assign(new Error('Connect me first.'), { code: 'auth' })
    return ctx.http.json('https://api.example.org/list')
  } } }`
  const id = await install(
    { id: 'org.example.keyed', name: 'A keyed one', auth, capabilities: { recommendations: { methods: ['refresh'] } } },
    main,
  )
  const own = async () => (await rita('GET', `plugins/${id}`)).json
  await rita('GET', 'plugins')
  await rita('POST', `plugins/${id}/enable`)
  await get()
  t.match(await settled(), { pluginId: id, recommendations: [] })
  t.match((await rita('GET', `plugins/${id}/tasks`)).json, { status: 'failed', error: /Connect me first/ })
  t.match(await own(), { connected: false, healthStatus: 'unknown' }, 'no service has refused anything')
  t.match((await rita('POST', `plugins/${id}/credentials`, { accessToken: 'a-key-of-a-reader' })).json, { connected: true })
  t.type((await get()).taskId, 'string', 'the next request need not wait')
  t.equal((await settled()).recommendations.length, 1)

  setAnswer({ status: 401, value: {} })
  await rita('POST', 'recommendations/refresh')
  t.equal((await settled()).recommendations.length, 1, 'the last list stays')
  t.match(await own(), { connected: false, healthStatus: 'unhealthy' })
  t.match(await host.plugins.get(id), { state: 'enabled', breaker: null })
  setAnswer({ value: { recommendations: [] } })
  await rita('POST', 'recommendations/refresh')
  await settled()
  t.match(await own(), { connected: true }, 'a service that accepts the credentials again repairs it')
  t.equal((await database('recommendations').where('plugin_id', id).first()).failures, 0)
})

t.test('the next server continues the task of a killed one', onlyFull, async (t) => {
  const { rita, install, get, closeNode, openNode, services, database } = await openRecommendationServer(t)
  await closeNode()
  const main = `export default { recommendations: { async refresh(_, ctx) {
    const times = (await ctx.storage.get('times') ?? 0) + 1
    await ctx.storage.set('times', times)
    if (times === 1) await ctx.sleep(60_000)
    return { recommendations: [{ externalId: String(times), title: 't', score: 1, reason: 'r' }] }
  } } }`
  const id = await install(
    { id: 'org.example.slow', name: 'A slow one', capabilities: { recommendations: { methods: ['refresh'] } } },
    main,
  )
  await rita('GET', 'plugins')
  await rita('POST', `plugins/${id}/enable`)
  await database('recommendations').insert({
    ...{ plugin_id: id, generated_at: new Date(0), user_id: (await database('user_plugins').where('plugin_id', id).first()).user_id },
    items: JSON.stringify([item('old', 1)]),
  })
  const { taskId } = await get()
  const { connectionString: url } = (database.client.config.connection as () => { connectionString: string })()
  const script = fileURLToPath(new URL('../../support/recommend-child.ts', import.meta.url))
  const child = spawn(process.execPath, [script, url, ...SECRETS], { stdio: 'inherit' })
  t.teardown(() => child.kill('SIGKILL'))
  await until(() => database('plugin_storage').where('plugin_id', id).first(), 'the child to begin')
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.match(await get(), { taskId, recommendations: [{ externalId: 'old' }] }, 'the stored list is returned')
  const next = await openNode()
  Object.assign(services, next.services)
  await next.services.tasks.start()
  const list = await until(async () => {
    const now = await get()
    return now.taskId === undefined && now
  }, 'the next server to find it')
  t.match(list.recommendations, [{ externalId: '2' }])
  t.equal((await database('tasks').where('type', 'refresh_recommendations')).length, 1, 'as the same task')
})

t.test('text of a plugin that no column can store does no harm', async (t) => {
  const { rita, install, renew, database } = await openRecommendationServer(t)
  const odd = '\\u0000 \\ud800 \\u202e'
  const id = await install(
    { id: 'org.example.odd', name: 'Odd', capabilities: { recommendations: { methods: ['refresh'] } } },
    `let times = 0
     export default { recommendations: { async refresh(_, ctx) {
       ctx.progress(0.3, '${odd}')
       await ctx.sleep(700)
       if (times++ === 0) throw new Error('${odd}')
       return { recommendations: [{ externalId: '1', title: '${odd}', score: 1, reason: '${odd}', externalIds: { other: '${odd}' } },
         { externalId: '2', title: '${odd}', score: 1, reason: '${odd}' }] }
     } } }`,
  )
  await rita('GET', 'plugins')
  await rita('POST', `plugins/${id}/enable`)
  const query = `?pluginId=${id}`
  t.match(await renew([], query), { recommendations: [], cached: false })
  t.match((await rita('GET', `plugins/${id}/tasks`)).json, { status: 'failed', error: /"Odd" failed/ })
  t.match(await database('recommendations').where('plugin_id', id).first(), { failures: 1, last_error: /"Odd" failed/ })
  const { recommendations } = await renew([], query)
  t.match(recommendations, [{ externalId: '1' }, { externalId: '2' }])
  t.equal(recommendations.length, 2)
})
