import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import { recordEmbedded } from '#core/analysis/record-embedded.ts'
import { addCover, findCoverRow, selectCover } from '#core/covers/chosen-cover-store.ts'
import { silentLog } from '#core/foundation/log.ts'
import { Proposals } from '#core/matching/apply-proposal.ts'
import { Matching } from '#core/matching/matching.ts'
import { aggregateSeries } from '#core/metadata/aggregate-series.ts'
import { lockMetadata, patchMetadata } from '#core/metadata/edit-metadata.ts'
import { readRecords } from '#core/metadata/metadata-record-store.ts'
import { SETS, type SetEntries, type SetName, valueOfSet } from '#core/metadata/metadata-set.ts'
import { readSets } from '#core/metadata/metadata-set-store.ts'
import { PluginProviders } from '#plugins/host/provider-client.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { openTemplates } from '#plugins/templates/templates.ts'
import { addBook, addCaller, addLibrary, addSeries, listOrphanedPeople } from '#test/support/library-rows.ts'
import { makePicture } from '#test/support/pictures.ts'
import { fine, openPictures, openTestHost } from '#test/support/plugin-hosts.ts'
import { openLoopback, pluginOf } from '#test/support/plugins.ts'
import { findRules, findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

/** A provider with two works; the identifier can select other answers. */
const PROVIDER = (change = '') => `
const works = {
  b1: { externalId: 'b1', externalUrl: 'https://api.example.org/b1', title: 'Berserk', summary: '<p>A <b>swordsman</b> &amp; a sword.</p>', status: 'ongoing', year: 1989,
    publisher: 'Hakusensha', language: 'ja', genres: ['Dark Fantasy', 'Action'], tags: ['Swords'], authors: [{ name: 'Kentaro Miura', role: 'author' }],
    alternateTitles: [{ title: 'ベルセルク', language: 'ja' }], rating: { score: 93, voteCount: 10 }, externalIds: { other: 'x9' },
    externalLinks: [{ label: 'Wiki', url: 'https://wiki.example.org/b' }], totalVolumeCount: 42, coverUrl: 'https://covers.example.org/b1.png' },
  n1: { externalId: 'n1', title: 'Nana', genres: ['Drama'] },
}
export default { metadata: { series: {
  async search({ query }) {
    if (query === 'slow') await new Promise(() => {})
    if (query === 'limited') throw Object.assign(new Error('wait'), { code: 'rate_limited' })
    if (query === 'rubbish') return { results: [{ nothing: 1 }] }
    return { results: Object.values(works).map(({ externalId, title, year }) => ({ externalId, title, year: year ?? null, relevance: 1 })) }
  },
  get({ externalId }) {
    if (externalId === 'bad') return { externalId, title: 5 }
    const work = works[externalId]
    if (!work) throw Object.assign(new Error('There is no ' + externalId), { code: 'not_found' })
    ${change}
    return work
  } } } }`
const MANIFEST = {
  capabilities: { 'metadata.series': { methods: ['search', 'get'], idSource: 'berserkdb' } },
  permissions: { network: [{ host: '*.example.org', reason: 'The service' }] },
}

/** The sets of a series in the form of a preview, and whether a cover is selected. */
async function readFacts(database: Knex, id: string): Promise<{ facts: Record<SetName, unknown>; hasChosenCover: boolean }> {
  const sets = (await readSets(database, 'series', [id], SETS.series)).get(id) ?? {}
  const shown = Object.entries(sets).map(([name, { entries }]) => {
    const values = [...entries].map(([key, { value }]) => [key, value] as [string, SetEntries[SetName]])
    return [name, valueOfSet(name as SetName, values)]
  })
  return { facts: Object.fromEntries(shown), hasChosenCover: (await findCoverRow(database, { kind: 'series', id }, 'selected')) !== null }
}

async function openMatcher(t: Test, manifest: Record<string, unknown> = {}, answer?: RequestListener) {
  const supervisor = findSupervisor()
  const { database, host, run } = await openTestHost(t, fine, { supervisor })
  const { id: pluginId } = await run(PROVIDER(), { ...MANIFEST, ...manifest })
  const picture = await makePicture({ width: 60, height: 90 })
  const slow = { cover: async () => {} }
  const showPicture: RequestListener = async (_request, response) => {
    await slow.cover()
    response.setHeader('content-type', 'image/jpeg')
    response.end(picture)
  }
  const covers = await openLoopback(t, answer ?? showPicture)
  const folder = t.testdir()
  const providers = new PluginProviders({ ...host, database })
  const proposals = new Proposals({
    ...{ database, providers, log: silentLog, settings: { dataFolder: folder } },
    downloadCover: openPictures(database, host, new HttpsEgress(covers)).download,
    drawCover: async (bytes) => {
      const drawn = { jpeg: Buffer.from(bytes), width: 60, height: 90, color: '#804020' }
      return { large: drawn, small: drawn }
    },
  })
  const known = { database, providers, proposals, settings: { dataFolder: folder } }
  const matching = new Matching({ ...known, render: openTemplates(supervisor).renderMany, rules: findRules() })
  const libraryId = await addLibrary(database)
  const target = async (title: string) => {
    const id = await addSeries(database, { library_id: libraryId, title })
    await addBook(database, { library_id: libraryId, series_id: id, title: `${title} 1` })
    return { kind: 'series' as const, id }
  }
  const values = async ({ id }: { id: string }) => (await readRecords(database, 'series', [id])).get(id)?.values
  return { database, host, pluginId, matching, libraryId, target, values, slow, caller: await addCaller(database, { role: 'admin' }) }
}

t.test('preview returns what apply does, locks and edits of users stay, and undo restores the previous values', async (t) => {
  const { database, matching, pluginId, target, values, caller } = await openMatcher(t)
  const series = await target('Berserk')
  await patchMetadata(database, caller, { kind: 'series', ids: [series.id], patch: { publisher: 'By hand' } })
  await database('series_metadata')
    .where('series_id', series.id)
    .update({ locks: ['publisher', 'genres'] })
  const before = await values(series)
  const { fields } = await matching.preview(series, { pluginId, externalId: 'b1' })
  const statuses = Object.fromEntries(fields.map(({ field, status }) => [field, status]))
  t.match(statuses, {
    ...{ title: 'unchanged', summary: 'will_apply', publisher: 'locked', genres: 'locked', tags: 'will_apply', cover: 'will_apply' },
    ...{ imprint: 'not_provided', externalIds: 'will_apply', externalRatings: 'will_apply', alternateTitles: 'will_apply' },
  })
  t.match(fields.find(({ field }) => field === 'summary')?.proposedValue, 'A swordsman & a sword.', 'free of markup')

  const applied = await matching.apply(series, { pluginId, externalId: 'b1', fields: null, dryRun: false, userId: caller.userId })
  t.same(
    applied.fields.filter(({ status }) => status === 'will_apply').map(({ field }) => field),
    fields.filter(({ status }) => status === 'will_apply').map(({ field }) => field),
    'as the preview said',
  )
  t.match(await values(series), {
    publisher: 'By hand',
    year: 1989,
    status: 'ongoing',
    totalVolumeCount: 42,
    authors: [{ name: 'Kentaro Miura' }],
  })
  t.equal((await database('series_people')).length, 1)
  const { facts, hasChosenCover } = await readFacts(database, series.id)
  t.same(facts, {
    genres: [],
    tags: ['Swords'],
    alternateTitles: [{ title: 'ベルセルク', label: 'ja' }],
    externalIds: {
      'plugin:berserkdb': { externalId: 'b1', externalUrl: 'https://api.example.org/b1' },
      other: { externalId: 'x9', externalUrl: null },
    },
    externalLinks: { Wiki: 'https://wiki.example.org/b' },
    externalRatings: { 'plugin:berserkdb': { rating: 93, voteCount: 10 } },
  })
  t.equal(hasChosenCover, true)
  const again = await matching.preview(series, { pluginId, externalId: 'b1' })
  t.same(
    again.fields.filter(({ status }) => status === 'will_apply'),
    [],
    'applied twice changes nothing',
  )

  await patchMetadata(database, caller, { kind: 'series', ids: [series.id], patch: { year: 1990 } })
  const undone = await matching.undo(applied.applicationId as string)
  t.same(undone.left, [{ field: 'year', reason: 'It was locked since.' }])
  t.same(await values(series), { ...before, year: 1990 })
  t.same(await listOrphanedPeople(database), [])
  const left = await readFacts(database, series.id)
  t.match(left.facts, { tags: [], alternateTitles: [], externalIds: {}, externalLinks: {}, externalRatings: {} })
  t.equal(left.hasChosenCover, false, 'the cover is removed too')
  await t.rejects(matching.undo(applied.applicationId as string), { code: 'conflict' })
})

t.test('undo removes several titles that one application added', async (t) => {
  const { database, host, matching, pluginId, target, caller } = await openMatcher(t)
  const many = Array.from({ length: 12 }, (_, index) => ({ title: `Berserk ${index}`, language: 'ja' }))
  const titles = `if (externalId === 'n1') return { ...work, alternateTitles: ${JSON.stringify(many)} }`
  const { plugin } = await host.pluginLifecycle.install(pluginOf(PROVIDER(titles), { ...MANIFEST, version: '2.0.0' }), { userId: null })
  t.equal(plugin.version, '2.0.0')
  const series = await target('Nana')
  const how = { pluginId, externalId: 'n1', fields: ['alternateTitles'], dryRun: false, userId: caller.userId }
  const { applicationId } = await matching.apply(series, how)
  t.equal(((await readFacts(database, series.id)).facts.alternateTitles as unknown[]).length, 12)
  t.match(await matching.undo(applicationId as string), { undone: ['alternateTitles'], left: [] })
  t.same((await readFacts(database, series.id)).facts.alternateTitles, [])
})

t.test('a provider gives only the fields that it is used for, and its own identifier', async (t) => {
  const { database, host, matching, pluginId, target, values, caller } = await openMatcher(t)
  const apply = async (metadataTargets: string[]) => {
    const series = await target('Berserk')
    await host.plugins.edit(pluginId, { matching: { metadataTargets } })
    await matching.apply(series, { pluginId, externalId: 'b1', fields: null, dryRun: false, userId: caller.userId })
    const { facts, hasChosenCover } = await readFacts(database, series.id)
    const sets = Object.entries(facts).filter(([, value]) => Object.keys(value as object).length > 0)
    return { sets: Object.fromEntries(sets), hasChosenCover, summary: (await values(series))?.summary }
  }
  const own = { 'plugin:berserkdb': { externalId: 'b1', externalUrl: 'https://api.example.org/b1' } }
  t.same(await apply([]), { sets: { externalIds: own }, hasChosenCover: false, summary: undefined })
  t.same(await apply(['summary']), { sets: { externalIds: own }, hasChosenCover: false, summary: 'A swordsman & a sword.' })
  const services = await apply(['externalIds', 'externalLinks', 'externalRatings'])
  t.same(Object.keys(services.sets).sort(), ['externalIds', 'externalLinks', 'externalRatings'])
  t.same(Object.keys(services.sets.externalIds as object).sort(), ['other', 'plugin:berserkdb'])
})

t.test('an application that was undone first is not restored when the later one is undone', async (t) => {
  const { database, matching, pluginId, target, values, caller } = await openMatcher(t)
  const series = await target('Berserk')
  const before = { values: await values(series), ...(await readFacts(database, series.id)) }
  const ids: string[] = []
  for (const externalId of ['b1', 'n1']) {
    const how = { pluginId, externalId, fields: null, dryRun: false, userId: caller.userId }
    ids.push((await matching.apply(series, how)).applicationId as string)
  }
  const { undone, left } = await matching.undo(ids[0] as string)
  t.ok(undone.includes('summary'))
  t.ok(
    left.some(
      ({ field, reason }) => field === 'title' || (field === 'genres' && reason === 'Metadata that was applied later replaced it.'),
    ),
  )
  t.match(await values(series), { title: 'Nana' })
  await matching.undo(ids[1] as string)
  t.same({ values: await values(series), ...(await readFacts(database, series.id)) }, before)
})

t.test('undo does not restore aggregated metadata that the books no longer contain', async (t) => {
  const { database, matching, pluginId, target, caller } = await openMatcher(t)
  const series = await target('Berserk')
  const [{ id: bookId }] = await database('books').where('series_id', series.id).select('id')
  const read = async (genres: string[]) =>
    await database.transaction(async (trx) => {
      await recordEmbedded(trx, [
        { bookId, fileName: 'Berserk 1.cbz', bookStrategy: 'filename', numberStrategy: 'smart', embedded: { genres } },
      ])
      await aggregateSeries(trx, [series.id])
    })
  await read(['Horror', 'Gothic'])
  const how = { pluginId, externalId: 'b1', fields: ['genres'], dryRun: false, userId: caller.userId }
  const { applicationId } = await matching.apply(series, how)
  t.same((await readFacts(database, series.id)).facts.genres, ['Action', 'Dark Fantasy'])
  await read(['Gothic'])
  t.match(await matching.undo(applicationId as string), { undone: ['genres'] })
  t.same((await readFacts(database, series.id)).facts.genres, ['Gothic'])
})

t.test('a cover that is fetched after the undo is removed', async (t) => {
  const { database, matching, pluginId, target, slow, caller } = await openMatcher(t)
  const series = await target('Berserk')
  slow.cover = async () => {
    const [application] = await matching.applications(series)
    await matching.undo(application?.id as string)
  }
  await matching.apply(series, { pluginId, externalId: 'b1', fields: null, dryRun: false, userId: caller.userId })
  t.equal((await readFacts(database, series.id)).hasChosenCover, false)
  t.same(await database('covers'), [])
})

t.test("a cover that a user selected stays: while a plugin's cover is fetched, and when that is undone", async (t) => {
  const { database, matching, pluginId, target, slow, caller } = await openMatcher(t)
  const how = { pluginId, externalId: 'b1', fields: null, dryRun: false, userId: caller.userId }
  const coversOf = async ({ id }: { id: string }) =>
    await database('covers').where('series_id', id).orderBy('source').select('source', 'is_selected', 'given_by')
  const chosen = await target('Berserk')
  slow.cover = async () => {
    const picture = { source: 'custom', hash: 'h', width: 1, height: 1, color: null, given_by: 'user' as const }
    await addCover(database, chosen, { id: randomUUID(), ...picture })
  }
  const { fields } = await matching.apply(chosen, how)
  t.match(
    fields.find(({ field }) => field === 'cover'),
    { status: 'not_provided', reason: /chosen in the meantime/ },
  )
  t.same(await coversOf(chosen), [{ source: 'custom', is_selected: true, given_by: 'user' }])

  const locked = await target('Berserk')
  slow.cover = async () => {
    await lockMetadata(database, caller, { kind: 'series', ids: [locked.id], locks: { coverLock: true } })
  }
  await matching.apply(locked, how)
  t.same(await coversOf(locked), [], 'a lock counts from the moment when it is set')

  slow.cover = async () => {}
  const confirmed = await target('Berserk')
  const { applicationId } = await matching.apply(confirmed, how)
  t.match(await coversOf(confirmed), [{ is_selected: true, given_by: 'plugin' }])
  const [row] = await database('covers').where('series_id', confirmed.id)
  await selectCover(database, confirmed, row.id)
  const { undone, left } = await matching.undo(applicationId as string)
  t.ok(undone.includes('summary'))
  t.match(left, [{ field: 'cover', reason: /chosen this cover since/ }])
  t.match(await coversOf(confirmed), [{ is_selected: true, given_by: 'user' }])
})

t.test('only what was chosen, only what the provider is used for, and nothing in a dry run', async (t) => {
  const { host, matching, pluginId, target, values } = await openMatcher(t)
  const series = await target('Berserk')
  const from = { pluginId, externalId: 'b1', fields: ['summary', 'genres'], dryRun: true, userId: null }
  const before = await values(series)
  t.same(
    (await matching.apply(series, from)).fields.filter(({ status }) => status === 'will_apply').map(({ field }) => field),
    ['summary', 'genres'],
  )
  t.same(await values(series), before)
  await host.plugins.edit(pluginId, { matching: { metadataTargets: ['year'] } })
  const { fields } = await matching.apply(series, { ...from, fields: null, dryRun: false })
  t.same(
    fields.filter(({ status }) => status === 'will_apply').map(({ field }) => field),
    ['year', 'externalIds'],
    'and the identifier by which later matches find it',
  )
  await t.rejects(matching.apply(series, { ...from, fields: ['passwords'] }), { code: 'invalid_value', message: /not a field/ })
})

t.test('only a match with enough confidence is applied, and a known identifier comes first', async (t) => {
  const { database, host, matching, pluginId, target, values } = await openMatcher(t)
  const how = { pluginId, userId: null }
  const series = await target('Berserk')
  t.match(await matching.autoMatch(series, how), { success: true, match: { externalId: 'b1' }, confidence: 1 })
  t.match(await values(series), { year: 1989 })
  t.match(await matching.autoMatch(await target('Something else'), how), { success: false, skipped: 'low_confidence', confidence: Number })
  const admin = await addCaller(database, { role: 'admin' })
  await patchMetadata(database, admin, { kind: 'series', ids: [series.id], patch: { title: 'Called otherwise' } })
  t.match(await matching.autoMatch(series, how), { success: true, match: null, confidence: 1 }, 'the identifier is known')
  t.match(
    await matching.autoMatch(await target('Nana Osaki'), { ...how, query: 'Nana' }),
    { success: true, match: { externalId: 'n1' } },
    'the text that a user entered',
  )
  t.match(await matching.autoMatch(await target('Berserk'), { ...how, existingIdsOnly: true }), { skipped: 'no_match' })

  await host.plugins.edit(pluginId, {
    matching: { searchPreprocessingRules: [{ pattern: ' \\(Digital\\)', replacement: '' }], searchQueryTemplate: '{{metadata.title}}' },
  })
  const digital = await target('Nana (Digital)')
  t.same(await matching.searchTitle(digital, pluginId), { originalTitle: 'Nana (Digital)', searchTitle: 'Nana', rulesApplied: 1 })
  t.match(await matching.autoMatch(digital, how), { success: true, match: { externalId: 'n1' } })
})

t.test('conditions, libraries and states exclude a provider', async (t) => {
  const { database, host, matching, pluginId, libraryId, target } = await openMatcher(t)
  const series = await target('Berserk')
  const how = { pluginId, userId: null }
  const never = { mode: 'all', rules: [{ field: 'metadata.title', operator: 'equals', value: 'x' }] }
  await host.plugins.edit(pluginId, { matching: { autoMatchConditions: never } })
  t.match(await matching.autoMatch(series, how), { skipped: 'plugin_conditions_not_met' })
  t.match(await matching.autoMatch(series, { ...how, query: 'Berserk' }), { success: true }, 'a manual request')
  await host.plugins.edit(pluginId, { matching: { libraryIds: ['00000000-0000-4000-8000-000000000000'] } })
  t.match(await matching.autoMatch(series, how), { skipped: 'no_matching_targets' })
  await host.plugins.edit(pluginId, { matching: {} })
  await database('libraries')
    .where('id', libraryId)
    .update({ auto_match_conditions: JSON.stringify(never) })
  t.match(await matching.autoMatch(series, how), { skipped: 'library_conditions_not_met' })
  t.match(await matching.autoMatch({ kind: 'book', id: series.id }, how), { skipped: 'no_matching_targets' })
  await host.pluginLifecycle.setEnabled(pluginId, false)
  t.match(await matching.autoMatch(series, how), { skipped: 'plugin_disabled' })
})

t.test('a slow, limited or invalid provider gives a failure with a message, never an exception', async (t) => {
  const { matching, pluginId, target, values } = await openMatcher(t, { limits: { wallMs: 3_000 } })
  const series = await target('Berserk')
  const before = await values(series)
  const how = { pluginId, userId: null }
  t.match(await matching.autoMatch(series, { ...how, query: 'rubbish' }), {
    success: false,
    skipped: 'provider_failed',
    message: /invalid_result/,
  })
  t.match(await matching.autoMatch(series, { ...how, query: 'limited' }), {
    success: false,
    skipped: 'provider_failed',
    retryAfterSeconds: 30,
  })
  t.match(await matching.autoMatch(series, { ...how, query: 'slow' }), { success: false, skipped: 'provider_failed', message: /timeout/ })
  const { fields } = await matching.preview(series, { pluginId, externalId: 'bad' })
  t.ok(fields.every(({ status, reason }) => status === 'not_provided' && /invalid_result/.test(reason ?? '')))
  t.match(await matching.apply(series, { pluginId, externalId: 'gone', fields: null, dryRun: false, userId: null }), {
    success: false,
    message: /no gone/,
  })
  t.same(await values(series), before)
})

t.test('the second of two providers only fills gaps', async (t) => {
  const { host, matching, pluginId, target, values } = await openMatcher(t)
  const series = await target('Berserk')
  const { pluginOf } = await import('#test/support/plugins.ts')
  const other = `export default { metadata: { series: {
    search: () => ({ results: [{ externalId: 'z', title: 'Berserk', relevance: 1 }] }),
    get: () => ({ externalId: 'z', title: 'Other', year: 2000, ageRating: 18 }) } } }`
  const bytes = pluginOf(other, { id: 'org.example.other', capabilities: MANIFEST.capabilities })
  const { plugin, sha256 } = await host.pluginLifecycle.install(bytes, { userId: null })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  await host.plugins.edit(plugin.id, { matching: { useExistingExternalId: false } })
  await matching.autoMatch(series, { pluginId, userId: null })
  t.match(await matching.autoMatch(series, { pluginId: plugin.id, userId: null, gapsOnly: true }), { success: true })
  t.match(await values(series), { title: 'Berserk', year: 1989, ageRating: 18 })
})

t.test('a cover that cannot be fetched is reported, and an application without other changes is not stored', async (t) => {
  const { database, matching, pluginId, target } = await openMatcher(t, {}, (_request, response) => response.writeHead(404).end())
  const series = await target('Berserk')
  const from = { pluginId, externalId: 'b1', fields: null, dryRun: false, userId: null }
  const first = await matching.apply(series, from)
  t.match(
    first.fields.find(({ field }) => field === 'cover'),
    { status: 'not_provided' },
  )
  t.ok(first.applicationId, 'it changed more than the cover')
  t.match(await matching.apply(series, from), { success: true, applicationId: null })
  t.equal((await database('metadata_applications')).length, 1)
})
