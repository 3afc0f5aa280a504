import { test } from 'tap'
import Type from 'typebox'
import { describeRoutes } from '#api/docs/openapi.ts'
import { type Mount, mountsOf } from '#api/http/mount.ts'
import type { Services } from '#api/http/services.ts'
import { refuse } from '#core/foundation/errors.ts'
import { endpoint } from '#test/support/route.ts'
import { get, openTestServer } from '#test/support/server.ts'

const Said = Type.Object({ said: Type.String(), at: Type.String() }, { title: 'Said' })

const dialectOf = (challenge: string): Mount<Services>['dialect'] => ({
  challenge,
  refusalOf: ({ status, body }, { path }) => ({
    status: status === 422 ? 400 : status,
    body: { said: body.message, at: path },
    mediaType: 'application/said+json',
    headers: { 'X-Said': 'yes' },
  }),
  shapeOf: () => ({ schema: Said, mediaType: 'application/said+json' }),
  readQuery: (given) => new URLSearchParams([...given].map(([name, value]): [string, string] => [name.replace('[]', ''), value])),
})

/** Below any first word; open below the word `open` alone. */
const mount: Mount<Services> = {
  dialect: dialectOf('Basic realm="Said"'),
  covers: (path) => /^\/\w+\/said(\/|$)/.test(path),
  isOpen: async (path) => path.startsWith('/open/'),
}

const params = Type.Object({ prefix: Type.String() })
const routes = [
  endpoint({
    method: 'GET',
    path: '/plain',
    name: 'getPlain',
    summary: 'One',
    tag: 'x',
    allow: { who: 'user' },
    reply: Type.Object({}),
    run: async () => ({}),
  }),
  endpoint({
    method: 'GET',
    path: '/:prefix/said/names',
    summary: 'Two',
    tag: 'x',
    allow: { who: 'public' },
    mount,
    params,
    query: Type.Object({ name: Type.Optional(Type.Array(Type.String())), wrong: Type.Optional(Type.Boolean()) }),
    reply: Type.Object({ names: Type.Array(Type.String()) }),
    run: async (_call, { query }) => (query.wrong ? refuse('invalid_value', 'That breaks a rule.') : { names: query.name ?? [] }),
  }),
  endpoint({
    method: 'GET',
    path: '/:prefix/said/secret',
    summary: 'Three',
    tag: 'x',
    allow: { who: 'user', basic: true },
    mount,
    params,
    reply: Type.Object({}),
    run: async () => ({}),
  }),
]

test('a mount speaks its dialect', async (t) => {
  const { url, adminToken } = await openTestServer(t, { routes })
  const ask = async (path: string, options: { method?: string; headers?: Record<string, string> } = {}) => {
    const { status, headers, bytes } = await get(url + path, options)
    const text = bytes.toString()
    return { status, headers, json: text === '' ? undefined : JSON.parse(text) }
  }

  t.test('in refusals of its routes', async (t) => {
    const wrong = await ask('/open/said/names?wrong=true')
    t.match(wrong, { status: 400, json: { said: 'That breaks a rule.', at: '/open/said/names' } })
    t.equal(wrong.headers['content-type'], 'application/said+json')
    t.equal(wrong.headers['x-said'], 'yes')
    t.match(await ask('/open/said/names?wrong=7'), { status: 400, json: { at: '/open/said/names' } }, 'the checks of form are told so too')
  })
  t.test('a foreign protocol asks for a password in its own words', async (t) => {
    const { status, headers } = await ask('/open/said/secret')
    t.match({ status, challenge: headers['www-authenticate'] }, { status: 401, challenge: 'Basic realm="Said"' })
    t.match(await ask('/open/said/secret', { headers: { authorization: `Bearer ${adminToken}` } }), { status: 200 })
  })
  t.test('where there is nothing, and where a method is not known', async (t) => {
    t.match(await ask('/open/said/nothing'), { status: 404, json: { at: '/open/said/nothing' } })
    t.match(await ask('/open/said'), { status: 404, json: { at: '/open/said' } })
    t.match(await ask('/open/said/names', { method: 'DELETE' }), { status: 405, json: { at: '/open/said/names' } })
  })
  t.test('in what it reads of a query', async (t) => {
    t.match(await ask('/open/said/names?name[]=a&name=b'), { status: 200, json: { names: ['a', 'b'] } })
  })
  t.test('and is not there where it is closed', async (t) => {
    const nothing = await ask('/nothing/at/all')
    t.match(nothing, { status: 404, json: { error: 'not_found' } })
    for (const path of ['/closed/said/names', '/closed/said/nothing', '/closed/said/secret']) {
      for (const method of ['GET', 'DELETE', 'OPTIONS']) {
        const { status, headers, json } = await ask(path, { method })
        t.same([status, { ...json, requestId: '' }], [404, { ...nothing.json, requestId: '' }], `${method} ${path}`)
        t.equal(headers['www-authenticate'], undefined)
      }
    }
  })
  t.test('and leaves the rest alone', async (t) => {
    const { status, headers, json } = await ask('/plain')
    t.match(
      { status, json, challenge: headers['www-authenticate'] },
      { status: 401, json: { error: 'unauthorized' }, challenge: /^Bearer/ },
    )
  })
})

test('the description leaves foreign protocols to themselves', async (t) => {
  t.same(mountsOf(routes), [mount])
  const { paths, components } = describeRoutes(routes)
  t.same(Object.keys(paths), ['/plain'])
  t.match(components.responses['ErrorResponse']?.['content'], {
    'application/json': { schema: { anyOf: [{ $ref: '#/components/schemas/Error' }, {}] } },
  })
  t.notOk(components.schemas['Said'])
})
