import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openTemplates } from '#plugins/templates/templates.ts'
import { threadCpuMs, watchTurns } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

async function openPlayground(t: Test) {
  const supervisor = findSupervisor()
  const server = await openTestServer(t, { services: () => ({ templates: openTemplates(supervisor) }) })
  const { database, adminToken: token } = server
  const library_id = await addLibrary(database)
  const seriesId = await addSeries(database, { library_id, title: 'Home' })
  const bookId = await addBook(database, { library_id, series_id: seriesId, title: 'One & Two', page_count: 12 })
  await database('book_metadata').insert({ book_id: bookId, year: 1999 })
  const post = <T = Record<string, never>>(path: string, body: unknown) => server.request<T>('POST', `/api/v1${path}`, { token, body })
  const get = (path: string) => server.request('GET', `/api/v1${path}`, { token })
  return { ...server, bookId, seriesId, post, get }
}

t.test('a template is rendered over a book, a series or a context of one’s own', async (t) => {
  const { post, get, bookId, seriesId } = await openPlayground(t)
  t.match(await post('/templates/render', { template: '{{metadata.title}} ({{metadata.year}}) {{metadata.publisher}}', bookId }), {
    status: 200,
    json: {
      output: 'One & Two (1999) ',
      usedPaths: ['metadata.title', 'metadata.year', 'metadata.publisher'],
      missingPaths: ['metadata.publisher'],
      durationMs: Number,
    },
  })
  t.match(await post('/templates/render', { template: '{{type}} {{metadata.title}}', seriesId }), {
    status: 200,
    json: { output: 'series Home' },
  })
  t.match(await post('/templates/render', { template: '{{a.b}}', context: { a: { b: 1 } } }), { status: 200, json: { output: '1' } })
  t.match(await get(`/books/${bookId}/context`), { status: 200, json: { type: 'book', bookId, series: { seriesId } } })
  t.match(await get(`/series/${seriesId}/context`), { status: 200, json: { type: 'series', seriesId, bookCount: 1 } })
  const { json } = (await get('/templates/fields?type=series')) as unknown as { json: { fields: { path: string }[]; helpers: string[] } }
  t.ok(json.fields.some(({ path }) => path === 'metadata.totalVolumeCount') && json.helpers.includes('urlencode'))

  t.match(await post('/templates/render', { template: 'a\n{{shout x}}', bookId }), {
    status: 422,
    json: { error: 'invalid_value', message: /line 2, column 1/, details: [{ path: '/template', code: 'unknown_helper', line: 2 }] },
  })
  for (const body of [
    { template: '' },
    { template: '', bookId, seriesId },
    { template: 7, bookId },

    { bookId },
    { template: '', bookId, more: 1 },
  ])
    t.equal((await post('/templates/render', body)).status, 400, JSON.stringify(body))
  t.equal((await post('/templates/render', { template: 'x'.repeat(70_000), bookId })).status, 422)
  t.equal((await post('/templates/render', { template: '', bookId: seriesId })).status, 404)
})

t.test('validation points at the mistake, and at the field that was meant', async (t) => {
  const { post } = await openPlayground(t)
  t.match((await post('/templates/validate', { template: '{{metadata.title}}' })).json, { valid: true, errors: [], warnings: [] })
  t.match((await post('/templates/validate', { template: 'x\n  {{#each metadata.authors}}' })).json, {
    valid: false,
    errors: [{ message: /{{\/each}} is missing/, line: 2, column: 3 }],
  })
  t.match((await post('/templates/validate', { template: '{{metadata.titel}}\n{{#each metadata.authors}}{{nme}}{{/each}}' })).json, {
    valid: true,
    warnings: [
      { path: 'metadata.titel', nearest: 'metadata.title', line: 1, column: 3, message: /did you mean "metadata.title"/ },
      { path: 'metadata.authors[].nme', nearest: 'metadata.authors[].name', line: 2 },
    ],
  })
  t.match((await post('/templates/validate', { template: '{{bookId}}', type: 'series' })).json, { warnings: [{ path: 'bookId' }] })
})

t.test('the first twenty names that no field has get a suggestion', async (t) => {
  const { post } = await openPlayground(t)
  const validate = (template: string) =>
    post<{ valid: boolean; warnings: { nearest: string | null }[] }>('/templates/validate', { template })
  const many = await validate('{{metadata.titel}}'.repeat(30))
  t.equal(many.status, 200, many.text.slice(0, 200))
  t.equal(many.json.warnings.length, 30)
  t.equal(many.json.warnings.filter(({ nearest }) => nearest === 'metadata.title').length, 20, 'suggestions for the first of them')
  const nested = await validate(`{{#each ${'m'.repeat(20_000)}}}${'{{a}}'.repeat(20)}{{/each}}`)
  t.match(nested.json, { valid: false, errors: [{ message: /characters in total/ }] })
})

t.test('names that no field has cost no more than reading them', onlyCost, async (t) => {
  const { post } = await openPlayground(t)
  const begun = threadCpuMs()
  const long = await post('/templates/validate', { template: `{{${'metadata_titl'.repeat(4_600)}}}` })
  t.match(long.json, { warnings: [{ nearest: null }] })
  t.ok(threadCpuMs() - begun < 10_000, 'it took 26 s when every letter was compared with every other')
})

t.test('conditions say which rule failed, and over what', async (t) => {
  const { post, bookId, seriesId } = await openPlayground(t)
  const condition = {
    mode: 'all',
    rules: [
      { field: 'metadata.year', operator: 'gte', value: 2000 },
      { field: 'series.metadata.title', operator: 'equals', value: 'home' },
    ],
  }
  t.match(await post('/conditions/evaluate', { condition, bookId }), {
    status: 200,
    json: {
      passed: false,
      rules: [
        { field: 'metadata.year', operator: 'gte', value: 2000, actual: 1999, passed: false },
        { actual: 'Home', passed: true },
      ],
    },
  })
  t.match(await post('/conditions/evaluate', { condition: {}, seriesId }), { status: 200, json: { passed: true, rules: [] } })
  t.match(await post('/conditions/evaluate', { condition: { rules: [{ field: 'a', operator: 'like', value: 1 }] }, seriesId }), {
    status: 422,
    json: { details: [{ path: '/condition/rules/0/operator' }] },
  })
})

t.test('who burns the computer with templates does not slow the others', onlyCost, async (t) => {
  const { post, get, bookId, adminToken, url } = await openPlayground(t)
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
  await post('/templates/render', { template: 'x', bookId })
  const measure = async () => {
    const times: number[] = []
    for (const until = performance.now() + 2_000; performance.now() < until; ) {
      const begun = performance.now()
      t.equal((await get(`/books/${bookId}`)).status, 200)
      times.push(performance.now() - begun)
    }
    times.sort((a, b) => a - b)
    return {
      served: times.length,
      p50: times[Math.floor(times.length / 2)] as number,
      p99: times[Math.floor(times.length * 0.99)] as number,
    }
  }
  const quiet = await measure()
  let burning = true
  const list = Array.from({ length: 1_000 }, (_, n) => n)
  const bombs = [
    '{{#each list}}{{#each @root.list}}{{#each @root.list}}{{/each}}{{/each}}{{/each}}',
    '{{#each list}}{{#each @root.list}}{{@root.text}}{{/each}}{{/each}}',
  ]
  const statuses = new Map<number, number>()
  const burn = async (template: string) => {
    while (burning) {
      const answer = await fetch(`${url}/api/v1/templates/render`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ template, context: { list, text: 'x'.repeat(1_000_000 - 100_000) } }),
      })
      await answer.arrayBuffer()
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      await sleep(1)
    }
  }
  const burners = [burn(bombs[0] as string), burn(bombs[1] as string)]
  const loaded = await measure()
  burning = false
  await Promise.all(burners)
  const told = { quiet, loaded, statuses: Object.fromEntries(statuses) }
  t.comment('other requests while templates burn', told)
  t.ok((statuses.get(422) ?? 0) > 0, 'the bombs were stopped')
  t.equal(statuses.get(500) ?? 0, 0)
  // How much slower they are is what bench:templates measures, where nothing else runs.
  t.ok(loaded.served > quiet.served / 20, `others are served meanwhile: ${JSON.stringify(told)}`)
})

t.test('whatever conditions cost, others have their turn', onlyCost, async (t) => {
  const { post, get } = await openPlayground(t)
  const evaluate = (condition: object, context: object) => post<{ message: string }>('/conditions/evaluate', { condition, context })
  t.equal((await evaluate({}, {})).status, 200, 'the isolate is there')
  const rule = (value: string, operator = 'matches') => ({ field: 'text', operator, value })
  const worst: [condition: object, context: object][] = [
    [{ rules: Array.from({ length: 200 }, () => rule('(x+x+)+y{900}')) }, { text: 'x'.repeat(200_000) }],
    [{ rules: Array.from({ length: 200 }, () => rule('a{999}'.repeat(150).slice(0, 1_000))) }, { text: 'a' }],
    [{ rules: Array.from({ length: 20 }, () => rule('((a{0,99}){0,9}b?){0,9}')) }, { text: 'a'.repeat(900_000) }],
    [{ rules: [rule('.', 'is_null')] }, { text: Array.from({ length: 20_000 }, () => [['x']]) }],
  ]
  const turns = watchTurns()
  const answers = await Promise.all(worst.map(([condition, context]) => evaluate(condition, context)))
  // Runs of marks are cut to what a letter may bear before anybody compares them, so that this one is cheap.
  const marks = '\u0315\u0300'
  const bounded = await evaluate(
    { rules: Array.from({ length: 100 }, () => rule(marks.repeat(400), 'contains')) },
    { text: marks.repeat(60_000) },
  )
  t.equal(bounded.status, 200)
  t.equal((await get('/templates/fields')).status, 200)
  turns.close()
  for (const { status, text } of answers) t.ok([422, 503].includes(status), `${status} ${text.slice(0, 200)}`)
  t.ok(
    turns.longestMs() < 2_000,
    `the main thread stood still for ${Math.round(turns.longestMs())} ms; the first of them alone took many seconds`,
  )
  t.equal((await evaluate({ rules: [rule('^x')] }, { text: 'xyz' })).status, 200, 'and then it goes on')
})
