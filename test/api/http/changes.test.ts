import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import t from 'tap'
import { changesOf, READING } from '#api/http/changes.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { routes } from '#api/routes.ts'
import { PERMISSIONS, ROLE_PERMISSIONS } from '#core/account/permission.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { textOf } from '#test/support/event-reading.ts'
import { enableKomga, KOMGA_NAMES } from '#test/support/komga-switch.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST } from '#test/support/metadata-plugin.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { type BuiltRequest, buildRequest, type KnownValues } from '#test/support/request-builder.ts'
import { unknownIds } from '#test/support/unknown-ids.ts'

t.setTimeout(240_000)

/** What the server writes on its own, or to remember what it has computed or who was there. */
const UNRELATED =
  /^(health_probe|kept_numbers|kept_number_changes|series_totals|series_numbers|series_numbers_due|series_reading|series_reading_due|task_workers|task_metrics|known_devices|sessions|app_sessions|refresh_tokens)$/
/** Reading every table takes longer than some requests together. */
const COMPARED = 20
/** Settings that are read for the first time get their rows. */
const LAZY = /^chosen_settings$/

/** A digest of every table. */
async function contentOf(database: Knex): Promise<Record<string, string>> {
  const { rows } = await database.raw(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`)
  const tables = (rows as { tablename: string }[])
    .map(({ tablename }) => tablename)
    .filter((name) => !UNRELATED.test(name) && !LAZY.test(name))
  const digests = tables.map(async (name) => {
    const row = name === 'api_keys' ? `to_jsonb(x) - 'last_used_at'` : 'to_jsonb(x)'
    const { rows: found } = await database.raw(
      `SELECT md5(coalesce(string_agg((${row})::text, ',' ORDER BY x::text), '')) AS digest FROM ?? AS x`,
      [name],
    )
    return [name, found[0].digest] as const
  })
  return Object.fromEntries(await Promise.all(digests))
}

t.test('the permissions that only read are those that say so', async (t) => {
  t.same([...READING].sort(), PERMISSIONS.filter((permission) => permission.endsWith('-read') || permission === 'system-health').sort())
  t.ok(ROLE_PERMISSIONS.reader.includes('progress-write'), 'readers still rate and export')
})

t.test('a route that changes something with a permission that reads is refused at the start', async (t) => {
  const endpoint = endpointOf<object>()
  const about = { path: '/x', summary: '', tag: '', run: async () => undefined }
  const no = /needs a permission that allows changes/
  t.throws(() => changesOf(endpoint({ ...about, method: 'POST', allow: { who: 'books-read' } })), no)
  t.throws(() => changesOf(endpoint({ ...about, method: 'DELETE', allow: { who: 'series-read', also: ['progress-read'] } })), no)
  t.throws(() => changesOf(endpoint({ ...about, method: 'PUT', allow: { who: 'series-read' }, changes: 'ratings' })), no)
  t.throws(() => changesOf(endpoint({ ...about, method: 'GET', allow: { who: 'series-read' }, changes: 'ratings' })), no)
  t.throws(() => changesOf(endpoint({ ...about, method: 'POST', allow: { who: 'user' } })), no, 'nor without a word about what it changes')
  t.equal(changesOf(endpoint({ ...about, method: 'POST', allow: { who: 'books-read' }, changes: null })), null)
  t.match(changesOf(endpoint({ ...about, method: 'PUT', allow: { who: 'series-read', also: ['progress-write'] } })), /ratings/)
})

t.test('a key that may only read changes nothing, on no route', async (t) => {
  const { database, services, url, folder } = await openComposedServer(t)
  await enableKomga(database)
  const libraryId = await addLibrary(database, { path: folder })
  const seriesId = await addSeries(database, { library_id: libraryId, title: 'Saga' })
  const file = { page_count: 1, page_source: 'zip', reader_hash: 'b'.repeat(32) }
  const bookId = await addBook(database, { library_id: libraryId, series_id: seriesId, title: 'One', number: 1, ...file })
  const [genre] = await database('genres').insert({ name: 'Fantasy', name_key: 'fantasy' }, 'id')
  await database('series_genres').insert({ series_id: seriesId, genre_id: genre.id })
  const [collection] = await database('collections').insert({ name: 'Some' }, 'id')
  await database('collection_series').insert({ collection_id: collection.id, series_id: seriesId, position: 0 })
  const [readList] = await database('read_lists').insert({ name: 'Some' }, 'id')
  await database('read_list_books').insert({ read_list_id: readList.id, book_id: bookId, position: 0 })
  const { plugin, sha256 } = await services.pluginLifecycle.install(pluginOf(METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST), { userId: null })
  await services.pluginLifecycle.consent(plugin.id, { sha256 })
  const password = 'a long enough password'
  const { id: userId } = await services.accounts.createUser({ username: 'mia', password, email: 'mia@example.org', role: 'admin' }, null)
  const { accessToken } = await services.accounts.login({ username: 'mia', password, address: '127.0.0.1' })
  const person = (await services.accounts.callers.ofToken(accessToken, 'token'))!
  await services.userPlugins.list(userId)
  await services.userPlugins.enable(userId, plugin.id)
  await database('series_user_ratings').insert({ series_id: seriesId, user_id: userId, rating: 50 })
  await database('want_to_read').insert({ series_id: seriesId, user_id: userId })
  await database('read_progress').insert({ user_id: userId, book_id: bookId, current_page: 1 })
  const made = { format: 'json', export_type: 'series', library_ids: [libraryId], fields: ['title'], book_fields: [], status: 'completed' }
  const [stored] = await database('series_exports').insert(
    { user_id: userId, ...made, expires_at: new Date(Date.now() + 86_400_000) },
    'id',
  )
  const { key } = await services.accounts.createApiKey({ name: 'a look', permissions: [...READING] }, person)
  const names: KnownValues = {
    ...KOMGA_NAMES,
    ...{ bookId, seriesId, libraryId, collectionId: collection.id, readListId: readList.id, genreId: genre.id, key: 'application.name' },
    ...{ coverId: randomUUID(), tagId: randomUUID(), sharingTagId: randomUUID(), taskId: randomUUID(), jobId: randomUUID() },
    ...{
      userId,
      duplicateId: randomUUID(),
      applicationId: randomUUID(),
      pageNumber: 1,
      page: 1,
      document: 'b'.repeat(32),
      sha256: 'a'.repeat(64),
    },
    ...{ resourcePath: 'OPS/c1.xhtml', seriesTitle: 'Saga', ...unknownIds(), pluginId: plugin.id, exportId: stored.id },
  }
  let before = await contentOf(database)
  let reads = 0
  const asked: string[] = []
  for (const route of routes) {
    const name = `${route.method} ${route.path}`
    const request = buildRequest(route, names)
    if ('unknown' in request) throw new Error(`${name}: no value for ${request.unknown}`)
    const { path, headers, body } = request as BuiltRequest
    const answer = await fetch(url + path, {
      method: route.method,
      headers: { ...headers, authorization: `Bearer ${key}` },
      redirect: 'manual',
      ...(body !== undefined && { body }),
    })
    const text = await textOf(answer)
    const isOpen = route.allow.who === 'public' || route.allow.who === 'user'
    if (!isOpen && changesOf(route) !== null) t.equal(answer.status, 403, `${name} changes ${changesOf(route)}: ${text.slice(0, 200)}`)
    else if (answer.status < 400) reads++
    asked.push(`${name} → ${answer.status}`)
    if (asked.length < COMPARED && route !== routes.at(-1)) continue
    const after = await contentOf(database)
    t.same(after, before, `nothing is changed by one of: ${asked.join(', ')}`)
    before = after
    asked.length = 0
  }
  t.ok(reads > 120, `${reads} routes can be read`)
})
