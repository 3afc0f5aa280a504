import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Knex } from 'knex'
import t, { test } from 'tap'
import type { Route } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'
import { routes } from '#api/routes.ts'
import { ROLES } from '#core/account/permission.ts'
import { chosenCoverPath, coverPath } from '#core/covers/cover.ts'
import { rateSeries } from '#test/support/access-rules.ts'
import { complaintsOf } from '#test/support/answer-check.ts'
import { withoutMoment } from '#test/support/answer-text.ts'
import { OWN_PAGE } from '#test/support/browsers.ts'
import { addWalker, openComposedServer, type Walker } from '#test/support/composed-server.ts'
import { textOf } from '#test/support/event-reading.ts'
import { enableKomga, KOMGA_NAMES } from '#test/support/komga-switch.ts'
import { someOf } from '#test/support/lane-size.ts'
import { comic } from '#test/support/library-fixture.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST } from '#test/support/metadata-plugin.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { type BuiltRequest, buildRequest, type KnownValues } from '#test/support/request-builder.ts'
import { unknownIds } from '#test/support/unknown-ids.ts'

/**
 * Every route, asked by users of every role from whom one series is kept, by every kind of rule. Whatever names a thing by id is given the id of what is
 * hidden, and nothing that is hidden may come back: neither its id nor any of the words that only it holds, nor that there is such an id at all.
 */

const WALKERS: readonly Walker[] = someOf(
  'users, of every role and with every kind of rule',
  [
    { role: 'reader', mode: 'deny' },
    { role: 'admin', mode: 'deny' },
    { role: 'maintainer', mode: 'libraries' },
    ...ROLES.filter((role) => role !== 'reader' && role !== 'admin').map((role) => ({ role, mode: 'deny' as const })),
    { role: 'reader', mode: 'allow', byCookie: true },
    { role: 'reader', mode: 'up_to' },
    { role: 'maintainer', mode: 'not_from', byCookie: true },
    { role: 'reader', mode: 'libraries', byKey: true },
    { role: 'maintainer', mode: 'up_to', byKey: true },
  ],
  3,
)

/** Stands in every text of the hidden series, its book and all that belongs to them, and nowhere else. */
const SECRET = 'Zyxwvut'

/** Routes that would end the walk itself, with why. */
const LEFT_OUT: Record<string, string> = {
  'POST /api/v1/auth/logout': 'ends the session that walks',
  'POST /:prefix/api/logout': 'as above',
  'POST /:prefix/api/v1/logout': 'as above',
  'POST /api/v1/admin/plugin-repositories': 'asks the world outside, which knows nothing of the library',
}

/** Routes that may answer 2xx though they were given a hidden id, with why that tells nothing. */
const TELLS_NOTHING: Record<string, string> = {}

/** Routes that refuse what the walk sends whatever it holds, with why that will do. */
const REFUSED_BY_FORM: Record<string, string> = {
  'POST /api/v1/libraries': 'its folder is not there, and a new library holds nothing hidden',
  'POST /api/v1/libraries/preview-scan': 'its folder is not there, and no folder of a library is told of',
  'POST /api/v1/tasks': 'there is no such type; those that there are begin by what the routes of their own check',
  'POST /api/v1/admin/plugins': 'what is sent is no package, and plugins hold nothing of the library',
  'POST /api/v1/admin/plugins/:pluginId/consent': 'it names no package, as above',
  'POST /api/v1/user/plugins/:pluginId/credentials': 'the plugin has no use for any',
  'POST /api/v1/user/plugins/:pluginId/oauth/start': 'as above',
  'GET /api/v1/user/plugins/oauth/callback': 'nobody has begun to sign in',
  'PATCH /:prefix/api/v1/settings': 'nothing is changed there, and settings hold nothing of the library',
  'POST /api/v1/read-lists/import': 'the one book that the list names is hidden, so nothing of it is here',
}

/** Thousands of requests. */
t.setTimeout(480_000)

test('a hidden series shows nowhere, on no route', { timeout: 480_000 }, async (t) => {
  const { folder, database, services, url, adminToken } = await openComposedServer(t)

  const libraryId = await addLibrary(database, { path: join(folder, 'library') })
  const seriesId = await addSeries(database, { library_id: libraryId, title: `${SECRET} Saga` })
  const openLibraryId = await addLibrary(database, { name: 'Open', path: join(folder, 'open') })
  const openSeriesId = await addSeries(database, { library_id: openLibraryId, title: 'Open Saga' })
  await rateSeries(database, seriesId, 18)
  await rateSeries(database, openSeriesId, 6)
  const path = join(folder, 'library', `${SECRET} 1.cbz`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, comic('hidden'))
  const book = { library_id: libraryId, page_count: 1, page_source: 'zip' }
  const readerHash = 'b'.repeat(32)
  const file = { path, file_name: `${SECRET} 1.cbz`, cover_hash: 'c0ffee', number: 1, reader_hash: readerHash }
  const bookId = await addBook(database, { ...book, ...file, series_id: seriesId, title: `${SECRET} One` })
  const openBookId = await addBook(database, { ...book, library_id: openLibraryId, series_id: openSeriesId, title: 'Open One' })
  await database('book_pages').insert({ book_id: bookId, pages: JSON.stringify([]) })
  await database('book_errors').insert({ book_id: bookId, error_type: 'other', message: `${SECRET} is bad`, fatal: false })
  const coverId = randomUUID()
  const cover = { id: coverId, source: 'custom', hash: SECRET, width: 1, height: 1, is_selected: true }
  await database('covers').insert({ ...cover, book_id: bookId })
  for (const target of [
    coverPath(folder, bookId),
    chosenCoverPath(folder, { kind: 'book', id: bookId }, { id: coverId, size: 'large' }),
    chosenCoverPath(folder, { kind: 'book', id: bookId }, { id: coverId, size: 'small' }),
  ]) {
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, SECRET)
  }
  const [tag] = await database('sharing_tags').insert({ name: 'kept away' }, 'id')
  await database('series_sharing_tags').insert({ series_id: seriesId, sharing_tag_id: tag.id })
  const [openTag] = await database('sharing_tags').insert({ name: 'for all' }, 'id')
  await database('series_sharing_tags').insert({ series_id: openSeriesId, sharing_tag_id: openTag.id })
  const [genre] = await database('genres').insert({ name: 'Kept away', name_key: 'kept away' }, 'id')
  await database('series_genres').insert({ series_id: seriesId, genre_id: genre.id })
  const [collection] = await database('collections').insert({ name: `${SECRET} collection` }, 'id')
  await database('collection_series').insert({ collection_id: collection.id, series_id: seriesId, position: 0 })
  const [readList] = await database('read_lists').insert({ name: `${SECRET} list` }, 'id')
  await database('read_list_books').insert({ read_list_id: readList.id, book_id: bookId, position: 0 })
  const ofSeries = [bookId, seriesId, coverId, collection.id, readList.id, SECRET]

  const { plugin, sha256 } = await services.pluginLifecycle.install(pluginOf(METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST), { userId: null })
  await services.pluginLifecycle.consent(plugin.id, { sha256 })
  // What the plugin recommends is the hidden series, and its metadata was applied to it and to its book.
  await database('series_external_ids').insert({ series_id: seriesId, source: 'plugin:known', external_id: '1' })
  const taken = { pluginId: plugin.id, externalId: '1', fields: null, dryRun: false, userId: null }
  const applications = {
    series: (await services.matching.apply({ kind: 'series', id: seriesId }, taken)).applicationId as string,
    book: (await services.matching.apply({ kind: 'book', id: bookId }, taken)).applicationId as string,
  }
  ofSeries.push(applications.series, applications.book)

  await enableKomga(database)
  const names: KnownValues = {
    ...KOMGA_NAMES,
    bookId,
    seriesId,
    coverId,
    collectionId: collection.id,
    readListId: readList.id,
    libraryId,
    library_id: libraryId,
    tagId: tag.id,
    sharingTagId: tag.id,
    key: 'application.name',
    // Of the plugin itself nothing but how it is used is tried: what is done to it ends what others look at.
    pluginId: plugin.id,
    unknownPluginId: randomUUID(),
    duplicateId: randomUUID(),
    pageNumber: 1,
    page: 1,
    resourcePath: 'OPS/c1.xhtml',
    document: readerHash,
    sha256: 'a'.repeat(64),
    // Things of their own, of no series: there are none by these ids.
    taskId: randomUUID(),
    userId: randomUUID(),
    genreId: randomUUID(),
    ...unknownIds(),
    seriesTitle: `${SECRET} Saga`,
  }

  for (const walker of WALKERS) {
    const { role, mode } = walker
    const tagId = mode === 'deny' ? tag.id : openTag.id
    const {
      id: userId,
      accessToken,
      said: who,
      cookie,
    } = await addWalker({ database, services }, { ...walker, tagId, libraries: [openLibraryId] })
    const hidesLibrary = mode === 'libraries'
    names['hidesLibrary'] = hidesLibrary
    const hidden = [...ofSeries, ...(hidesLibrary ? [libraryId] : [])]
    await database('read_progress').insert({ user_id: userId, book_id: bookId, current_page: 1, percentage: 0.5 })
    await database('want_to_read').insert({ user_id: userId, series_id: seriesId })
    await services.userPlugins.list(userId)
    await services.userPlugins.enable(userId, plugin.id)
    const items = JSON.stringify([{ externalId: '1', title: 'A recommendation', score: 0.5, reason: 'So.' }])
    await database('recommendations').insert({ plugin_id: plugin.id, user_id: userId, items, generated_at: new Date() })
    const job = { name: 'Refresh', type: 'metadata_refresh', config: { type: 'metadata_refresh', provider: plugin.key } }
    const told = { last_run_status: 'completed', last_run_message: `${SECRET} is bad` }
    names['jobId'] = (await database('library_jobs').insert({ library_id: libraryId, ...job, ...told }, 'id'))[0].id
    const send = async (method: string, request: BuiltRequest) =>
      await fetch(url + request.path, {
        method,
        headers: {
          ...(cookie && request.path.startsWith('/api/v1/') ? { cookie, ...OWN_PAGE } : { authorization: `Bearer ${accessToken}` }),
          ...request.headers,
        },
        ...(request.body !== undefined && { body: request.body }),
        redirect: 'manual',
      })
    for (const [list, conditions] of Object.entries(
      CONDITIONS({ bookId, seriesId, collectionId: collection.id, readListId: readList.id, libraryId }),
    )) {
      for (const asked of conditions) {
        const answer = await send('POST', {
          path: `/api/v1/${list}/list`,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(asked),
          echoes: true,
        })
        const said = `${who} ${list} ${JSON.stringify(asked)}`
        // What only administrators may ask for is refused to others by name.
        if (answer.status === 403 && role !== 'admin') continue
        t.equal(answer.status, 200, said)
        const { data, total } = (await answer.json()) as { data: unknown[]; total: number }
        t.same([data, total], [[], 0], said)
      }
    }
    for (const route of ordered(routes)) {
      const label = `${route.method} ${route.path}`
      if (label in LEFT_OUT) continue
      const known = meant(route.path, names, applications)
      const request = buildRequest(route, known)
      if ('unknown' in request) {
        t.fail(`${label}: the walk does not know how to fill ${request.unknown}; give it a value by that name`)
        continue
      }
      const answer = await send(route.method, request)
      const text = await textOf(answer)
      const json = (answer.headers.get('content-type') ?? '').startsWith('application/json') ? JSON.parse(text) : undefined
      t.same(complaintsOf({ method: route.method, path: request.path, status: answer.status, json }), [], `${label} keeps its promise`)
      const said = `${who} ${label} → ${answer.status} ${text.slice(0, 300)}`
      // Whoever may do everything must get past the checks of form, or nothing was tried.
      if (role === 'admin' && [400, 415, 422].includes(answer.status) && !(label in REFUSED_BY_FORM)) {
        t.fail(`${said}: the walk does not know how to fill this so that it is taken`)
      }
      if (answer.status >= 500) t.fail(said)
      // What the caller sent may be told back in the words of a refusal.
      const telling = answer.status < 400 ? hidden : [SECRET]
      // Links of lists repeat the query of the request, which told what was hidden before.
      const whole = (text + [...answer.headers.values()].join()).replaceAll(/(bookId|seriesId|libraryId|library_id)=[0-9a-f-]{36}/g, '')
      const shown = telling.filter((word) => whole.includes(word))
      if (answer.status < 400 && request.echoes && !hidesLibrary && !(label in TELLS_NOTHING)) {
        t.fail(`${said}: took the id of a hidden thing for a thing`)
      } else t.same(shown, [], said)
      if (!request.echoes) continue
      // What is hidden is refused in the very words that are used for what has never been; a list of what is in a hidden library may be empty for both.
      const neverWere = { ...NEVER_WERE, ...(hidesLibrary && NO_LIBRARY) }
      const unknown = await send(route.method, buildRequest(route, { ...known, ...neverWere }) as BuiltRequest)
      t.same(normal(answer.status, text), normal(unknown.status, await textOf(unknown)), `${label}: hidden or unknown is all the same`)
      // Beside one that may be seen, neither is anything done to that one.
      const beside = { besideBookId: openBookId, besideSeriesId: openSeriesId }
      const mixed = buildRequest(route, { ...known, ...beside }) as BuiltRequest
      if (mixed.body === request.body || typeof mixed.body !== 'string') continue
      const before = await stateOf(database, openSeriesId)
      const both = await send(route.method, mixed)
      t.ok(both.status >= 400 || hidesLibrary, `${label}: all or nothing`)
      const other = await send(route.method, buildRequest(route, { ...known, ...neverWere, ...beside }) as BuiltRequest)
      t.same(normal(both.status, await both.text()), normal(other.status, await other.text()), `${label}: nor beside another`)
      t.same(await stateOf(database, openSeriesId), before, `${label}: nothing was done`)
    }

    t.equal(
      await database('books')
        .where({ id: bookId })
        .count({ count: '*' })
        .first()
        .then((row) => Number(row?.['count'])),
      1,
    )
    t.match(await database('series').where({ id: seriesId }).first('title'), { title: `${SECRET} Saga` }, 'nobody has changed it')
  }

  t.test('the walk bites: who may see it finds it', async (t) => {
    for (const path of [
      `/api/v1/books/${bookId}`,
      `/api/v1/series/${seriesId}`,
      `/api/v1/books/${bookId}/covers/${coverId}/image`,
      '/api/v1/books',
    ]) {
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${adminToken}` } })
      t.equal(answer.status, 200, path)
      t.match(await answer.text(), SECRET)
    }
  })
  t.test('the walk bites: an unknown parameter is told', async (t) => {
    t.same(buildRequest({ ...(routes[0] as Route<Services>), path: '/api/v1/things/:thingId' }, names), {
      unknown: 'the path parameter thingId',
    })
  })
})

/** What the same name stands for on some routes only. */
const meant = (path: string, names: KnownValues, applications: { series: string; book: string }): KnownValues => ({
  ...names,
  applicationId: applications[path.includes('/books/') ? 'book' : 'series'],
  ...(path.includes('/admin/') && { pluginId: names['unknownPluginId'] as string }),
})

/** Ids that nothing has. */
const NEVER_WERE = {
  bookId: randomUUID(),
  seriesId: randomUUID(),
  coverId: randomUUID(),
  collectionId: randomUUID(),
  readListId: randomUUID(),
  document: 'c'.repeat(32),
}

const NO_LIBRARY_ID = randomUUID()
/** The same for a hidden library and its job. */
const NO_LIBRARY = { libraryId: NO_LIBRARY_ID, library_id: NO_LIBRARY_ID, jobId: randomUUID() }

/** All that bulk requests could change of a series with one book. */
async function stateOf(database: Knex, seriesId: string): Promise<unknown[]> {
  const books = database('books').where('series_id', seriesId).select('id')
  const ofBooks = ['book_metadata', 'read_progress', 'book_genres', 'book_tags', 'read_list_books']
  const ofSeries = ['series_metadata', 'series_genres', 'series_tags', 'collection_series']
  return await Promise.all([
    database('books').where('series_id', seriesId),
    database('series').where('id', seriesId),
    ...ofBooks.map((table) => database(table).whereIn('book_id', books.clone())),
    ...ofSeries.map((table) => database(table).where('series_id', seriesId)),
    database('tasks').count(),
  ])
}

/** An answer without what differs between any two requests. */
const normal = (status: number, text: string) => [status, withoutMoment(text).replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/gi, '<id>')]

/** Filters that match nothing but what is hidden. */
const CONDITIONS = (ids: { bookId: string; seriesId: string; collectionId: string; readListId: string; libraryId: string }) => ({
  books: [
    { condition: { seriesId: { operator: 'is', value: ids.seriesId } } },
    { condition: { id: { operator: 'in', values: [ids.bookId] } } },
    { condition: { libraryId: { operator: 'is', value: ids.libraryId } } },
    { condition: { title: { operator: 'contains', value: SECRET } } },
    { condition: { not: { not: { title: { operator: 'beginsWith', value: SECRET } } } } },
    { condition: { genre: { operator: 'is', value: 'Kept away' } } },
    { condition: { path: { operator: 'contains', value: SECRET } } },
    { condition: { hasError: { operator: 'isTrue' } } },
    { condition: { sharingTag: { operator: 'is', value: 'kept away' } } },
    { condition: { allOf: [{ inReadList: { operator: 'isTrue' } }, { seriesId: { operator: 'is', value: ids.seriesId } }] } },
    { fullTextSearch: SECRET },
  ],
  series: [
    { condition: { id: { operator: 'in', values: [ids.seriesId] } } },
    { condition: { name: { operator: 'contains', value: SECRET } } },
    { condition: { libraryId: { operator: 'is', value: ids.libraryId } } },
    { condition: { genre: { operator: 'is', value: 'Kept away' } } },
    { condition: { inCollection: { operator: 'isTrue' } } },
    { condition: { sharingTag: { operator: 'is', value: 'kept away' } } },
    { condition: { readStatus: { operator: 'is', value: 'in_progress' } } },
    { fullTextSearch: SECRET },
  ],
})

/** What reads comes first: a walk that deletes before it reads would find nothing. */
function ordered(all: readonly Route<Services>[]): Route<Services>[] {
  // Without the sharing tag itself nothing is hidden any more.
  const isTag = ({ path }: Route<Services>) => /sharing-tags\/:\w+$/.test(path) && !path.includes('/series/')
  const rank = (route: Route<Services>) => (route.method === 'GET' ? 0 : route.method !== 'DELETE' ? 1 : isTag(route) ? 3 : 2)
  // The library is what everything stands in.
  return all
    .filter((route) => !(route.method === 'DELETE' && route.path === '/api/v1/libraries/:libraryId'))
    .toSorted((a, b) => rank(a) - rank(b))
}
