import { readFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { findFixtures, Recorder, writeFixtures } from '#plugins/devkit/fixture-files.ts'
import { replayEgress } from '#plugins/devkit/host-answers.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { openPluginFolder } from '#test/support/plugin-projects.ts'
import { openLoopback } from '#test/support/plugins.ts'
import { type Exchange, openReplay } from '../../../plugin-sdk/fixtures.ts'

const policy = { caller: 'org.example.echo', rules: [{ host: 'api.example.org', methods: ['GET', 'POST'] }], userAgent: 'test' }
const never = new AbortController().signal

t.test('responses are recorded, written and replayed', async (t) => {
  const folder = await openPluginFolder(t)
  let asked = 0
  const way = await openLoopback(t, (request, response) => {
    asked += 1
    const headers = { 'set-cookie': 'session=1', date: 'today', 'content-type': request.url === '/page' ? 'text/html' : 'application/json' }
    if (request.url === '/moved') response.writeHead(302, { location: '/page' }).end()
    else
      response
        .writeHead(request.url === '/gone' ? 410 : 200, headers)
        .end(request.url === '/page' ? '<p>' : JSON.stringify({ url: request.url }))
  })
  const before = {
    formatVersion: 1 as const,
    exchanges: [
      { request: { url: 'https://api.example.org/late' }, failure: { code: 'timeout' as const, message: 'late' } },
      { request: { url: 'https://api.example.org/a' }, response: { body: 'old' } },
    ],
  }
  const recorder = new Recorder(new HttpsEgress(way), before)
  const egress = recorder.open()
  const requests = [
    { url: 'https://api.example.org/a' },
    { url: 'https://api.example.org/a' },
    { url: 'https://api.example.org/gone' },
    { url: 'https://api.example.org/moved' },
    { url: 'https://api.example.org/a', method: 'POST', body: '{"x":1}' },
  ]
  const answers = []
  for (const request of requests) answers.push(await egress.fetch(request, policy, never))
  t.equal(asked, 6, 'every request reached the service, and redirects were followed')
  await t.rejects(egress.fetch({ url: 'https://api.example.org/late' }, policy, never), { own: 'timeout', message: 'late' })
  t.equal(asked, 6, 'an exchange that was written by hand still answers')
  await t.rejects(egress.fetch({ url: 'https://other.example.org/' }, policy, never), {
    name: 'GuestError',
    message: /is not a host that|is not https/,
  })

  const file = await writeFixtures(folder, 'recorded', recorder.exchanges(false))
  t.equal(file, path.join('fixtures', 'recorded.json'))
  const text = await readFile(path.join(folder, file), 'utf8')
  t.notMatch(text, /session|today|old/, 'no dates, no sessions, and no replaced responses')
  const read = await findFixtures(folder, 'recorded')
  if (read === null) return t.fail('the file is missing')
  t.equal(read.exchanges.length, 5)
  t.match(read.exchanges[1], { request: { url: 'https://api.example.org/a' }, response: { json: { url: '/a' } } })
  const unmatched: string[] = []
  const replayed = replayEgress(openReplay(read), unmatched)
  for (const [index, request] of requests.entries()) {
    const { status, url, body } = await replayed.fetch(request, policy, never)
    t.match(answers[index], { status, url, body }, request.url)
  }
  const strict = replayEgress(openReplay(read), unmatched)
  await t.rejects(strict.fetch({ url: 'https://api.example.org/new' }, policy, never), {
    own: 'upstream',
    message: /No fixture matches GET/,
  })
  await t.rejects(strict.fetch({ url: 'http://api.example.org/a' }, policy, never), {
    name: 'GuestError',
    message: /is not a host that|is not https/,
  })
  t.same(unmatched, ['GET https://api.example.org/new'], 'a request that a server refuses is not a missing fixture')
})

t.test('a recording replaces no failure and no status of 400 or more, and leaves every exchange its place and its members', async (t) => {
  const at = (name: string) => ({ url: `https://api.example.org/${name}` })
  const asked: string[] = []
  const way = await openLoopback(t, (request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(request.url === '/fresh' ? 401 : 200, { 'content-type': 'application/json' }).end('{"live":true}')
  })
  const busy: Exchange = { request: at('busy'), response: { status: 429, headers: { 'retry-after': '5' }, body: 'Slow down' }, times: 1 }
  const gone: Exchange = { request: at('gone'), response: { status: 404 } }
  const late: Exchange = { request: at('late'), failure: { code: 'timeout', message: 'late' } }
  const before: Exchange[] = [
    { request: at('page'), response: { json: { old: 1 } }, times: 1, required: true },
    { request: at('page'), response: { json: { old: 2 } } },
    busy,
    { request: at('busy'), response: { json: { old: 3 } } },
    gone,
    late,
    { request: at('other'), response: { json: { old: 4 } } },
  ]
  const recorder = new Recorder(new HttpsEgress(way), { formatVersion: 1, exchanges: before })
  const statuses: number[] = []
  for (const _plugin of ['one', 'another']) {
    const egress = recorder.open()
    for (const name of ['page', 'page', 'busy', 'busy', 'gone']) statuses.push((await egress.fetch(at(name), policy, never)).status)
  }
  const ofEach = [200, 200, 429, 200, 404]
  t.same(statuses, [...ofEach, ...ofEach], 'every plugin gets what was written, from its beginning')
  t.notOk(asked.includes('/gone'), 'the service is not asked for it')
  const live = { headers: { 'content-type': 'application/json' }, json: { live: true } }
  const expected = [
    { request: at('page'), response: live, times: 1, required: true },
    { request: at('page'), response: live },
    busy,
    { request: at('busy'), response: live },
    gone,
    late,
  ]
  t.same(recorder.exchanges(false), expected)
  t.same(recorder.exchanges(true), [...expected, before.at(-1)])
  t.same(recorder.kept, [busy, gone, late])

  t.equal((await recorder.open().fetch(at('fresh'), policy, never)).status, 401)
  t.same([...recorder.refused.values()], ['nothing was recorded for GET https://api.example.org/fresh: the service answered 401 this time'])
  t.same(recorder.exchanges(true), [...expected, before.at(-1)], 'a refusal that was recorded would stay')
})

t.test('invalid files are refused with name and place', async (t) => {
  const folder = await openPluginFolder(t, {
    files: {
      'fixtures/broken.json': '{',
      'fixtures/other.json': '{"formatVersion":2}',
      'fixtures/half.json': '{"formatVersion":1,"exchanges":[{"request":{"url":"https://a.example/"}}]}',
    },
  })
  t.equal(await findFixtures(folder, 'none'), null)
  await t.rejects(findFixtures(folder, 'broken'), { name: 'ToolProblem', message: /JSON/ })
  await t.rejects(findFixtures(folder, 'other'), {
    name: 'ToolProblem',
    message: /fixtures\/other\.json: must be an object with "formatVersion": 1/,
  })
  await t.rejects(findFixtures(folder, 'half'), { name: 'ToolProblem', message: /fixtures\/half\.json: exchange 0 needs either/ })
  for (const name of ['../manifest', '', 'a/b', '.hidden/../x', `${'x'.repeat(101)}`])
    await t.rejects(findFixtures(folder, name), { message: /is not a valid name for a file of fixtures/ }, name)
})

t.test('credentials are not recorded in fixtures', async (t) => {
  const TOKEN = 'tok-5f2a-very-secret-one'
  const way = await openLoopback(t, (request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => response.setHeader('etag', `"${request.url}"`).end(JSON.stringify({ url: request.url, body })))
  })
  const recorder = new Recorder(new HttpsEgress(way), null)
  for (const place of ['header', 'query', 'body'] as const) {
    const credential = { host: 'api.example.org', place, name: 'x-api-key', value: TOKEN }
    const asked = {
      url: `https://api.example.org/${place}?q=1`,
      method: 'POST',
      body: '{"q":1}',
      headers: { 'content-type': 'application/json' },
    }
    await recorder.open().fetch(asked, { ...policy, credential }, never)
  }
  t.equal(way.asked.length, 3)
  const exchanges = recorder.exchanges(false)
  t.equal(exchanges.length, 3)
  t.same(
    exchanges.map(({ request }) => [request.url, request.body]),
    ['header', 'query', 'body'].map((place) => [`https://api.example.org/${place}?q=1`, '{"q":1}']),
    'as the plugin sent it',
  )
  t.notMatch(JSON.stringify(exchanges), TOKEN)
  t.match(JSON.stringify(exchanges), /\[credential\]/)
})
