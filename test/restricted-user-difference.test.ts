import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { routes } from '#api/routes.ts'
import { VALUE_FIELDS } from '#core/catalog/filter-value-query.ts'
import { withoutMoment } from '#test/support/answer-text.ts'
import { addWalker, openComposedServer, type Walker } from '#test/support/composed-server.ts'
import { textOf } from '#test/support/event-reading.ts'
import { addEndedTasks, addJob, addScan, addWorld, type Ids, namesOf, newIds, searchDuplicates } from '#test/support/hidden-worlds.ts'
import { enableKomga, KOMGA_NAMES } from '#test/support/komga-switch.ts'
import { oneOfEach, someOf } from '#test/support/lane-size.ts'
import { addLibrary } from '#test/support/library-rows.ts'
import { METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST } from '#test/support/metadata-plugin.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { buildRequest } from '#test/support/request-builder.ts'
import { unknownIds } from '#test/support/unknown-ids.ts'

/**
 * Everything that can be read is read twice by people from whom a series is kept: before that series is there, and when it is, entangled with all
 * the rest. The answers must be the same to the byte: so no count, sum, average, order, page, name or refusal tells of what is hidden.
 */

/** Why a series is hidden, and the people from whom it is. */
interface Hiding {
  by: string
  walkers: readonly Walker[]
  /** Of the hidden series, which is in a library of its own or in that of the other one, which is for six years and older. */
  age: number | null
  isElsewhere: boolean
  /** How many of the requests are sent outside of the lane `full`: one of so many. */
  every: number
}

const HIDINGS: readonly Hiding[] = [
  {
    ...{ by: 'a sharing tag', age: 6, isElsewhere: false, every: 2 },
    walkers: [
      { role: 'reader', mode: 'deny' },
      { role: 'admin', mode: 'deny' },
      { role: 'reader', mode: 'allow' },
      { role: 'maintainer', mode: 'deny' },
    ],
  },
  {
    ...{ by: 'a list of libraries', age: 6, isElsewhere: true, every: 4 },
    walkers: [
      { role: 'maintainer', mode: 'libraries', byKey: true },
      { role: 'reader', mode: 'libraries' },
      { role: 'reader', mode: 'libraries', byKey: true },
      { role: 'maintainer', mode: 'libraries' },
    ],
  },
  {
    ...{ by: 'its age', age: 18, isElsewhere: false, every: 4 },
    walkers: [
      { role: 'reader', mode: 'not_from' },
      { role: 'maintainer', mode: 'up_to' },
      { role: 'reader', mode: 'not_from', byKey: true },
    ],
  },
  {
    ...{ by: 'an age rule that hides what has no rating', age: null, isElsewhere: false, every: 4 },
    walkers: [
      { role: 'reader', mode: 'up_to', byKey: true },
      { role: 'reader', mode: 'up_to' },
      { role: 'maintainer', mode: 'up_to', byKey: true },
    ],
  },
]

/** Thousands of requests. */
t.setTimeout(720_000)

/** Before anything of this test. */
const CHANGED_AFTER = new Date(Date.now() - 60_000).toISOString()

/** Stands in all texts of the hidden series. */
const SECRET = 'Zyxwvut'

/** What tells of the whole house, to those who run it. */
const OF_THE_HOUSE: Record<string, string> = {
  '/health': 'tells of the server',
  '/api/v1/admin/plugins': 'says when a plugin last answered, whoever asked it',
  '/api/v1/auth/sessions': 'says when the session that asks was last used',
  '/api/v1/metrics/server': 'counts moments in which the machine was busy',
  '/api/v1/metrics/plugins': 'counts calls of plugins, whoever made them',
  '/api/v1/metrics/tasks': 'names the time; of tasks that have ended these people are told nothing',
  '/api/v1/metrics/tasks/history': 'as above',
}

for (const hiding of HIDINGS) t.test(`what is hidden by ${hiding.by} changes no answer`, { timeout: 240_000 }, (t) => walk(t, hiding))

async function walk(t: Test, { walkers: all, age, isElsewhere, every }: Hiding): Promise<void> {
  const { folder, database, services, url } = await openComposedServer(t)
  await enableKomga(database)
  const libraryId = await addLibrary(database, { path: join(folder, 'library') })
  const tagIds = await namesOf(database, 'sharing_tags', ['open', 'kept away'])
  const users: Asker[] = []
  for (const walker of all) {
    const tagId = tagIds[walker.mode === 'allow' ? 0 : 1]
    users.push(await addWalker({ database, services }, { ...walker, tagId, libraries: [libraryId] }))
  }
  const userIds = users.map(({ id }) => id)
  const walkers = someOf('users, of every role', users, 1)
  const { plugin, sha256 } = await services.pluginLifecycle.install(pluginOf(METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST), { userId: null })
  await services.pluginLifecycle.consent(plugin.id, { sha256 })
  // Genres and tags by these names are there before, for administrators see those that nothing carries.
  const genreIds = await namesOf(database, 'genres', ['Both', 'Secret'])
  const tagNameIds = await namesOf(database, 'tags', ['Both', 'Secret'])
  const shared = { tagIds, genreIds, tagNameIds, userIds }
  const open = newIds({ libraryId, tagId: tagIds[0], genreId: genreIds[0], userId: userIds[0] as string })
  const elsewhere = isElsewhere ? {} : { libraryId, jobId: open.jobId }
  const hidden = newIds({ ...elsewhere, tagId: tagIds[1], genreId: genreIds[1], userId: userIds[1] as string })
  await addJob(database, { ids: open, provider: plugin.key, message: '1 looked at' })
  await addWorld(database, { ids: open, word: 'Open', age: 6, shelves: null, carries: [0], sharingTag: 0, ...shared })
  const scanId = await addScan(database, libraryId)
  await addEndedTasks(database, libraryId)
  await searchDuplicates(database)

  const asks = new Map([...requests({ open, hidden, pluginId: plugin.id })].map((asked) => [nameOf(asked), asked]))
  const asked = oneOfEach(every, 'requests', [...asks.values()])
  const before = await askAll(t, url, { walkers, asked })
  if (isElsewhere) {
    await database('libraries').insert({ id: hidden.libraryId, name: `${SECRET} library`, path: join(folder, SECRET) })
    await addJob(database, { ids: hidden, provider: plugin.key, message: SECRET })
    await addScan(database, hidden.libraryId)
  }
  const sharingTag = isElsewhere || age !== 6 ? 0 : 1
  await addWorld(database, { ids: hidden, word: SECRET, age, shelves: open, carries: [0, 1], sharingTag, ...shared })
  if (!isElsewhere) {
    const found = { files_total: 6, books_found: 6, series_found: 2, errors: JSON.stringify([`${SECRET} is bad`]), path: SECRET }
    const noted = JSON.stringify({ count: 1, files: [SECRET] })
    const withheld = JSON.stringify([{ folder: SECRET, reason: 'empty', books: 5 }])
    const alike_names = JSON.stringify({ count: 1, pairs: [[SECRET, SECRET.toLowerCase()]] })
    await database('scans').update({
      ...found,
      withheld,
      left_out: noted,
      skipped_links: noted,
      alike_names,
      guard: { known: 6, missing: 5 },
    })
    await database('series').where('id', hidden.seriesId).update({ unrelated: true })
    await database('books').where('series_id', hidden.seriesId).whereNull('deleted_at').update({ missing_why: 'withheld' })
    await database('tasks').where({ id: scanId }).update({ progress_total: 6, progress_message: SECRET })
    await database('library_jobs').update({ last_run_message: `2 processed, ${SECRET}` })
  }
  await searchDuplicates(database)
  await database('tasks')
    .where('status', 'completed')
    .update({ result: JSON.stringify({ groups: 2, books: 4, samePages: 2 }) })
  const after = await askAll(t, url, { walkers, asked })
  t.ok([...before.values()].filter((answer) => answer.startsWith('200 ')).length > before.size / 3, 'much was answered')
  const changed = [...before].filter(([asked, answer]) => after.get(asked) !== answer)
  t.equal(after.size, before.size)
  t.same(
    changed.map(([asked, was]) => ({ asked, was, is: after.get(asked) })),
    [],
    `${before.size} answers are what they were`,
  )

  t.test('it is seen by who may', async (t) => {
    for (const table of ['user_sharing_grants', 'access_rules']) await database(table).delete()
    // That the walk bites shows in a part of it.
    const seen = await askAll(t, url, { walkers: walkers.slice(0, 1), asked: asked.filter((_, at) => at % 5 === 0) })
    const changed = [...seen].filter(([asked, answer]) => answer !== before.get(asked))
    t.ok(changed.length > seen.size / 3, `${changed.length} of ${seen.size} answers differ then`)
  })
}

type Asker = Awaited<ReturnType<typeof addWalker>>

/** What everybody is answered, by who asks what. */
async function askAll(
  t: Test,
  url: string,
  { walkers, asked }: { walkers: readonly Asker[]; asked: readonly Asked[] },
): Promise<Map<string, string>> {
  const answers = new Map<string, string>()
  const answered = walkers.flatMap((walker) => asked.map((each) => ({ ...walker, ...each }))).values()
  // A few at a time, so that the server waits for its database less.
  await Promise.all(Array.from({ length: 4 }, askSome))
  return answers

  async function askSome(): Promise<void> {
    for (const { said, accessToken, method, path, body } of answered) {
      const answer = await fetch(url + path, {
        method,
        // Not packed, so that the length is told too.
        headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json', 'accept-encoding': 'identity' },
        ...(body !== undefined && { body }),
        redirect: 'manual',
      })
      const headers = ['etag', 'link', 'content-type', 'content-length', 'last-modified', 'location'].map((name) =>
        answer.headers.get(name),
      )
      const text = withoutMoment(await textOf(answer))
      // Who may ask for anything is understood, or nothing was asked.
      if (method === 'POST' && said.startsWith('admin') && answer.status !== 200) t.fail(`${path} ${body} → ${answer.status} ${text}`)
      if (answer.status >= 500) t.fail(`${method} ${path} → ${answer.status} ${text}`)
      answers.set(`${said} ${nameOf({ method, path, body })}`, `${answer.status} ${text}\n${headers.join('\n')}`)
    }
  }
}

interface Asked {
  method: string
  path: string
  body?: string | undefined
}

const nameOf = ({ method, path, body }: Asked) => `${method} ${path} ${body ?? ''}`

/** Every route that reads, with the ids of what is open and of what is hidden; lists in every order and with every kind of condition. */
function* requests(things: { open: Ids; hidden: Ids; pluginId: string }): Generator<Asked> {
  for (const ids of [things.open, things.hidden]) {
    for (const route of routes) {
      if (route.method !== 'GET' || route.path in OF_THE_HOUSE) continue
      const pluginId = /\/(admin|user)\//.test(route.path) ? UNKNOWN.pluginId : things.pluginId
      const request = buildRequest(route, { ...UNKNOWN, ...KOMGA_NAMES, ...ids, pluginId, sharingTagId: ids.tagId })
      if ('unknown' in request) throw new Error(`GET ${route.path}: nobody knows how to fill ${request.unknown}`)
      yield { method: 'GET', path: request.path }
      const query = Object.keys(((route.query as { properties?: object } | undefined)?.properties ?? {}) as object)
      const more = (words: string) => ({ method: 'GET', path: `${request.path}${request.path.includes('?') ? '&' : '?'}${words}` })
      if (query.includes('full')) yield more('full=true')
      if (query.includes('search')) yield more('search=e')
      if (query.includes('pageSize')) yield more('pageSize=1')
      if (query.includes('includeDeleted')) yield more('includeDeleted=true')
      if (query.includes('deleted')) yield more('deleted=true')
      if (query.includes('updatedAfter')) yield more(`updatedAfter=${CHANGED_AFTER}`)
      if (query.includes('genres')) yield more('genres=Secret')
      if (query.includes('genres')) yield more('genres=Both&tags=Both')
      // Not only what is of the id that was asked for.
      if (/[?&](bookId|seriesId)=/.test(request.path)) {
        const path = request.path.replaceAll(/(bookId|seriesId)=[^&]*&?/g, '')
        yield { method: 'GET', path }
        if (query.includes('full')) yield { method: 'GET', path: `${path}${path.endsWith('?') ? '' : '&'}full=true` }
      }
    }
  }
  for (const sort of [
    'name',
    'date_added',
    'date_updated',
    'book_count',
    'date_read',
    'release_date',
    'rating',
    'community_rating',
    'external_rating',
  ])
    yield list('series/list', {}, `?sort=${sort},desc`)
  for (const kind of ['series', 'books'])
    for (const field of VALUE_FIELDS) yield { method: 'GET', path: `/api/v1/filter-values?of=${kind}&field=${field}` }
  for (const words of [SECRET, 'saga', 'words', '9780306406157', `${SECRET} other`]) {
    yield { method: 'GET', path: `/api/v1/search?q=${encodeURIComponent(words)}` }
    yield list('books/list', { fullTextSearch: words })
    yield list('series/list', { fullTextSearch: words })
    yield list('series/list/alphabetical-groups', { fullTextSearch: words })
    yield list('books/list/alphabetical-groups', { fullTextSearch: words })
    yield list('series/search', { query: words })
  }
  const { hidden, pluginId } = things
  for (const asked of [
    {},
    { sampleSize: 20, configOverride: { type: 'metadata_refresh', provider: pluginId, existingSourceIdsOnly: true } },
  ])
    yield list(`libraries/${hidden.libraryId}/jobs/${hidden.jobId}/dry-run`, asked)
  const text = (value: string) => [
    { operator: 'is', value },
    { operator: 'isNot', value },
    { operator: 'contains', value },
    { operator: 'doesNotContain', value },
  ]
  const both = [
    ...['genre', 'tag'].flatMap((field) => ['Both', 'Secret'].flatMap((value) => text(value).map((how) => ({ [field]: how })))),
    ...text('kept away').map((how) => ({ sharingTag: how })),
    { readStatus: { operator: 'is', value: 'read' } },
    { not: { readStatus: { operator: 'is', value: 'unread' } } },
    ...['is', 'isNot'].map((operator) => ({ libraryId: { operator, value: hidden.libraryId } })),
  ]
  const ofBooks = [
    ...['is', 'isNot'].map((operator) => ({ seriesId: { operator, value: hidden.seriesId } })),
    ...['in', 'notIn'].map((operator) => ({ id: { operator, values: [hidden.bookId] } })),
    ...text(SECRET).flatMap((how) => [{ title: how }, { path: how }, { publisher: how }]),
    ...['isTrue', 'isFalse'].flatMap((operator) => [{ hasError: { operator } }, { inReadList: { operator } }]),
  ]
  const ofSeries = [
    ...['in', 'notIn'].map((operator) => ({ id: { operator, values: [hidden.seriesId] } })),
    ...text(SECRET).flatMap((how) => [{ name: how }, { publisher: how }]),
    ...['isTrue', 'isFalse'].flatMap((operator) => [{ inCollection: { operator } }, { hasUserRating: { operator } }]),
  ]
  for (const condition of [...both, ...ofBooks]) {
    yield list('books/list', { condition })
    yield list('books/list/alphabetical-groups', { condition })
  }
  for (const condition of [...both, ...ofSeries]) {
    yield list('series/list', { condition })
    yield list('series/list/alphabetical-groups', { condition })
  }
}

const list = (path: string, body: object, query = ''): Asked => ({
  method: 'POST',
  path: `/api/v1/${path}${query}`,
  body: JSON.stringify(body),
})

/** Things of no series, and none that there is. */
const UNKNOWN = {
  key: 'application.name',
  pluginId: randomUUID(),
  pageNumber: 1,
  page: 1,
  resourcePath: 'OPS/c1.xhtml',
  document: 'c'.repeat(32),
  sha256: 'a'.repeat(64),
  ...unknownIds(),
  query: 'saga',
}
