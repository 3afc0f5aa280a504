import t from 'tap'
import { openMatchingServer } from '#test/support/matching-server.ts'

t.setTimeout(240_000)

interface Ids {
  externalIds: { id: string; source: string; externalId: string }[]
}

const METADATA_PLUGIN = `export default { metadata: { series: {
  search: ({ query }) => ({ results: [{ externalId: 'z', title: query, relevance: 1 }] }),
  match: ({ externalIds }) => ({ match: { externalId: Object.keys(externalIds).sort().join(' '), title: 'Berserk' }, confidence: 1 }),
  get: ({ externalId }) => ({ externalId, title: 'Berserk', externalIds: { berserkdb: 'theirs', elsewhere: '5' }, rating: { score: 70 } }),
} } }`

/** What the documentation says for "not matched yet". */
const NOT_MATCHED = { mode: 'all', rules: [{ field: 'externalIds.plugin:berserkdb', operator: 'is_null' }] }

t.test('identifiers and ratings of plugins are kept under plugin: and their name, wherever they are seen or sent', async (t) => {
  const { ask, add, pluginId } = await openMatchingServer(t)
  const { seriesId } = await add('Berserk')
  const path = `series/${seriesId}`
  const passes = async () =>
    (await ask<{ passed: boolean }>('POST', 'conditions/evaluate', { condition: NOT_MATCHED, seriesId })).json.passed
  t.equal(await passes(), true)
  t.match((await ask('POST', `${path}/metadata/apply`, { pluginId, externalId: 'b1' })).json, { success: true })
  t.equal(await passes(), false)
  const sources = async (of = path) => (await ask<Ids>('GET', `${of}/external-ids`)).json.externalIds.map(({ source }) => source).sort()
  t.same(await sources(), ['other', 'plugin:berserkdb'])
  t.match((await ask('GET', `${path}/context`)).json, {
    externalIds: { 'plugin:berserkdb': { id: 'b1', url: 'https://api.example.org/b1' }, other: { id: 'x9' } },
  })
  t.match(
    (await ask('POST', 'templates/render', { template: '{{externalIds.plugin:berserkdb.id}} {{externalIds.berserkdb.id}}', seriesId }))
      .json,
    {
      output: 'b1 b1',
    },
  )

  const post = (kind: string, body: object, of = path) => ask<{ source: string; externalId: string }>('POST', `${of}/${kind}`, body)
  t.match(await post('external-ids', { source: 'berserkdb', externalId: 'b2' }), {
    ...{ status: 200, json: { source: 'plugin:berserkdb', externalId: 'b2' } },
  })
  for (const source of ['plugin:nobody', 'api:berserkdb', 'BerserkDB', 'comicinfo', 'carrel', 'goodreads'])
    t.match(await post('external-ids', { source, externalId: '1' }), { status: 201, json: { source } }, `${source} stays`)
  t.match(await post('external-ratings', { source: 'berserkdb', rating: 50 }), { status: 201, json: { source: 'plugin:berserkdb' } })
  t.match(
    await post('external-links', { source: 'berserkdb', url: 'https://x.example/' }),
    { json: { source: 'berserkdb' } },
    'a link has a label',
  )
  t.equal((await ask('DELETE', `${path}/external-ratings/berserkdb`)).status, 204)
  t.same((await ask('GET', `${path}/external-ratings`)).json, { ratings: [] })
})

t.test('a plugin that comes later takes over what was kept under its name, and undoing follows', async (t) => {
  const { ask, add, pluginId, install } = await openMatchingServer(t)
  const { seriesId, bookId } = await add('Berserk')
  const path = `series/${seriesId}`
  const { json: applied } = await ask<{ applicationId: string }>('POST', `${path}/metadata/apply`, { pluginId, externalId: 'b1' })
  await ask('POST', `books/${bookId}/external-ids`, { source: 'other', externalId: 'book' })
  const ids = async (of: string) =>
    Object.fromEntries((await ask<Ids>('GET', `${of}/external-ids`)).json.externalIds.map(({ source, externalId }) => [source, externalId]))
  t.same(await ids(path), { other: 'x9', 'plugin:berserkdb': 'b1' })

  const METADATA = { methods: ['search', 'get', 'match'], idSource: 'other' }
  const otherId = await install(METADATA_PLUGIN, { id: 'org.example.other', capabilities: { 'metadata.series': METADATA } })
  t.same(await ids(path), { 'plugin:other': 'x9', 'plugin:berserkdb': 'b1' })
  t.same(await ids(`books/${bookId}`), { 'plugin:other': 'book' })
  t.match(await ask('POST', `${path}/metadata/applications/${applied.applicationId}/undo`), { status: 200, json: { skippedFields: [] } })
  t.same(await ids(path), {})

  const again = await add('Berserk')
  await ask('POST', `series/${again.seriesId}/external-ids`, { source: 'berserkdb', externalId: 'mine' })
  t.match((await ask('POST', `series/${again.seriesId}/metadata/auto-match`, { pluginId: otherId })).json, {
    ...{ success: true, matchedResult: { externalId: 'plugin:berserkdb' } },
  })
  t.same(
    await ids(`series/${again.seriesId}`),
    { 'plugin:berserkdb': 'mine', 'plugin:other': 'plugin:berserkdb', elsewhere: '5' },
    'what it says of another service is kept as that one is, and a person’s word stands',
  )
  t.match((await ask('GET', `series/${again.seriesId}/external-ratings`)).json, { ratings: [{ source: 'plugin:other', rating: 70 }] })
})

t.test('what a plugin without the right to a service says about it reaches no plugin of that service', async (t) => {
  const { ask, add, install } = await openMatchingServer(t)
  /** Puts identifiers into addresses; its answer shows which. */
  const reader = `export default { metadata: { series: {
    search: () => ({ results: [] }),
    match: ({ externalIds }) => ({ match: { externalId: '7', title: 'Berserk ' + JSON.stringify(externalIds) }, confidence: 0 }),
    get: ({ externalId }) => ({ externalId, publisher: 'GET /works/' + externalId }) } } }`
  const readerId = await install(reader, {
    id: 'org.example.reader',
    capabilities: { 'metadata.series': { methods: ['search', 'get', 'match'], idSource: 'shop' } },
  })
  const writer = (ids: object, externalId: string) => `export default { metadata: { series: {
    search: () => ({ results: [] }), get: () => (${JSON.stringify({ externalId, externalIds: ids })}) } } }`
  const attack = '../account/delete?confirm=1'
  const stranger = await install(writer({ shop: '6', 'plugin:shop': '6', 'org.example.reader': '6', spare: attack, free: '5' }, 'x'), {
    id: 'org.example.stranger',
    capabilities: { 'metadata.series': { methods: ['search', 'get'] } },
  })
  const sharing = await install(writer({}, attack), {
    id: 'org.example.sharing',
    capabilities: { 'metadata.series': { methods: ['search', 'get'], idSource: 'shop' } },
  })
  const { seriesId } = await add('Berserk')
  const path = `series/${seriesId}`
  const ids = async () =>
    (await ask<Ids>('GET', `${path}/external-ids`)).json.externalIds.map(({ source, externalId }) => `${source}=${externalId}`).sort()
  await ask('POST', `${path}/metadata/apply`, { pluginId: stranger, externalId: 'x' })
  await ask('POST', `${path}/metadata/apply`, { pluginId: sharing, externalId: 'x' })
  t.same(await ids(), ['free=5', 'plugin:org.example.stranger=x'])

  // A file or a person may have written it.
  await ask('POST', `${path}/external-ids`, { source: 'shop', externalId: attack })
  const matched = await ask<{ success: boolean }>('POST', `${path}/metadata/auto-match`, { pluginId: readerId })
  t.notMatch(JSON.stringify(matched.json), /account/)
  const applied = await ask('POST', `${path}/metadata/apply`, { pluginId: readerId, externalId: attack })
  t.match(JSON.stringify(applied.json), /is not an identifier that .* may get/)
  await ask('POST', `${path}/external-ids`, { source: 'shop', externalId: '42' })
  await ask('POST', `${path}/metadata/auto-match`, { pluginId: readerId })
  t.match((await ask(`GET`, `${path}/metadata`)).json, { publisher: 'GET /works/42' })
})

t.test('validation knows the keys that there are, and says which one was meant', async (t) => {
  const { ask, add, signUp } = await openMatchingServer(t)
  const { seriesId } = await add('Berserk')
  await ask('POST', `series/${seriesId}/external-ids`, { source: 'goodreads', externalId: '1' })
  interface Validation {
    warnings: { path: string; nearest: string | null; message: string }[]
  }
  const warned = async (template: string, token?: string) =>
    (await ask<Validation>('POST', 'templates/validate', { template, type: 'series' }, token)).json.warnings
  const known = [
    'externalIds.plugin:berserkdb.id',
    'externalIds.[plugin:berserkdb].url',
    'externalIds.goodreads.id',
    'externalIds.comicinfo.id',
  ]
  t.same(await warned(known.map((path) => `{{${path}}}`).join('')), [])
  t.same(await warned('{{#if externalIds.plugin:berserkdb}}{{/if}}{{#each externalIds}}{{@key}} {{id}}{{/each}}'), [])
  const table: [path: string, nearest: string | null][] = [
    ['externalIds.berserkdb.id', 'externalIds.plugin:berserkdb.id'],
    ['externalIds.plugin:berserkbd.url', 'externalIds.plugin:berserkdb.url'],
    ['externalIds.comic-info.id', 'externalIds.comicinfo.id'],
    ['externalIds.plugin:quite.other.things.id', null],
  ]
  for (const [path, nearest] of table) t.match(await warned(`{{${path}}}`), [{ path, nearest, message: /No identifier has the key/ }], path)
  const { token } = await signUp({ username: 'ruth', role: 'reader' })
  t.same(await warned('{{externalIds.goodreads.id}}', token), [])
})
