import t from 'tap'
import { configSchemaProblem, readConfig } from '#plugins/packages/plugin-config.ts'
import { openTestHost } from '#test/support/plugin-hosts.ts'

t.setTimeout(240_000)

const SCHEMA = {
  type: 'object',
  properties: {
    baseUrl: { type: 'string', format: 'uri', title: 'Address' },
    count: { type: 'integer', minimum: 1, maximum: 10, default: 5 },
    mode: { type: 'string', enum: ['fast', 'slow'], default: 'fast' },
    words: { type: 'array', items: { type: 'string', maxLength: 5 }, maxItems: 3 },
    loud: { type: 'boolean' },
  },
  required: ['baseUrl'],
}

t.test('schemas: the subset of JSON Schema that is fast to check', async (t) => {
  t.equal(configSchemaProblem(SCHEMA), null)
  const wrong: [name: string, schema: unknown][] = [
    ['no object', { type: 'array' }],
    ['a pattern', { type: 'object', properties: { a: { type: 'string', pattern: '(a+)+$' } } }],
    ['a reference', { type: 'object', properties: { a: { $ref: '#' } } }],
    ['alternatives', { type: 'object', properties: {}, anyOf: [] }],
    ['depth', { type: 'object', properties: { a: { type: 'object', properties: {} } } }],
    ['a list of lists', { type: 'object', properties: { a: { type: 'array', items: { type: 'array', items: { type: 'string' } } } } }],
    ['a strange name', { type: 'object', properties: { 'a b': { type: 'string' } } }],
    ['a required stranger', { type: 'object', properties: {}, required: ['a'] }],
    ['a default of another type', { type: 'object', properties: { a: { type: 'integer', default: 'x' } } }],
    ['too many', { type: 'object', properties: Object.fromEntries(Array.from({ length: 61 }, (_, i) => [`a${i}`, { type: 'string' }])) }],
    ['nothing', null],
  ]
  for (const [name, schema] of wrong) t.type(configSchemaProblem(schema)?.message, 'string', name)
})

t.test('configurations: defaults and errors', async (t) => {
  t.same(readConfig(SCHEMA, { baseUrl: 'https://a.example.org' }), { baseUrl: 'https://a.example.org', count: 5, mode: 'fast' })
  t.same(readConfig(undefined, {}), {})
  const wrong: [given: Record<string, unknown>, path: string][] = [
    [{}, '/config/baseUrl'],
    [{ baseUrl: 5 }, '/config/baseUrl'],
    [{ baseUrl: 'https://a.example.org', count: 11 }, '/config/count'],
    [{ baseUrl: 'https://a.example.org', count: 1.5 }, '/config/count'],
    [{ baseUrl: 'https://a.example.org', mode: 'x' }, '/config/mode'],
    [{ baseUrl: 'https://a.example.org', words: ['short', 'too long'] }, '/config/words/1'],
    [{ baseUrl: 'https://a.example.org', words: 'x' }, '/config/words'],
    [{ baseUrl: 'https://a.example.org', more: 1 }, '/config/more'],
    [{ baseUrl: 'x'.repeat(10_001) }, '/config/baseUrl'],
    [JSON.parse('{"baseUrl":"https://a.example.org","__proto__":{"x":1}}'), '/config/__proto__'],
    [{ baseUrl: 'https://a.example.org', constructor: 1 }, '/config/constructor'],
  ]
  for (const [given, path] of wrong)
    t.throws(() => readConfig(SCHEMA, given), { code: 'invalid_value', details: [{ path }] }, JSON.stringify(given).slice(0, 80))
  t.throws(() => readConfig(undefined, { a: 1 }), { code: 'invalid_value', message: /known are: none/ })
})

t.test('a wrong value is named with what it must be; a secret is not repeated', (t) => {
  const properties = {
    ...SCHEMA.properties,
    delay: { type: 'integer', minimum: 5 },
    born: { type: 'string', format: 'date' },
    word: { type: 'string', minLength: 8, format: 'password', 'x-receives-password': true },
  }
  const wrong: [given: Record<string, unknown>, message: string][] = [
    [{ count: '5' }, 'config/count: must be a whole number from 1 to 10; it is "5".'],
    [{ count: 11 }, 'config/count: must be a whole number from 1 to 10; it is 11.'],
    [{ delay: 1 }, 'config/delay: must be a whole number of at least 5; it is 1.'],
    [{ mode: 'fats' }, 'config/mode: "fats" is not allowed; it must be one of fast, slow (did you mean fast?).'],
    [{ words: ['short', 'too long'] }, 'config/words/1: must be a text of at most 5 characters; it is "too long".'],
    [
      { baseUrl: 'a.example.org' },
      'config/baseUrl: must be an address such as https://example.org/, with at most 10000 characters; it is "a.example.org".',
    ],
    [{ born: 'today' }, 'config/born: must be a date such as 2024-12-31, with at most 10000 characters; it is "today".'],
    [{ word: 'hunter2' }, 'config/word: must be a text of 8 to 10000 characters.'],
    [{ word: 12345678 }, 'config/word: must be a text of 8 to 10000 characters.'],
  ]
  for (const [given, message] of wrong) t.throws(() => readConfig({ type: 'object', properties }, given), { message }, message)
  t.end()
})

t.test('a plugin gets a valid configuration or none', async (t) => {
  const { host, run } = await openTestHost(t)
  const main = `export default { metadata: { series: { search: (q, ctx) => ({ results: [{ externalId: '1', title: JSON.stringify(ctx.config) }] }), get: () => ({ externalId: '1' }) } } }`
  const { id, call } = await run(main, { config: SCHEMA })
  const title = async () =>
    ((await call('metadata.series.search', { query: '', limit: 1 })) as { results: { title: string }[] }).results[0]?.title
  await t.rejects(title(), { code: 'unavailable', message: /\(config\).*baseUrl: it is required/ })
  await t.rejects(host.plugins.edit(id, { config: { baseUrl: 7 } }), { code: 'invalid_value' })
  await host.plugins.edit(id, { config: { baseUrl: 'https://a.example.org' } })
  t.same(JSON.parse((await title()) as string), { baseUrl: 'https://a.example.org', count: 5, mode: 'fast' })
  await t.rejects(host.plugins.edit(id, { privateHosts: true }), { code: 'invalid_value', message: /no hosts from its configuration/ })
  t.same(await host.pluginLogs.metrics(id).length, 1)
})

t.test('choices stand in one line each', (t) => {
  const problemOf = (choice: string) =>
    configSchemaProblem({ type: 'object', properties: { mode: { type: 'string', enum: ['fast', choice] } } })?.path ?? null
  for (const end of ['\n', '\r', '\t', '\u2028', '\u0085', '\u001b[2J'])
    t.equal(problemOf(`slow${end}x`), '/properties/mode/enum/1', encodeURIComponent(end))
  t.equal(problemOf('very slow'), null)
  t.end()
})

t.test('a setting that is a secret says so, and is one text without a default', (t) => {
  const problemOf = (member: object, required: string[] = []) =>
    configSchemaProblem({ type: 'object', properties: { one: member }, required })?.message ?? null
  for (const title of ['Your AniList password', 'API token', 'Client Secret', 'Dein Passwort', 'API key', 'Mot de passe', 'Пароль'])
    t.match(problemOf({ type: 'string', title }), /give it format password/, title)
  t.match(configSchemaProblem({ type: 'object', properties: { apiToken: { type: 'string' } } })?.message, /give it format password/)
  t.match(problemOf({ type: 'array', title: 'Passwords', items: { type: 'string' } }), /give it format password/)
  t.equal(problemOf({ type: 'boolean', title: 'Send the token' }), null, 'a switch is no secret')
  t.equal(problemOf({ type: 'string', title: 'API token', format: 'password', 'x-receives-password': true }), null)
  const wrong: [member: object, message: RegExp][] = [
    [{ type: 'string', format: 'password', default: 'x' }, /no default/],
    [{ type: 'string', format: 'password', enum: ['x'] }, /no default and no enum/],
    [{ type: 'integer', format: 'password' }, /of type string/],
    [{ type: 'array', items: { type: 'string', format: 'password' } }, /a list cannot/],
    [{ type: 'string', 'x-receives-password': true }, /only for a text with format password/],
  ]
  for (const [member, message] of wrong) t.match(problemOf(member), message)
  t.match(problemOf({ type: 'string', format: 'password' }, ['one']), /cannot be required/)
  t.end()
})
