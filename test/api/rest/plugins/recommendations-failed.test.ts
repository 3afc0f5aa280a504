import t from 'tap'
import { eventAudience } from '#core/account/event-audience-query.ts'
import { PERMISSIONS } from '#core/account/permission.ts'
import { PRIVATE } from '#core/account/private-words.ts'
import type { CarrelEvent, NewAnnouncement } from '#core/events/event.ts'
import type { Follower } from '#core/events/stream.ts'
import { listTaskEvents } from '#core/tasks/task-event-query.ts'
import { getBundledPlugin } from '#plugins/packages/bundled-plugins.ts'
import { item, openRecommendationServer, type RecommendationList, until } from '#test/support/user-plugin-server.ts'

t.setTimeout(240_000)

interface Answer extends RecommendationList {
  lastError?: { code: string; message: string; at: string }
}

t.test('a run that failed shows to its reader until one succeeds', async (t) => {
  const { rita, settled, setAnswer, renew, get, database, pluginId } = await openRecommendationServer(t)
  const failed = async (): Promise<Answer> => {
    t.equal((await rita('POST', 'recommendations/refresh')).status, 202)
    return await settled()
  }
  t.notOk('lastError' in (await get()), 'while the first run goes on')
  t.notOk('lastError' in (await settled()), 'after one that went well')

  const before = Date.now()
  setAnswer({ status: 500, value: {} })
  const first = await failed()
  t.match(first, { cached: true, recommendations: [{ externalId: '1' }], lastError: { code: 'upstream', message: /Taste/ } })
  t.same(Object.keys(first.lastError ?? {}).toSorted(), ['at', 'code', 'message'])
  const at = Date.parse(first.lastError?.at ?? '')
  t.ok(at >= before - 1_000 && at <= Date.now() + 1_000)
  t.notOk('taskStatus' in first || 'taskId' in first)

  setAnswer({ status: 401, value: {} })
  t.match(await failed(), { lastError: { code: 'auth' } })
  setAnswer({ value: { recommendations: 'none' } })
  t.match(await failed(), { lastError: { code: 'invalid_result', message: /recommendations/ } }, 'the last failure')

  setAnswer({ value: { recommendations: [item('2', 1)], sleepMs: 3_000 } })
  await rita('POST', 'recommendations/refresh')
  const running: Answer = await get()
  t.match(running, { taskStatus: /pending|running/, lastError: undefined }, 'not while the next run goes on')
  t.notOk('lastError' in (await settled()), 'nor after it went well')

  setAnswer({ status: 500, value: {} })
  t.match(await failed(), { lastError: { code: 'upstream' } })
  await rita('PATCH', `plugins/${pluginId}/config`, { config: { maxRecommendations: 7 } })
  t.notOk('lastError' in (await get()), 'with another configuration it may work')

  await database('recommendations').update({ last_error: 'Taste could not do this', last_error_code: null, last_error_at: null })
  t.notOk('lastError' in (await get()), 'one of before says nothing, since nobody knows when it was')
  t.same((await renew([item('3', 1)])).recommendations.length, 1)
})

t.test('an item that does not fit is left out and logged, and the rest stays', async (t) => {
  const { renew, settled, setAnswer, rita, get, request, adminToken, pluginId } = await openRecommendationServer(t)
  const list = await renew([
    item('good', 0.9),
    item('no score', 0.8, { score: 'high' }),
    { externalId: 'no title', score: 1, reason: 'So.' },
    null,
    'text',
    item('also good', 0.7),
  ])
  t.same(
    list.recommendations.map(({ externalId }) => externalId),
    ['good', 'also good'],
  )
  t.notOk('lastError' in list)
  const { json } = await request<{ lines: { level: string; message: string; callId: string }[] }>(
    'GET',
    `/api/v1/admin/plugins/${pluginId}/logs`,
    { token: adminToken },
  )
  const said = json.lines.filter(({ level }) => level === 'warn')
  t.match(said, [{ message: PRIVATE, callId: String }], 'names of members may tell what the user has read')
  t.equal(said.length, 1, 'one line for all of them')

  // Long answers are read in a thread of their own.
  const long = Array.from({ length: 200 }, (_, at) => item(`n${at}`, 0.5, { summary: 'x'.repeat(1_000), ...(at === 5 && { title: null }) }))
  t.equal((await renew(long)).recommendations.length, 100)
  t.notOk((await get()).recommendations.some(({ externalId }) => externalId === 'n5'))

  setAnswer({ value: { recommendations: [item('x', 0.5, { score: 'high' }), null] } })
  await rita('POST', 'recommendations/refresh')
  t.match(
    await settled(),
    { lastError: { code: 'invalid_result', message: /score/ }, recommendations: { length: 100 } },
    'a list of which nothing fits takes the place of none',
  )
})

t.test('numbers may be any that the kit allows', async (t) => {
  const { renew } = await openRecommendationServer(t)
  const { recommendations } = await renew([
    item('1', 1, { startYear: 1999.6, totalVolumeCount: 12.4, totalChapterCount: 80.5, popularity: 3.7, rating: 81.5 }),
    item('2', 0.9, { startYear: 2e9, totalVolumeCount: -3, popularity: -1, rating: 1e3 }),
  ])
  t.match(recommendations, [
    { startYear: 2000, totalVolumeCount: 12, totalChapterCount: 80.5, popularity: 4, rating: 82 },
    { startYear: 9_999, totalVolumeCount: 0, popularity: 0, rating: 100 },
  ])
})

t.test('a test tool recommends only to those who name it', async (t) => {
  const { host, rita, get, settled, pluginId } = await openRecommendationServer(t)
  const { plugin, sha256 } = await host.pluginLifecycle.install((await getBundledPlugin('echo')).bytes, { userId: null })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  await rita('GET', 'plugins')
  t.equal((await rita('POST', `plugins/${plugin.id}/enable`)).status, 200)
  t.match(await settled(), { pluginId, pluginName: 'Taste' }, 'though Echo comes first by name')
  t.match(await get(`?pluginId=${plugin.id}`), { pluginName: 'Echo' })
  t.same((await rita('POST', `plugins/${pluginId}/disable`)).status, 200)
  for (const [method, path] of [
    ['GET', 'recommendations'],
    ['POST', 'recommendations/refresh'],
    ['POST', 'recommendations/1/dismiss'],
  ] as const)
    t.match(await rita(method, path), { status: 404, json: { error: 'not_found', message: /Echo.*pluginId/ } }, path)
  t.match(await settled(`?pluginId=${plugin.id}`), { pluginName: 'Echo', cached: true })
})

t.test('administrators see that a task of a user failed, and nothing that the plugin says in it', async (t) => {
  const { install, rita, userId, request, adminToken, settled, database } = await openRecommendationServer(t)
  const main = `export default { recommendations: {
    async refresh(_, ctx) {
      ctx.progress(0.5, 'rated eighty-seven')
      await ctx.sleep(3_000)
      throw new Error('rated eighty-seven \\u202e')
    },
    dismiss() {} } }`
  const query = `?pluginId=${await install({ id: 'org.example.words', name: 'Words' }, main)}`
  await rita('GET', 'plugins')
  await rita('POST', `plugins/${query.slice('?pluginId='.length)}/enable`)
  const { json } = await rita<{ taskId: string }>('POST', `recommendations/refresh${query}`)
  const audience = eventAudience(database)
  const follower = (id: string) => ({ userId: id, narrowedBy: null, permissions: new Set(PERMISSIONS) })
  const [admin] = await database('users').where({ role: 'admin' }).pluck('id')
  /** What both receive as an event, by its time. */
  const told = async () => {
    const [listed] = await listTaskEvents(database, [json.taskId])
    const { event, ...reach } = listed as NewAnnouncement
    const announcement = { ...reach, id: '1', event: { ...event, timestamp: new Date().toISOString() } as CarrelEvent }
    const followers: Follower[] = [admin, userId].map(follower)
    const decision = await audience.decide([announcement], followers)
    return followers.map((one) => JSON.stringify(decision.show(one, announcement)))
  }
  const shown: string[] = []
  const own: string[] = []
  await until(async () => {
    const paths = [`/api/v1/tasks/${json.taskId}`, '/api/v1/tasks']
    for (const path of paths) shown.push(JSON.stringify((await request('GET', path, { token: adminToken })).json))
    const [toAdmin = '', toUser = ''] = await told()
    shown.push(toAdmin)
    own.push(toUser)
    return toUser.includes('"failed"')
  }, 'the task to fail')
  t.notOk(shown.join().includes('eighty-seven'))
  t.ok(shown.join().includes(PRIVATE))
  t.ok(
    own.some((one) => one.includes('"progress"') && one.includes('eighty-seven')),
    'its user sees the progress',
  )
  t.match((await settled(query)) as object, { lastError: { message: /eighty-seven .*u202e/ } }, 'and why it failed, on one line')
})
