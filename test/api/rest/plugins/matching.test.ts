import { randomUUID } from 'node:crypto'
import t from 'tap'
import { shareSeries } from '#test/support/library-rows.ts'
import { NOWHERE, openMatchingServer } from '#test/support/matching-server.ts'

t.setTimeout(240_000)

interface FieldShown {
  field: string
  currentValue: unknown
  proposedValue: unknown
  status: string
  reason: string | null
}
/** Where a call was made. */
const UUID = /^[0-9a-f-]{36}$/
interface PreviewShown {
  code: string | null
  callId: string | null
  externalUrl: string | null
  fields: FieldShown[]
  summary: Record<string, number>
}
interface AppliedShown {
  success: boolean
  message: string
  appliedFields: string[]
  skippedFields: { field: string; reason: string }[]
  applicationId: string | null
  dryRunReport: { changes: { field: string; before: unknown; after: unknown }[] } | null
}
interface MatchedShown extends AppliedShown {
  confidence: number | null
  skippedReason: string | null
  externalUrl: string | null
  matchedResult: { externalId: string; title: string } | null
}
interface ApplicationsShown {
  applications: {
    id: string
    pluginKey: string
    pluginDisplayName: string | null
    appliedBy: string | null
    fields: string[]
    undoneAt: string | null
  }[]
}
interface EnqueuedShown {
  tasksEnqueued: number
  taskIds: string[]
}

t.test('of a series: looked at, applied, and undone', async (t) => {
  const { ask, add, pluginId, maintainer } = await openMatchingServer(t)
  const { seriesId } = await add('Berserk')
  const path = `series/${seriesId}/metadata`
  t.same((await ask('GET', `${path}/search-title?pluginId=${pluginId}`)).json, {
    ...{ originalTitle: 'Berserk', searchTitle: 'Berserk', rulesApplied: 0 },
  })
  await ask('PATCH', path, { publisher: 'By hand' })
  await ask('PUT', `${path}/locks`, { genres: true })

  const from = { pluginId, externalId: 'b1' }
  const { status, json: preview } = await ask<PreviewShown>('POST', `${path}/preview`, from)
  t.equal(status, 200)
  t.match(preview, {
    ...{ pluginId, pluginName: 'Echo', externalId: 'b1', externalUrl: 'https://api.example.org/b1', error: null, code: null, callId: null },
  })
  const statusOf = Object.fromEntries(preview.fields.map((field) => [field.field, field.status]))
  t.match(statusOf, {
    ...{ title: 'unchanged', summary: 'will_apply', year: 'will_apply', publisher: 'locked', genres: 'locked', cover: 'will_apply' },
    ...{ imprint: 'not_provided', externalIds: 'will_apply' },
  })
  t.match(
    preview.fields.find(({ field }) => field === 'publisher'),
    { currentValue: 'By hand', proposedValue: 'Hakusensha', reason: /hand|locked/ },
  )
  const count = (name: string) => preview.fields.filter((field) => field.status === name).length
  t.same(preview.summary, {
    ...{ willApply: count('will_apply'), locked: 2, noPermission: 0 },
    ...{ unchanged: count('unchanged'), notProvided: count('not_provided') },
  })
  const before = (await ask('GET', `series/${seriesId}?full=true`)).text
  const willApply = preview.fields.filter((field) => field.status === 'will_apply').map(({ field }) => field)
  const dry = await ask<AppliedShown>('POST', `${path}/apply`, { ...from, dryRun: true })
  t.match(dry.json, { success: true, applicationId: null, appliedFields: willApply, skippedFields: [{ field: String, reason: String }] })
  t.match(
    dry.json.dryRunReport?.changes.find(({ field }) => field === 'year'),
    { before: null, after: 1989 },
  )
  t.equal((await ask('GET', `series/${seriesId}?full=true`)).text, before, 'a dry run changes nothing')
  t.same((await ask<ApplicationsShown>('GET', `${path}/applications`)).json, { applications: [] })

  const some = await ask<AppliedShown>('POST', `${path}/apply`, { ...from, fields: ['year'] })
  t.match(some.json, { success: true, appliedFields: ['year'], dryRunReport: null, applicationId: String })
  const all = await ask<AppliedShown>('POST', `${path}/apply`, { ...from, fields: null })
  t.same(
    all.json.appliedFields,
    willApply.filter((field) => field !== 'year'),
    'what is left of what was said',
  )
  t.match((await ask('GET', `series/${seriesId}?full=true`)).json, {
    metadata: { publisher: 'By hand', year: 1989, status: 'ongoing', summary: 'A swordsman & a sword.' },
    genres: [],
  })
  t.match(await ask('POST', `${path}/apply`, from), { status: 200, json: { success: true, appliedFields: [], applicationId: null } })

  const { applications } = (await ask<ApplicationsShown>('GET', `${path}/applications`)).json
  t.match(
    applications.map(({ id, undoneAt }) => [id, undoneAt]),
    [
      [all.json.applicationId, null],
      [some.json.applicationId, null],
    ],
    'the last first',
  )
  t.match(applications[0], {
    pluginId,
    pluginKey: 'org.example.echo',
    pluginDisplayName: 'Echo',
    pluginName: undefined,
    externalId: 'b1',
    appliedBy: maintainer.id,
  })
  t.ok(applications[0]?.fields.includes('cover'))

  const other = await add('Other')
  const missing = `/applications/${all.json.applicationId}/undo`
  t.match(await ask('POST', `series/${other.seriesId}/metadata${missing}`), { status: 404 }, 'not by way of another series')
  t.match(await ask('POST', `books/${other.bookId}/metadata${missing}`), { status: 404 }, 'nor of a book')
  t.match(await ask('POST', `${path}/applications/${randomUUID()}/undo`), { status: 404 })
  const undone = await ask<{ undoneFields: string[] }>('POST', `${path}${missing}`)
  t.equal(undone.status, 200)
  t.same(undone.json.undoneFields.toSorted(), all.json.appliedFields.toSorted(), 'not the title, which was the same')
  t.same(applications[0]?.fields.toSorted(), all.json.appliedFields.toSorted())
  t.match((await ask('GET', `series/${seriesId}?full=true`)).json, { metadata: { year: 1989, summary: null, publisher: 'By hand' } })
  t.match(await ask('POST', `${path}${missing}`), { status: 409, json: { error: 'conflict' } }, 'once')
  t.match((await ask<ApplicationsShown>('GET', `${path}/applications`)).json.applications[0], { undoneAt: String })
})

t.test('of a book the same', async (t) => {
  const { ask, add, pluginId } = await openMatchingServer(t)
  const { bookId } = await add('Berserk')
  const path = `books/${bookId}/metadata`
  t.match((await ask('GET', `${path}/search-title?pluginId=${pluginId}`)).json, { originalTitle: 'Berserk 1', searchTitle: 'Berserk 1' })
  const from = { pluginId, externalId: 'b1' }
  const { json: preview } = await ask<PreviewShown>('POST', `${path}/preview`, from)
  t.match(
    preview.fields.find(({ field }) => field === 'publisher'),
    { status: 'will_apply', proposedValue: 'Hakusensha' },
  )
  const { json: applied } = await ask<AppliedShown>('POST', `${path}/apply`, from)
  t.match(applied, { success: true, applicationId: String })
  t.match((await ask('GET', path)).json, { publisher: 'Hakusensha' })
  t.match((await ask<ApplicationsShown>('GET', `${path}/applications`)).json, { applications: [{ id: applied.applicationId }] })
  t.match(await ask('POST', `${path}/applications/${applied.applicationId}/undo`), { status: 200 })
  t.match((await ask('GET', path)).json, { publisher: null })
  const { json: matched } = await ask<MatchedShown>('POST', `${path}/auto-match`, { pluginId })
  t.match(matched, { success: true, matchedResult: { externalId: 'b1' }, confidence: Number, skippedReason: null })
  t.match((await ask('GET', path)).json, { publisher: 'Hakusensha' })
})

t.test('matched by itself: what is certain is applied, and a provider that fails is told in words', async (t) => {
  const { ask, add, pluginId, services, adminToken } = await openMatchingServer(t)
  const { seriesId } = await add('Berserk')
  const unlike = await add('Something else')
  const match = (id: string, body: object = {}) =>
    ask<MatchedShown>('POST', `series/${id}/metadata/auto-match`, { pluginId, ...body }).then(({ status, json }) => ({ status, ...json }))
  t.match(await match(unlike.seriesId), {
    ...{ status: 200, success: false, skippedReason: 'low_confidence', appliedFields: [], applicationId: null },
    matchedResult: { externalId: 'b1', title: 'Berserk', alternateTitles: ['Beruseruku'], year: 1989 },
  })
  for (const [query, message, code] of [
    ['rubbish', /invalid_result/, 'invalid_result'],
    ['limited', /wait|rate/, 'rate_limited'],
    ['slow', /timeout/, 'timeout'],
  ] as const)
    t.match(
      await match(seriesId, { query }),
      { status: 200, success: false, skippedReason: 'provider_failed', message, code, callId: UUID },
      query,
    )
  await services.pluginLifecycle.reset(pluginId)
  const matched = await match(seriesId, { query: null })
  t.match(matched, {
    ...{ status: 200, success: true, confidence: 1, skippedReason: null, applicationId: String },
    ...{ externalUrl: 'https://api.example.org/b1', matchedResult: { externalId: 'b1' } },
  })
  t.ok(matched.appliedFields.includes('year'))
  t.match(await match(unlike.seriesId, { query: 'Berserk' }), { success: true, confidence: 1 }, 'somebody has typed it')

  const path = `series/${seriesId}/metadata`
  const failed = await ask<PreviewShown>('POST', `${path}/preview`, { pluginId, externalId: 'bad' })
  t.equal(failed.status, 200)
  t.match(failed.json, { error: /invalid_result/, code: 'invalid_result', callId: UUID })
  const failures = `admin/plugins/${pluginId}/failures`
  const { json: known } = await ask<{ failures: { errorCode: string; context: { callId: string } }[] }>(
    'GET',
    failures,
    undefined,
    adminToken,
  )
  t.match(known.failures[0], { errorCode: failed.json.code, context: { callId: failed.json.callId } }, 'by which its log is found')
  t.ok(failed.json.fields.every(({ status, reason }) => status === 'not_provided' && /invalid_result/.test(reason ?? '')))
  t.match(await ask('POST', `${path}/apply`, { pluginId, externalId: 'gone' }), {
    ...{
      status: 200,
      json: { success: false, message: /no gone/, code: 'not_found', callId: UUID, appliedFields: [], applicationId: null },
    },
  })
  await services.pluginLifecycle.setEnabled(pluginId, false)
  t.match(await match(seriesId), { status: 200, success: false, skippedReason: 'plugin_disabled' })
})

t.test('in the background: one, many, and a library', async (t) => {
  const { ask, add, pluginId, libraryId, tasks, ended, install, services } = await openMatchingServer(t)
  const [one, two, unknown] = [await add('Berserk'), await add('Berserk two'), await add('Unknown')]
  const enqueue = (path: string, body: object) => ask<EnqueuedShown>('POST', `${path}/auto-match/task`, body)
  const first = await enqueue(`series/${one.seriesId}/metadata`, { pluginId })
  t.match(first, { status: 200, json: { success: true, tasksEnqueued: 1, taskIds: [String], message: String } })
  const again = await enqueue(`series/${one.seriesId}/metadata`, { pluginId })
  t.same(again.json.taskIds, first.json.taskIds, 'two that wait are one')
  const bulk = await ask<EnqueuedShown>('POST', 'series/metadata/auto-match/task/bulk', {
    seriesIds: [two.seriesId, unknown.seriesId, two.seriesId.toUpperCase()],
    pluginId,
  })
  t.match(bulk.json, { tasksEnqueued: 2 }, 'each once')
  const books = await ask<EnqueuedShown>('POST', 'books/metadata/auto-match/task/bulk', { bookIds: [one.bookId] })
  const book = await enqueue(`books/${two.bookId}/metadata`, {})
  await tasks.start()
  t.match(await ended(first.json.taskIds[0] as string), {
    ...{ taskType: 'auto_match_series', status: 'completed', seriesId: one.seriesId, seriesTitle: 'Berserk' },
    result: { recordId: one.seriesId, outcome: 'matched', appliedFields: ['year'].map(() => String) },
  })
  const results = await Promise.all(bulk.json.taskIds.map(ended))
  t.same(results.map(({ result }) => (result as { outcome: string }).outcome).toSorted(), ['matched', 'no_match'])
  for (const { json } of [books, book])
    t.match(await ended(json.taskIds[0] as string), { taskType: 'auto_match_book', result: { outcome: 'matched' } })
  t.match((await ask<ApplicationsShown>('GET', `series/${one.seriesId}/metadata/applications`)).json.applications, [{ appliedBy: null }])

  const other = `export default { metadata: { series: {
    search: ({ query }) => ({ results: [{ externalId: 'z', title: query, relevance: 1 }] }),
    get: () => ({ externalId: 'z', year: 2000, ageRating: 18 }) } } }`
  const METADATA = { 'metadata.series': { methods: ['search', 'get'], idSource: 'other' } }
  const otherId = await install(other, { id: 'org.example.other', capabilities: METADATA })
  await services.plugins.edit(otherId, { matching: { priority: 200 } })
  const whole = await enqueue(`libraries/${libraryId}/metadata`, {})
  t.match(whole.json, { tasksEnqueued: 1 })
  t.match(await ended(whole.json.taskIds[0] as string), {
    ...{ taskType: 'auto_match_library', status: 'completed', libraryId },
    result: { processed: 3, matched: 3 },
  })
  t.match(
    (await ask('GET', `series/${one.seriesId}?full=true`)).json,
    { metadata: { year: 1989, ageRating: 18 } },
    'who comes first fills first; who comes after fills what is missing',
  )
  for (const id of [pluginId, otherId]) await services.pluginLifecycle.setEnabled(id, false)
  t.match(await enqueue(`libraries/${libraryId}/metadata`, {}), { status: 409, json: { error: 'conflict', message: /No enabled plugin/ } })
  t.match(await enqueue(`books/${one.bookId}/metadata`, {}), { status: 409, json: { message: /books/ } })
})

t.test('who may not, what is not there, and what makes no sense', async (t) => {
  const { ask, add, pluginId, libraryId, signUp, accounts, database } = await openMatchingServer(t)
  const { seriesId, bookId } = await add('Berserk')
  const hidden = await add('Hidden')
  const reader = await signUp({ username: 'rita' })
  const mira = await signUp({ username: 'mira', role: 'maintainer' })
  await shareSeries(database, { seriesId: hidden.seriesId, caller: { userId: mira.id }, mode: 'deny' })
  const key = await accounts.createApiKey(
    { name: 'books', permissions: ['books-write'] },
    (await accounts.callers.ofToken(mira.token, 'token'))!,
  )
  const from = { pluginId, externalId: 'b1' }
  const one = (path: string): [method: string, path: string, body: object | undefined][] => [
    ['GET', `${path}/search-title?pluginId=${pluginId}`, undefined],
    ['POST', `${path}/preview`, from],
    ['POST', `${path}/apply`, from],
    ['POST', `${path}/auto-match`, { pluginId }],
    ['POST', `${path}/auto-match/task`, { pluginId }],
    ['GET', `${path}/applications`, undefined],
    ['POST', `${path}/applications/${NOWHERE}/undo`, undefined],
  ]
  const whole: [string, string, object][] = [['POST', `libraries/${libraryId}/metadata/auto-match/task`, {}]]
  const many = (ids: { seriesIds: string[] } | { bookIds: string[] }) =>
    ['POST', `${'seriesIds' in ids ? 'series' : 'books'}/metadata/auto-match/task/bulk`, { ...ids, pluginId }] as [string, string, object]
  const ofSeries = [...one(`series/${seriesId}/metadata`), ...whole, many({ seriesIds: [seriesId] })]
  const ofBooks = [...one(`books/${bookId}/metadata`), many({ bookIds: [bookId] })]
  for (const [method, path, body] of [...ofSeries, ...ofBooks])
    t.equal((await ask(method, path, body, reader.token)).status, 403, `${method} ${path} as a reader`)
  for (const [method, path, body] of ofSeries) t.equal((await ask(method, path, body, key.key)).status, 403, `${path} by a key for books`)
  for (const [method, path, body] of ofBooks) t.not((await ask(method, path, body, key.key)).status, 403, `${path} by a key for books`)
  const waiting = async () => Number((await database('tasks').count({ count: '*' }).first())?.['count'])
  const before = await waiting()
  const words = async (id: string, [method, path, body]: [string, string, object | undefined]) => {
    const { status, json } = await ask<{ message: string }>(method, path, body, mira.token)
    return [status, json.message.replaceAll(id, '<id>')]
  }
  for (const [kind, hiddenId] of [
    ['series', hidden.seriesId],
    ['books', hidden.bookId],
  ] as const) {
    const asked = (id: string) => [
      ...one(`${kind}/${id}/metadata`),
      many(kind === 'series' ? { seriesIds: [seriesId, id] } : { bookIds: [bookId, id] }),
    ]
    const unknown = asked(NOWHERE)
    for (const [index, request] of asked(hiddenId).entries()) {
      const said = await words(hiddenId, request)
      t.equal(said[0], 404, `${request[1]} of what is hidden`)
      t.same(said, await words(NOWHERE, unknown[index] as never), 'in the words of what has never been')
    }
  }
  t.equal(await waiting(), before, 'all or nothing')

  const path = `series/${seriesId}/metadata`
  const nobody = { ...from, pluginId: NOWHERE }
  for (const [method, way, body] of [
    ['GET', `search-title?pluginId=${NOWHERE}`, undefined],
    ['GET', 'search-title?pluginId=org.example.nobody', undefined],
    ['POST', 'preview', nobody],
    ['POST', 'apply', nobody],
    ['POST', 'auto-match', { pluginId: NOWHERE }],
    ['POST', 'auto-match/task', { pluginId: NOWHERE }],
    ['POST', 'auto-match/task', { pluginId: 'org.example.nobody' }],
  ] as const)
    t.match(await ask(method, `${path}/${way}`, body), { status: 404, json: { error: 'not_found', message: /plugin/ } }, way)
  for (const [status, method, way, body] of [
    [400, 'GET', 'search-title', undefined],
    [400, 'POST', 'preview', { pluginId }],
    [422, 'POST', 'preview', { pluginId, externalId: '' }],
    [400, 'POST', 'apply', { ...from, fields: 'title' }],
    [400, 'POST', 'apply', { ...from, overwriteLocks: true }],
    [422, 'POST', 'apply', { ...from, fields: ['passwords'] }],
    [400, 'POST', 'auto-match', { pluginId, query: 5 }],
    [400, 'POST', 'auto-match', []],
    [400, 'POST', 'applications/x/undo', undefined],
  ] as const)
    t.match(
      await ask(method, `${path}/${way}`, body),
      { status, json: { error: status === 400 ? 'invalid_request' : 'invalid_value' } },
      `${way} ${Object.values(body ?? {}).join()}`,
    )
  for (const seriesIds of [[], Array.from({ length: 101 }, () => seriesId), ['x']])
    t.equal((await ask('POST', 'series/metadata/auto-match/task/bulk', { seriesIds })).status, 422, `${seriesIds.length} ids`)
  t.match(await ask('POST', `libraries/${NOWHERE}/metadata/auto-match/task`, {}), { status: 404 })
})
