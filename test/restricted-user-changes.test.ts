import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { routes } from '#api/routes.ts'
import { withoutMoment } from '#test/support/answer-text.ts'
import { addWalker, openComposedServer, type Walker } from '#test/support/composed-server.ts'
import { textOf } from '#test/support/event-reading.ts'
import { addJob, addScan, addWorld, type Ids, namesOf, newIds, searchDuplicates } from '#test/support/hidden-worlds.ts'
import { enableKomga, KOMGA_NAMES } from '#test/support/komga-switch.ts'
import { someOf } from '#test/support/lane-size.ts'
import { METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST } from '#test/support/metadata-plugin.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { type BuiltRequest, buildRequest } from '#test/support/request-builder.ts'
import { unknownIds } from '#test/support/unknown-ids.ts'

/**
 * Everything that can be changed is changed on two servers: one has only what somebody may see, the other also a series that is hidden from them. They must
 * get the same from both: so no number of changed things, no refusal and no success tells of what is hidden.
 */

const WALKERS: readonly Walker[] = someOf(
  'users, of every role and with every kind of rule',
  [
    { role: 'maintainer', mode: 'deny' },
    { role: 'maintainer', mode: 'libraries', byKey: true },
    { role: 'admin', mode: 'deny' },
    { role: 'maintainer', mode: 'not_from' },
    { role: 'maintainer', mode: 'up_to', byKey: true },
    { role: 'reader', mode: 'allow' },
  ],
  2,
)

/** Stands in all texts of the hidden series. */
const SECRET = 'Zyxwvut'

/** What is not asked, with why. */
const LEFT_OUT: Record<string, string> = {
  'POST /api/v1/auth/logout': 'ends the session that asks',
  'POST /:prefix/api/logout': 'as above',
  'POST /:prefix/api/v1/logout': 'as above',
  'POST /api/v1/admin/plugin-repositories': 'asks the world outside',
  'POST /api/v1/genres/cleanup': 'for administrators: what only a hidden series has is in use, and stays',
  'POST /api/v1/tags/cleanup': 'as above',
  'DELETE /api/v1/tasks/nuke': 'for administrators: ends all tasks, and counts them',
  'DELETE /:prefix/api/v1/tasks': 'as above',
  'PUT /api/v1/user/password': 'ends the session that asks',
  'POST /api/v1/auth/change-password': 'as above',
}

t.setTimeout(480_000)

for (const walker of WALKERS)
  t.test(`changes by a ${walker.role} with the rule ${walker.mode}${walker.byKey ? ' of a key' : ''}`, async (t) => {
    const isElsewhere = walker.mode === 'libraries'
    const age = walker.mode === 'not_from' || walker.mode === 'up_to' ? 18 : 6
    const ids = { open: newIds({}), hidden: newIds({}) }
    if (!isElsewhere) Object.assign(ids.hidden, { libraryId: ids.open.libraryId, jobId: ids.open.jobId })
    const [without, beside] = await Promise.all([false, true].map((hides) => openWorld(t, { walker, ids, age, isElsewhere, hides })))
    if (!without || !beside) throw new Error('There are two servers.')
    let succeeded = 0
    for (const { label, request, method } of requestsOf(ids.open, walker)) {
      const answers = await Promise.all([without, beside].map(({ ask }) => ask(method, request)))
      const [one, other] = answers.map((text) => normal(text, ids))
      if (one?.startsWith('2')) succeeded++
      t.equal(other, one, label)
    }
    t.ok(succeeded > 40, `${succeeded} requests changed something`)
  })

interface Things {
  open: Ids
  hidden: Ids
}

async function openWorld(
  t: Test,
  { walker, ids, age, isElsewhere, hides }: { walker: Walker; ids: Things; age: number; isElsewhere: boolean; hides: boolean },
) {
  const { open, hidden } = ids
  const { folder, database, services, url } = await openComposedServer(t)
  await enableKomga(database)
  const root = join(folder, 'library')
  mkdirSync(join(root, 'Open Saga'), { recursive: true })
  await database('libraries').insert({ id: open.libraryId, name: 'Open', path: root })
  const tagIds = await namesOf(database, 'sharing_tags', ['open', 'kept away'])
  const genreIds = await namesOf(database, 'genres', ['Both', 'Secret'])
  const tagNameIds = await namesOf(database, 'tags', ['Both', 'Secret'])
  const tagId = tagIds[walker.mode === 'allow' ? 0 : 1]
  const user = await addWalker({ database, services }, { ...walker, tagId, libraries: [open.libraryId] })
  const { plugin, sha256 } = await services.pluginLifecycle.install(pluginOf(METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST), { userId: null })
  await services.pluginLifecycle.consent(plugin.id, { sha256 })
  const shared = { tagIds, genreIds, tagNameIds, userIds: [user.id] }
  await addJob(database, { ids: open, provider: plugin.key, message: '1 looked at' })
  await addWorld(database, { ids: open, word: 'Open', age: 6, shelves: null, carries: [0], sharingTag: 0, ...shared })
  await database('series').where('id', open.seriesId).update({ path: 'Open Saga' })
  if (hides) {
    if (isElsewhere) {
      await database('libraries').insert({ id: hidden.libraryId, name: SECRET, path: join(folder, SECRET) })
      await addJob(database, { ids: hidden, provider: plugin.key, message: SECRET })
      await addScan(database, hidden.libraryId)
    } else mkdirSync(join(root, SECRET))
    const sharingTag = age !== 6 ? 0 : 1
    await addWorld(database, { ids: hidden, word: SECRET, age, shelves: open, carries: [0, 1], sharingTag, ...shared })
    await database('series').where('id', hidden.seriesId).update({ path: SECRET })
    const place = join(isElsewhere ? join(folder, SECRET) : root, SECRET)
    const paths = database.raw(`? || '/' || file_name`, [place])
    await database('books').where('series_id', hidden.seriesId).update({ missing_why: 'withheld', path: paths })
  }
  await searchDuplicates(database)
  const ask = async (method: string, request: BuiltRequest) => {
    const answer = await fetch(url + request.path.replaceAll('PLUGIN', plugin.id), {
      method,
      headers: { authorization: `Bearer ${user.accessToken}`, 'accept-encoding': 'identity', ...request.headers },
      ...(request.body !== undefined && {
        body: typeof request.body === 'string' ? request.body.replaceAll('PLUGIN', plugin.id).replaceAll('FOLDER', folder) : request.body,
      }),
      redirect: 'manual',
    })
    return `${answer.status} ${withoutMoment(await textOf(answer))}`.replaceAll(folder, 'FOLDER')
  }
  return { ask }
}

/** The same for both servers, as far as their plugins have the same id. */
function* requestsOf(open: Ids, { role }: Walker): Generator<{ label: string; method: string; request: BuiltRequest }> {
  const bare = (method: string, path: string) => ({ label: `${method} ${path}`, method, request: { path, headers: {}, echoes: false } })
  const scan = `/api/v1/libraries/${open.libraryId}/scan`
  for (const path of ['.', 'Open Saga', SECRET, `${SECRET}/${SECRET} One.cbz`, 'nothing'])
    yield bare('POST', `${scan}?path=${encodeURIComponent(path)}`)
  for (const folder of ['.', SECRET, 'nothing']) yield bare('POST', `${scan}?confirm=${encodeURIComponent(folder)}`)
  // Administrators change their own rules anyway.
  if (role !== 'admin') yield* ofFolders(open)
  yield bare('GET', '/api/v1/duplicates')
  yield bare('POST', `/api/v1/series/${open.seriesId}/scan`)
  yield bare('DELETE', '/api/v1/user/readings?from=2000-01-01')
  const known = { ...unknownIds(), ...KOMGA_NAMES, ...open, ...OTHERS, userId: randomUUID(), sharingTagId: open.tagId }
  const of = (method: string) => routes.filter((route) => route.method === method && !(`${method} ${route.path}` in LEFT_OUT))
  // What everything else is in is deleted last.
  const isWhole = ({ path }: { path: string }) => Number(/\/(books|series|libraries)\/:\w+$/.test(path))
  const deletes = of('DELETE').toSorted((a, b) => isWhole(a) - isWhole(b))
  for (const route of [...of('PATCH'), ...of('POST'), ...of('PUT'), ...deletes]) {
    const pluginId = /\/(admin|user)\//.test(route.path) ? randomUUID() : 'PLUGIN'
    const request = buildRequest(route, { ...known, pluginId })
    if ('unknown' in request) throw new Error(`${route.method} ${route.path}: nobody knows how to fill ${request.unknown}`)
    yield { label: `${route.method} ${route.path}`, method: route.method, request }
    // What was done is counted here.
    if (/\/(bulk|purge|retry|jobs|scan|analy|titles|renumber|metadata$)/.test(route.path)) yield bare('GET', '/api/v1/tasks/stats')
  }
}

/** What the answers would tell of files and folders. */
function* ofFolders({ libraryId }: Ids): Generator<{ label: string; method: string; request: BuiltRequest }> {
  const headers = { 'content-type': 'application/json' }
  const of = (method: string, path: string, body: object) => {
    const text = JSON.stringify(body)
    return { label: `${method} ${path} ${text}`, method, request: { path, headers, body: text, echoes: false } }
  }
  const library = `/api/v1/libraries/${libraryId}`
  for (const query of ['?dryRun=true', '']) {
    for (const seriesStrategy of ['flat', 'series_volume_chapter']) yield of('PATCH', `${library}${query}`, { seriesStrategy })
    for (const pattern of [`^${SECRET}/(?<series>.*)`, `(?<series>${SECRET}[^/]*)`])
      yield of('PATCH', `${library}${query}`, { seriesStrategy: 'custom', seriesConfig: { pattern } })
  }
  for (const path of [`FOLDER/${SECRET}`, `FOLDER/library/${SECRET}`, 'FOLDER/nothing']) {
    yield of('POST', '/api/v1/libraries/preview-scan', { path })
    yield of('POST', '/api/v1/libraries', { name: 'New', path })
    yield of('PATCH', library, { path })
  }
}

/** Of no series. */
const OTHERS = {
  pageNumber: 1,
  page: 1,
  key: 'application.name',
  document: 'c'.repeat(32),
  sha256: 'a'.repeat(64),
  resourcePath: 'x',
  duplicateId: randomUUID(),
  query: 'saga',
  seriesTitle: 'Open Saga',
}

/** An answer without what differs between two servers: ids and hashes that this test has not chosen, times, and tokens. */
const normal = (text: string, { open, hidden }: Things) => {
  const known = new Set([...Object.values(open), ...Object.values(hidden)])
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, (id) => (known.has(id) ? id : '<id>'))
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/[0-9a-f]{64}|[0-9a-f]{32}/g, (hash) => (/^(.)\1+$/.test(hash) ? hash : '<hash>'))
    .replaceAll(/"(durationMs|latencyMs|oldestPendingAgeMs|key|keyPrefix|accessToken|refreshToken|expiresIn|etag)":"?[^",}]*"?/g, '<$1>')
}
