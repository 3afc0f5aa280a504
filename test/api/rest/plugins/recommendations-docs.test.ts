import { readFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { PERMISSIONS, ROLE_PERMISSIONS } from '#core/account/permission.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { getBundledPlugin } from '#plugins/packages/bundled-plugins.ts'
import { openDocumentedServer } from '#test/support/documented-commands.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { PROVIDER, PROVIDER_MANIFEST } from '#test/support/matching-server.ts'
import { until } from '#test/support/user-plugin-server.ts'

t.setTimeout(60_000)

const RECOMMENDER = `export default { recommendations: { get: () => ({ recommendations: [
  { externalId: 'far', title: 'From far away', score: 0.5, reason: 'So.', basedOn: ['Berserk'] }] }) } }`
const RECOMMENDER_MANIFEST = {
  ...{ id: 'org.example.recommender', name: 'Recommender', permissions: {} },
  capabilities: { recommendations: { methods: ['get'] } },
  userConfig: { type: 'object', additionalProperties: false, properties: { maxRecommendations: { type: 'integer' } } },
}

t.test('every command of the page about recommendations, matching, jobs and exports does what the page says', async (t) => {
  const server = await openDocumentedServer(t, 'docs/recommendations.md')
  const { database, services, adminKey, type, install, folder } = server
  const reader = await server.signUp({ username: 'rita' })
  const KEY = await server.keyOf(reader.token, ROLE_PERMISSIONS.reader)
  const ended = (taskId: string) =>
    until(async () => {
      const task = await getTask(database, taskId)
      return task.status !== 'pending' && task.status !== 'processing' && task
    }, 'a task to end')
  const LIBRARY = await addLibrary(database)
  const SERIES = await addSeries(database, { library_id: LIBRARY, title: 'Berserk' })
  await addBook(database, { library_id: LIBRARY, series_id: SERIES, title: 'Berserk 1' })

  const recommender = await install(RECOMMENDER, RECOMMENDER_MANIFEST)
  await type('Enabling a plugin', { KEY, PLUGIN: recommender }, [
    { enabled: [], available: [{ pluginId: recommender }] },
    { enabled: true, connected: true },
  ])
  const { json: first } = await server.request<{ taskId: string; cached: boolean }>('GET', '/api/v1/user/recommendations', { token: KEY })
  t.match(first, { cached: false, recommendations: [], taskId: String }, 'empty the first time, with the task that makes it')
  t.match(await ended(first.taskId), { status: 'completed' })
  const [, refresh] = (await type('Getting recommendations', { KEY, PLUGIN: recommender }, [
    { cached: true, recommendations: [{ externalId: 'far', score: 0.5, reason: 'So.', basedOn: ['Berserk'], inService: false }] },
    { taskId: String },
    { taskType: 'refresh_recommendations' },
  ])) as [unknown, { taskId: string }]
  await ended(refresh.taskId)
  await type('Dismissing a recommendation', { KEY, PLUGIN: recommender }, [{ dismissed: true }])
  const { json: after } = await server.request<object>('GET', '/api/v1/user/recommendations', { token: KEY })
  t.match(after, { cached: true, recommendations: { length: 0 } })
  await type('Changing your settings', { KEY, PLUGIN: recommender }, [{ config: { maxRecommendations: 20 } }])

  const { plugin, sha256 } = await services.pluginLifecycle.install((await getBundledPlugin('anilist-recommendations')).bytes, {
    userId: null,
  })
  await services.pluginLifecycle.consent(plugin.id, { sha256 })
  await services.plugins.edit(plugin.id, { credentials: { clientId: 'ours', clientSecret: 'kept by us' } })
  await services.userPlugins.list(reader.id)
  await services.userPlugins.enable(reader.id, plugin.id)
  const [start] = (await type('Connecting an account', { KEY, PLUGIN: plugin.id }, [
    { redirectUrl: /^https:\/\/anilist\.co\// },
    { connected: true },
  ])) as [{ redirectUrl: string }]
  t.equal(
    new URL(start.redirectUrl).searchParams.get('redirect_uri'),
    `${server.url}/api/v1/user/plugins/oauth/callback`,
    'the address that the page has administrators register',
  )
  await type('Disabling a plugin', { KEY, PLUGIN: plugin.id }, [{ enabled: false }, ''])

  const PLUGIN = await install(PROVIDER, PROVIDER_MANIFEST)
  const given = { KEY: adminKey, PLUGIN, SERIES, LIBRARY }
  await type('Previewing changes', given, [
    { originalTitle: 'Berserk', searchTitle: 'Berserk' },
    { success: true, result: { results: [{ externalId: 'b1' }] } },
    { pluginName: 'Echo', summary: { locked: 0 } },
  ])
  const [, applied] = (await type('Applying', given, [
    { success: true, applicationId: null, dryRunReport: { changes: Array } },
    { success: true, appliedFields: { length: 2 } },
  ])) as [unknown, { applicationId: string }]
  const queued = { success: true, tasksEnqueued: 1 }
  const matched = (await type('Automatic matching', given, [{ success: true, skippedReason: null }, queued, queued, queued])) as {
    taskIds?: string[]
  }[]
  for (const taskId of new Set(matched.flatMap(({ taskIds = [] }) => taskIds))) t.match(await ended(taskId), { status: 'completed' })
  const [kept] = (await type('Undo', { ...given, APPLICATION: applied.applicationId }, [
    { applications: Array },
    { undoneFields: { length: 2 } },
  ])) as [{ applications: { id: string; fields: string[] }[] }]
  const own = kept.applications.find(({ id }) => id === applied.applicationId)
  t.same(own?.fields.toSorted(), ['summary', 'year'])
  await type('Configuring a provider', given, [
    { libraryIds: [LIBRARY], metadataTargets: ['summary', 'year', 'genres'], priority: 10, useExistingExternalId: true },
  ])

  const [, job] = (await type('Adding a job', given, [
    [{ id: 'identifiers' }],
    { name: 'Every Sunday', timezone: 'Europe/Berlin', nextRunAt: /^20/ },
  ])) as [unknown, { id: string }]
  const task = await services.libraryJobs.runNow(LIBRARY, job.id)
  await ended(task)
  const [, ran] = (await type('Testing and running a job', { ...given, JOB: job.id, TASK: task }, [
    { planFailure: null },
    { taskId: String },
    { status: 'completed' },
    { jobs: [{ id: job.id }] },
  ])) as [unknown, { taskId: string }]
  await ended(ran.taskId)
  await type('Changing and deleting a job', { ...given, JOB: job.id }, [{ enabled: false }, ''])

  const mine = { KEY, LIBRARY }
  const [, made] = (await type('Creating an export', mine, [
    { presets: { llmSelect: Array, llmSelectBooks: Array } },
    { format: 'csv', fields: ['series_name', 'title', 'authors', 'progress', 'user_rating'] },
  ])) as [unknown, { id: string; taskId: string }]
  await ended(made.taskId)
  await type('Downloading it', { ...mine, EXPORT: made.id }, [{ exports: [{ id: made.id }] }, { status: 'completed', rowCount: 1 }, '', ''])
  t.match(await readFile(path.join(folder, 'series.csv'), 'utf8'), /Berserk/)
  await server.checkComplete()
  t.ok(PERMISSIONS.includes('series-write') && PERMISSIONS.includes('books-write'), 'permissions that the page names')
})
