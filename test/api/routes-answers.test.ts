import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import t, { test } from 'tap'
import { openComposition } from '#api/compose.ts'
import type { Route } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'
import { routes } from '#api/routes.ts'
import { Server } from '#api/server.ts'
import { coverPath } from '#core/covers/cover.ts'
import { silentLog } from '#core/foundation/log.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { publicKeyText } from '#plugins/packages/plugin-package.ts'
import { complaintsOf } from '#test/support/answer-check.ts'
import { openProtocols } from '#test/support/composed-server.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { complaintsOfReader } from '#test/support/document-check.ts'
import { findExpectedShape, patternsOfOwn, routesOfTables, shapeComplaints } from '#test/support/expected-shapes.ts'
import { findInterfaceReference, nameOfRoute, readType } from '#test/support/interface-reference.ts'
import { enableKomga, KOMGA_NAMES } from '#test/support/komga-switch.ts'
import { comic } from '#test/support/library-fixture.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST } from '#test/support/metadata-plugin.ts'
import { entryOf, filesOf, indexOf, newKey, openRepositoryServer, REPOSITORY_URL } from '#test/support/plugin-repository.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { REFUSED } from '#test/support/refused-answers.ts'
import { type BuiltRequest, buildRequest, type KnownValues } from '#test/support/request-builder.ts'
import { ADMIN, TEST_PASSWORD_COST, testSettings } from '#test/support/server.ts'
import { GIF } from '#test/support/shelves.ts'

/**
 * Every route is asked once for something that is there, and must answer what it has promised. A new route that the walk cannot make answer
 * fails, until the tables here say what it needs.
 */

const placeNow = () => ({
  modified: new Date().toISOString(),
  device: { id: 'shelf', name: 'Shelf' },
  locator: { href: 'pages/1', type: 'image/gif', locations: { position: 1 } },
})

/** What a route needs in its body beyond what its schema tells. */
const BODIES: Record<string, (names: KnownValues) => object> = {
  'POST /api/v1/auth/login': () => ({ username: ADMIN.username, password: ADMIN.password }),
  'POST /api/v1/auth/refresh': ({ refreshToken }) => ({ refreshToken }),
  'POST /api/v1/libraries': ({ otherFolder }) => ({ name: 'Other', path: otherFolder }),
  'POST /api/v1/libraries/preview-scan': ({ newFolder }) => ({ path: newFolder }),
  'POST /api/v1/tasks': ({ seriesId }) => ({ taskType: { type: 'renumber_series', seriesId } }),
  'PUT /api/v1/admin/settings/:key': () => ({ value: 'Reading room' }),
  'POST /api/v1/admin/settings/bulk': () => ({ updates: [{ key: 'application.name', value: 'Reading room' }] }),
  'POST /api/v1/admin/plugins/:pluginId/consent': ({ sha256 }) => ({ sha256 }),
  'POST /api/v1/admin/plugin-repositories': () => ({ url: REPOSITORY_URL, publicKey: publicKeyText(PUBLISHER) }),
  'PATCH /api/v1/admin/plugin-repositories/:repositoryId': () => ({ enabled: true }),
  'POST /api/v1/admin/plugin-repositories/:repositoryId/install': () => ({ pluginId: OFFERED.id }),
  'POST /api/v1/libraries/:libraryId/jobs': ({ name }) => ({ config: { type: 'metadata_refresh', provider: name } }),
  'POST /api/v1/plugins/:pluginId/execute': () => ({
    action: { metadata: { action: 'search', contentType: 'series', params: { query: 'Saga' } } },
  }),
  'PUT /api/v1/books/:bookId/progression': placeNow,
  'PUT /:prefix/api/v1/books/:bookId/progression': placeNow,
  'PUT /opds/v2/books/:bookId/progression': placeNow,
  // What was added before stays.
  'POST /api/v1/series/:seriesId/genres': () => ({ name: 'Fantasy' }),
  'PUT /api/v1/series/:seriesId/genres': () => ({ genres: ['Fantasy'] }),
  'POST /api/v1/series/:seriesId/tags': () => ({ name: 'Space' }),
  'POST /api/v1/books/:bookId/genres': () => ({ name: 'Fantasy' }),
  'PUT /api/v1/books/:bookId/genres': () => ({ genres: ['Fantasy'] }),
  'POST /api/v1/books/:bookId/tags': () => ({ name: 'Space' }),
  'PUT /api/v1/books/:bookId/tags': () => ({ tags: ['Space'] }),
  'PUT /api/v1/series/:seriesId/tags': () => ({ tags: ['Space'] }),
  'PUT /api/v1/series/:seriesId/sharing-tags': ({ sharingTagId }) => ({ sharingTagIds: [sharingTagId] }),
  'PUT /api/v1/books/:bookId/progress': () => ({ currentPage: 1 }),
  'PATCH /:prefix/api/v1/books/:bookId/read-progress': () => ({ page: 1 }),
  'POST /api/v1/books/:bookId/external-links': ({ source }) => ({ source, url: 'https://example.org/1' }),
  'POST /api/v1/series/:seriesId/external-links': ({ source }) => ({ source, url: 'https://example.org/1' }),
  'POST /api/v1/series/:seriesId/external-ratings': ({ source }) => ({ source, rating: 80 }),
}

/** What a repository offers. */
const OFFERED = { ...METADATA_PLUGIN_MANIFEST, id: 'org.example.offered' }
const PUBLISHER = newKey()

/** A plugin for readers, who sign in at its service. */
const READER_PLUGIN = `export default { recommendations: { get: () => ({ recommendations: [] }) } }`
const READER_MANIFEST = {
  id: 'org.example.reader',
  capabilities: { recommendations: { methods: ['get'] } },
  auth: {
    type: 'oauth2',
    scope: 'user',
    bind: { host: 'api.example.org', header: 'Authorization', format: 'Bearer {token}' },
    oauth2: { authorizeUrl: 'https://login.example.org/', tokenUrl: 'https://login.example.org/token' },
  },
}

const APP_COVERS = ['books/:bookId', 'series/:seriesId', 'collections/:collectionId', 'readlists/:readListId']
/** What the id in an answer, or of what stands in it, is the id of. */
const MAKES: Record<string, string> = {
  'POST /:prefix/api/v1/users': 'appUserId',
  'POST /:prefix/api/v1/users/me/api-keys': 'appKeyId',
  ...Object.fromEntries(APP_COVERS.map((at) => [`POST /:prefix/api/v1/${at}/thumbnails`, at])),
  'POST /:prefix/api/v1/collections': 'appCollectionId',
  'POST /:prefix/api/v1/readlists': 'appReadListId',
  'POST /api/v1/users': 'userId',
  'POST /api/v1/api-keys': 'apiKeyId',
  'POST /api/v1/libraries': 'otherLibraryId',
  'POST /api/v1/collections': 'collectionId',
  'POST /api/v1/read-lists': 'readListId',
  'POST /api/v1/admin/sharing-tags': 'sharingTagId',
  'POST /api/v1/series/:seriesId/alternate-titles': 'titleId',
  'POST /api/v1/series/:seriesId/external-ids': 'seriesExternalIdId',
  'POST /api/v1/books/:bookId/external-ids': 'bookExternalIdId',
  'POST /api/v1/series/:seriesId/genres': 'genreId',
  'POST /api/v1/series/:seriesId/tags': 'plainTagId',
  'POST /api/v1/series/:seriesId/metadata/apply': 'seriesApplicationId',
  'POST /api/v1/books/:bookId/metadata/apply': 'bookApplicationId',
  'POST /api/v1/libraries/:libraryId/jobs': 'jobId',
  'POST /api/v1/admin/plugin-repositories': 'repositoryId',
  'POST /api/v1/books/:bookId/cover': 'bookCoverId',
  'POST /api/v1/series/:seriesId/cover': 'seriesCoverId',
}

/** Its task is the one that is looked at, canceled and started once more. */
const TASK_MADE_BY = '/api/v1/books/:bookId/analyze'
/** What the same name stands for on some routes only. */
function meant(path: string, names: KnownValues): KnownValues {
  const of = (name: string) => names[name] as string
  return {
    ...names,
    // Page streaming counts from 0.
    ...(path.startsWith('/opds/books/') && { pageNumber: 0 }),
    ...(path.startsWith('/:prefix/') && { apiKeyId: of('appKeyId'), collectionId: of('appCollectionId'), readListId: of('appReadListId') }),
    ...(/\/covers\//.test(path) && { coverId: of(path.includes('/books/') ? 'bookCoverId' : 'seriesCoverId') }),
    ...(/^\/:prefix\/.*:userId/.test(path) && { userId: of('appUserId') }),
    ...(/\/thumbnails\//.test(path) && { coverId: of(path.slice('/:prefix/api/v1/'.length).split('/thumbnails/')[0] as string) }),
    ...(/external-ids/.test(path) && { externalIdId: of(path.includes('/books/') ? 'bookExternalIdId' : 'seriesExternalIdId') }),
    ...(/applications/.test(path) && { applicationId: of(path.includes('/books/') ? 'bookApplicationId' : 'seriesApplicationId') }),
    ...(/analyze-unanalyzed$/.test(path) && { bookId: of('newBookId') }),
    ...(path.includes('/bundled-plugins/') && { name: 'open-library' }),
    ...(path.includes('/user/plugins/') && { pluginId: of('readerPluginId') }),
    ...(/:tagId/.test(path) && { tagId: of(path.includes('sharing-tags') ? 'sharingTagId' : 'plainTagId') }),
  }
}

/** Makes what others need; asks; reads; changes; takes away, the whole library last and the session after it. */
function ordered(all: readonly Route<Services>[]): Route<Services>[] {
  const rank = ({ method, path }: Route<Services>) => {
    if (path.endsWith('/logout')) return 9
    // These take away what others look at.
    if (/\/(cleanup|reset)$/.test(path) || (method === 'DELETE' && path.endsWith('/metadata'))) return 7.5
    if (method === 'DELETE' && path.endsWith('/:pluginId')) return 7.6
    if (method === 'DELETE' && path.endsWith('/:coverId')) return 5
    if (method === 'DELETE') return path.endsWith('/:libraryId') ? 8 : path.split('/').length < 6 || path.includes('/admin/') ? 7 : 6
    if (/\/(unread|disable)$/.test(path) || (method === 'POST' && path.includes('/tasks/'))) return 5
    if (`${method} ${path}` in MAKES) return path.includes(':') ? 2 : 1
    return method === 'GET' ? 4 : 3
  }
  return all.toSorted((a, b) => rank(a) - rank(b))
}

t.setTimeout(480_000)

test('for every route it is known who has promised what of its answer', async (t) => {
  const reference = findInterfaceReference()
  const names = new Set(routes.map((route) => nameOfRoute(route.method, route.path)))
  for (const { method, path, kind, ...route } of routes) {
    const label = `${method} ${path}`
    if (kind === 'endpoint' && 'reply' in route && route.reply) {
      const promised = findExpectedShape(method, path, reference)
      t.not(promised.by, 'nobody', `${label}: map it to a shape of the contract, or list it among our own with a reason`)
      if (promised.by === 'others' && promised.type) t.ok(reference.check(promised.type, 0).length > 0, `${label}: ${promised.type} bites`)
    }
  }
  for (const name of routesOfTables()) t.ok(names.has(name), `${name} is a route`)
  for (const pattern of patternsOfOwn())
    t.ok(
      [...names].some((name) => pattern.test(name)),
      `${pattern} meets a route`,
    )
  const wrong = shapeComplaints({ method: 'GET', path: '/api/v1/series/:seriesId/genres', full: false, json: { genres: [{ id: 'x' }] } })
  t.match(wrong.join(), /genres\/0 must have required property 'name'/, 'what is missing is told')
  t.throws(() => readType('{ name string }'), /: is expected/)
  t.throws(() => readType('string string'), /is not expected/)
  t.throws(() => readType('map<;>'), /is not a type/)
})

test('every route answers what it has promised', { timeout: 480_000 }, async (t) => {
  const room = mkdtempSync(join(tmpdir(), 'carrel-answers-'))
  const folder = join(room, 'data') // a library may not lie in it
  mkdirSync(folder)
  const { database } = await openTestDatabase(t, { poolMax: 10 })
  await database('chosen_settings').insert({ key: 'progress.shown_to_administrators', value: 'true' })
  const offered = pluginOf(METADATA_PLUGIN, OFFERED)
  const index = filesOf(indexOf({ plugins: [entryOf([offered])] }), PUBLISHER, { '1.0.0': offered })
  const egress = new HttpsEgress((await openRepositoryServer(t, index)).way)
  const settings = testSettings({ dataFolder: folder })
  const { services, close } = await openComposition({ settings, log: silentLog, database, passwordCost: TEST_PASSWORD_COST, egress })
  const server = new Server(services)
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(async () => {
    await server.close({ deadlineMs: 500 })
    await close()
    rmSync(room, { recursive: true, force: true })
  })

  const setup = await fetch(`${url}/api/v1/setup/initialize`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ADMIN),
  })
  const initialized = { method: 'POST', path: '/api/v1/setup/initialize', status: setup.status, json: await setup.json() }
  t.same([setup.status, complaintsOf(initialized)], [200, []], 'the first administrator')
  const session = await services.accounts.login({ username: ADMIN.username, password: ADMIN.password, address: '127.0.0.1' })

  await openProtocols(database)

  const path = join(room, 'library', 'Saga', 'Saga 1.cbz')
  const [otherFolder, newFolder] = ['other', 'new'].map((name) => join(room, name)) as [string, string]
  for (const made of [dirname(path), otherFolder, newFolder]) mkdirSync(made, { recursive: true })
  writeFileSync(path, comic('answers'))
  const libraryId = await addLibrary(database, { path: join(room, 'library') })
  const seriesId = await addSeries(database, { library_id: libraryId, path: 'Saga', title: 'Saga' })
  const book = { library_id: libraryId, series_id: seriesId, page_count: 1, page_source: 'zip' }
  const { size, mtimeNs } = statSync(path, { bigint: true })
  const document = 'a'.repeat(32)
  const file = { path, file_name: 'Saga 1.cbz', reader_hash: document, file_size: String(size), file_mtime_ns: String(mtimeNs) }
  const bookId = await addBook(database, { ...book, ...file, title: 'Saga 1', number: 1, cover_hash: 'c0ffee' })
  await addBook(database, { ...book, title: 'Saga 2', number: 2 })
  const newBookId = await addBook(database, { ...book, title: 'Saga 3', state: 'pending', analyzed_at: null })
  const { file_hash } = await database('books').where('id', bookId).first('file_hash')
  await database('books').where('id', newBookId).update({ file_hash })
  const [{ id: duplicateId }] = await database('duplicate_groups').insert({ file_hash, book_count: 2 }, 'id')
  const page = {
    ...{ name: '1.gif', mediaType: 'image/gif', width: 1, height: 1, bytes: GIF.length },
    zip: { offset: 35, compressedBytes: GIF.length, method: 0, crc32: crc32(GIF) },
  }
  await database('book_pages').insert({ book_id: bookId, pages: JSON.stringify([page]) })
  await database('book_errors').insert({ book_id: bookId, error_type: 'metadata', message: 'is bad', fatal: false })
  mkdirSync(dirname(coverPath(folder, bookId)), { recursive: true })
  writeFileSync(coverPath(folder, bookId), GIF)

  // Two versions: one to go back to.
  for (const version of ['1.0.0', '1.1.0']) {
    const bytes = pluginOf(METADATA_PLUGIN, { ...METADATA_PLUGIN_MANIFEST, version })
    const installed = await services.pluginLifecycle.install(bytes, { userId: null })
    await services.pluginLifecycle.consent(installed.plugin.id, { sha256: installed.sha256 })
  }
  const plugin = (await services.plugins.list())[0]!

  const exportId = randomUUID()
  await database('series_exports').insert({
    ...{ id: exportId, task_id: exportId },
    user_id: (await database('users').first('id')).id,
    ...{ format: 'csv', export_type: 'series', library_ids: [libraryId], fields: ['series_name'], book_fields: [], status: 'completed' },
    expires_at: new Date(Date.now() + 3_600_000),
  })
  mkdirSync(join(folder, 'exports'), { recursive: true })
  writeFileSync(join(folder, 'exports', `${exportId}.csv`), 'series_name\r\n')

  const reader = (await services.pluginLifecycle.install(pluginOf(READER_PLUGIN, READER_MANIFEST), { userId: null })).plugin
  await services.pluginLifecycle.consent(reader.id, { sha256: reader.sha256 })
  await services.plugins.edit(reader.id, { credentials: { clientId: 'carrel', clientSecret: 'secret' } })

  const item = {
    ...{ externalId: '1', title: 'A series', score: 0.5, reason: 'So.', basedOn: ['Saga'], summary: 'Words', genres: ['Space'] },
    ...{
      tags: [{ name: 'Ships', category: 'Theme', rank: 90 }],
      externalUrl: 'https://example.org/1',
      coverUrl: 'https://example.org/1.jpg',
    },
    ...{ status: 'ongoing', format: 'manga', countryOfOrigin: 'JP', startYear: 1999, rating: 90, popularity: 5, totalVolumeCount: 3 },
    ...{ totalChapterCount: 12.5, inLibrary: true },
  }
  const { id: userId } = await database('users').first('id')
  const list = { plugin_id: reader.id, user_id: userId, items: JSON.stringify([item]), generated_at: new Date() }
  await database('recommendations').insert(list)

  await enableKomga(database)
  await database('chosen_settings').insert({ key: 'apiDocs.enabled', value: 'true' }).onConflict('key').merge()
  const names: KnownValues = {
    ...KOMGA_NAMES,
    ...{ readerPluginId: reader.id, annotationId: randomUUID(), externalId: '1', exportId },
    pluginId: plugin.id,
    name: plugin.key,
    sha256: plugin.sha256,
    libraryId,
    seriesId,
    bookId,
    newBookId,
    otherFolder,
    newFolder,
    duplicateId,
    pageNumber: 1,
    resourcePath: 'OPS/c1.xhtml',
    document,
    source: 'mal',
    key: 'application.name',
    seriesTitle: 'Saga',
    ...{ refreshToken: session.refreshToken, token: 'of-no-picture' },
  }
  let token = session.accessToken
  for (const route of ordered(routes)) {
    const label = `${route.method} ${route.path}`
    if (label === 'POST /api/v1/setup/initialize') continue
    const request = buildRequest(route, meant(route.path, names))
    if ('unknown' in request) {
      t.fail(`${label}: the walk does not know how to fill ${request.unknown}`)
      continue
    }
    const answer = await fetch(url + request.path, asked(route, request))
    // Events never end: that they begin is their answer.
    const isEndless = route.kind === 'stream' && route.mediaTypes.includes('text/event-stream')
    if (isEndless) await answer.body?.cancel()
    const text = isEndless ? '' : await answer.text()
    const json = (answer.headers.get('content-type') ?? '').startsWith('application/json') ? JSON.parse(text) : undefined
    const said = `${label} → ${answer.status}`
    const refused = REFUSED[label]
    if (refused !== undefined) {
      t.equal(answer.status, refused, said)
      continue
    }
    if (answer.ok) t.same(complaintsOf({ ...route, path: request.path, status: answer.status, json }), [], said)
    if (answer.ok) t.same(await complaintsOfReader(route, { answer, text, asked: asked(route, request) }), [], `${said}, read strictly`)
    if (!answer.ok) t.fail(`${said} ${text.slice(0, 300)}`)
    if (route.kind === 'endpoint') {
      const declared = [route.status ?? 200, ...(route.mayCreate ? [201] : []), ...(route.mayBeEmpty ? [204] : [])]
      t.ok(declared.includes(answer.status as 200), `${label} has a status that it declares: ${answer.status}`)
    }
    const location = answer.headers.get('location')
    if (answer.status === 201 && hasOwnAddress(route.path)) t.type(location, 'string', `${label} tells where it is`)
    if (answer.status === 201 && location !== null) {
      const there = await fetch(url + location, { headers: { authorization: `Bearer ${token}` } })
      t.equal(there.status, 200, `${label}: it is at ${location}`)
      await there.body?.cancel()
    }
    const made = MAKES[label]
    if (made && json) names[made] = json.id ?? json.applicationId ?? json.repository.id
    if (route.path === TASK_MADE_BY) names['taskId'] = json.taskId
    if (label === 'GET /api/v1/auth/sessions') names['sessionId'] = json.data.find((one: { isCurrent: boolean }) => !one.isCurrent).id
    if (label === 'GET /api/v1/user/readings') names['readingId'] = json.data[0].readingId
    if (json?.callId && label.endsWith('/execute')) names['callId'] = json.callId
    if (json?.refreshToken && label.endsWith('/refresh')) token = json.accessToken
  }

  /** Whether records of a list can be had one by one. */
  function hasOwnAddress(list: string): boolean {
    return routes.some(({ method, path }) => method === 'GET' && path.startsWith(`${list}/:`) && !path.slice(list.length + 2).includes('/'))
  }

  function asked(route: Route<Services>, request: BuiltRequest): RequestInit {
    const label = `${route.method} ${route.path}`
    const body = BODIES[label]?.(names)
    const headers = { authorization: `Bearer ${token}`, ...request.headers }
    if (request.body instanceof FormData && /\/(cover|thumbnails)$/.test(route.path))
      request.body.set('file', new Blob([Uint8Array.from(GIF)]), 'x.gif')
    if (request.body instanceof FormData && route.path.endsWith('/plugins'))
      request.body.set('file', new Blob([Uint8Array.from(pluginOf(METADATA_PLUGIN, { id: 'org.example.other' }))]), 'x.plugin')
    return {
      method: route.method,
      headers,
      redirect: 'manual',
      ...(body ? { body: JSON.stringify(body) } : request.body !== undefined && { body: request.body }),
    }
  }
})
