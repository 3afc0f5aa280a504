import t from 'tap'
import { bodyOf, type Exchange, openReplay, readFixtures } from '../../plugin-sdk/fixtures.ts'

const exchange = (change: Partial<Exchange> & { url?: string } = {}): Exchange => {
  const { url = 'https://api.example.org/a', ...more } = change
  return { request: { url }, response: { json: 1 }, ...more }
}
const play = (...exchanges: Exchange[]) => openReplay(readFixtures({ formatVersion: 1, exchanges }))
const get = (url: string) => ({ method: 'GET', url })

t.test('the first matching exchange answers a request', async (t) => {
  const a = exchange({ url: 'https://api.example.org/a?x=1&y=2' })
  const b = exchange({ request: { url: 'https://api.example.org/a?x=1&y=2', method: 'POST' } })
  const replay = play(a, b)
  t.equal(replay.next(get('https://API.example.org:443/a?y=2&x=1#there')), a, 'equivalent URLs match')
  t.equal(replay.next({ method: 'post', url: 'https://api.example.org/a?x=1&y=2', body: 'anything' }), b)
  for (const url of [
    'https://api.example.org/a?x=1',
    'https://api.example.org/a?x=1&y=2&z',
    'http://api.example.org/a?x=1&y=2',
    'nonsense',
    '',
  ])
    t.equal(replay.next(get(url)), null, url)
})

t.test('headers and bodies are compared when present', async (t) => {
  const url = 'https://api.example.org/graphql'
  const json = exchange({ request: { method: 'POST', url, json: { query: 'q', variables: { a: 1, b: [2, { c: 3 }] } } } })
  const text = exchange({ request: { method: 'POST', url, body: 'x=1' } })
  const typed = exchange({ request: { method: 'POST', url, headers: { 'Content-Type': 'text/plain' } } })
  const replay = play(json, text, typed)
  t.equal(replay.next({ method: 'POST', url, body: '{"variables":{"b":[2,{"c":3}],"a":1},"query":"q"}' }), json, 'members in any order')
  t.equal(replay.next({ method: 'POST', url, body: '{"variables":{"b":[{"c":3},2],"a":1},"query":"q"}' }), null, 'entries are not')
  t.equal(replay.next({ method: 'POST', url, body: 'x=1' }), text)
  t.equal(replay.next({ method: 'POST', url, body: 'x=2', headers: { 'content-type': 'text/plain', more: 'x' } }), typed)
  t.equal(replay.next({ method: 'POST', url, body: null }), null)
})

t.test('a used-up exchange is skipped, and unused required exchanges are reported', async (t) => {
  const busy = exchange({ times: 2, response: { status: 429 } })
  const fine = exchange({ required: true })
  const other = exchange({ url: 'https://api.example.org/b', required: true, times: 1 })
  const replay = play(busy, fine, other)
  t.same(replay.unused(), [fine, other])
  const url = 'https://api.example.org/a'
  t.same(
    [1, 2, 3, 4].map(() => replay.next(get(url))),
    [busy, busy, fine, fine],
  )
  t.same(replay.unused(), [other])
  t.equal(replay.next(get('https://api.example.org/b')), other)
  t.equal(replay.next(get('https://api.example.org/b')), null)
  t.same(replay.unused(), [])
  t.not(play(busy).next(get(url)), null, 'another replay has its own counts')
})

t.test('a body is text or JSON', async (t) => {
  t.equal(bodyOf({ body: 'x' }), 'x')
  t.equal(bodyOf({ json: { a: [null] } }), '{"a":[null]}')
  t.equal(bodyOf({ json: null }), 'null')
  t.equal(bodyOf({ status: 204 }), '')
})

t.test('an invalid file is refused with place and reason', async (t) => {
  const wrong: [value: unknown, message: RegExp][] = [
    [null, /dune\.json: must be an object with "formatVersion": 1/],
    [{ exchanges: [] }, /formatVersion/],
    [{ formatVersion: 1 }, /"exchanges" must be an array/],
    [{ formatVersion: 1, exchanges: Array.from({ length: 1_001 }, () => exchange()) }, /1001 exchanges; the limit is 1000/],
    [[exchange(), null], /exchange 1 must be an object/],
    [[{ response: {} }], /needs a request with an absolute "url"/],
    [[exchange({ url: '/a' })], /absolute/],
    [[{ request: { url: 'https://x.example.org' } }], /either a "response" or a "failure"/],
    [[exchange({ failure: { code: 'timeout', message: '' } })], /either/],
    [[{ request: { url: 'https://x.example.org' }, failure: { code: 'odd', message: 'x' } }], /timeout, upstream/],
    [[exchange({ times: 0 })], /"times"/],
    [[exchange({ time: 1 } as never)], /exchange 0 has the unknown member "time"; known are request, response, failure, times, required/],
    [[exchange({ required: 'yes' as never })], /"required"/],
    [[exchange({ response: { status: 99 } })], /200 to 599/],
    [[exchange({ response: { body: 'x', json: 1 } })], /both/],
    [[exchange({ response: { body: 7 as never } })], /not a string/],
    [[exchange({ response: { headers: { a: 1 } as never } })], /headers/],
    [[exchange({ response: { body: 'x'.repeat(5 * 1024 * 1024 + 1) } })], /the limit is 5242880/],
    [[exchange({ request: { url: 'https://x.example.org', method: 1 as never } })], /method/],
  ]
  for (const [value, message] of wrong)
    t.throws(
      () => readFixtures(Array.isArray(value) ? { formatVersion: 1, exchanges: value } : value, 'dune.json'),
      { message },
      String(message),
    )
  t.same(readFixtures({ formatVersion: 1, exchanges: [] }), { formatVersion: 1, exchanges: [] })
})
