import t, { type Test } from 'tap'
import { addBook } from '#test/support/library-rows.ts'
import { openMatchingServer } from '#test/support/matching-server.ts'
import { PERSONAL, PICTURES, READING } from '#test/support/web-client-reading-requests.ts'
import { FORMS, JOB, LIBRARIES, LINK, LINKS_AND_RATINGS, LISTS, PLUGINS, type Replay } from '#test/support/web-client-requests.ts'

type Json = Record<string, unknown>

const CONFIGURED = {
  id: 'org.example.configured',
  config: { type: 'object', properties: { region: { type: 'string', title: 'Region', default: 'jp' } }, required: ['region'] },
}

async function openClient(t: Test) {
  const server = await openMatchingServer(t, { settings: { compatibility: { legacyNames: true } } })
  const { seriesId, bookId } = await server.add('Berserk')
  const configuredId = await server.install('export default { recommendations: { get: () => ({ recommendations: [] }) } }', {
    ...CONFIGURED,
    capabilities: { recommendations: { methods: ['get'] } },
  })
  const names: Record<string, string> = { seriesId, bookId, configuredId, pluginId: server.pluginId, libraryId: server.libraryId }
  const named = <Value>(value: Value): Value =>
    value === undefined
      ? value
      : (JSON.parse(JSON.stringify(value).replace(/\{(\w+Id)\}/g, (_, name: string) => names[name] ?? _)) as Value)
  const replay = async (t: Test, all: readonly Replay[]) => {
    for (const { doing, method, path, query, headers = {}, body, status = 200, needs } of all) {
      const search = query ? `?${new URLSearchParams(named(query))}` : ''
      const answer = await server.request<Json>(method, `/api/v1${named(path)}${search}`, {
        ...{ token: server.adminToken, headers },
        ...(body !== undefined && { body: named(body) }),
      })
      t.equal(answer.status, status, `${doing}: ${answer.status >= 400 ? answer.text.slice(0, 300) : ''}`)
      const got =
        headers['accept'] === undefined
          ? answer.json
          : { type: answer.headers.get('content-type'), cache: answer.headers.get('cache-control') }
      if (needs !== undefined) t.match(got, needs, doing)
    }
  }
  return { ...server, names, replay }
}

t.test('what an existing web client sends is taken, and what it needs is answered', async (t) => {
  const { names, replay, add, request, database, libraryId, adminToken } = await openClient(t)
  await t.test('links, ratings and identifiers under the names it knows', (t) => replay(t, LINKS_AND_RATINGS))
  await t.test('requests of a web client for lists are answered', (t) => replay(t, LISTS))
  await t.test('forms of a web client are taken', (t) => replay(t, FORMS))
  await t.test('requests of a web client for plugins are answered', (t) => replay(t, PLUGINS))
  await t.test('libraries and their jobs', (t) => replay(t, LIBRARIES))
  const { json } = await request<{ jobs: { id: string }[] }>('GET', `/api/v1/libraries/${libraryId}/jobs`, { token: adminToken })
  names['jobId'] = json.jobs[0]?.id ?? ''
  await t.test('a dry run of a web client changes nothing', (t) =>
    replay(t, [
      {
        doing: 'tries the job with other settings',
        ...{
          method: 'POST',
          path: '/libraries/{libraryId}/jobs/{jobId}/dry-run',
          body: { sampleSize: 3, configOverride: { ...JOB, maxConcurrency: 1 } },
        },
        needs: { totalEligible: 1, planFailure: null },
      },
    ]),
  )
  names['bareSeriesId'] = (await add('Without a cover')).seriesId
  names['bookId'] = (await add('Another')).bookId
  await t.test('requests of a web client for pictures are answered', (t) => replay(t, PICTURES))
  names['pagedBookId'] = await addBook(database, {
    library_id: libraryId,
    series_id: names['seriesId'] ?? '',
    title: 'Paged',
    page_count: 5,
    page_source: 'zip',
  })
  await t.test('places in books that a web client sends are kept', (t) => replay(t, READING))
  await t.test('requests of a web client for personal data are answered', (t) => replay(t, PERSONAL))
})

t.test('who does not serve older clients sends no names of theirs, and counts pages from 1', async (t) => {
  const { ask, add } = await openMatchingServer(t)
  const { seriesId } = await add('Berserk')
  const link = await ask<Json>('POST', `series/${seriesId}/external-links`, { sourceName: 'x', url: LINK.url })
  t.match([link.status, link.json], [201, { source: 'x' }], 'what is sent is understood all the same')
  t.notOk('sourceName' in link.json)
  const { json } = await ask<{ externalLinks: Json[] }>('GET', `series/${seriesId}?full=true`)
  t.notOk('sourceName' in (json.externalLinks[0] ?? { sourceName: 1 }))
  t.equal((await ask('GET', 'books?page=0')).status, 400)
})
