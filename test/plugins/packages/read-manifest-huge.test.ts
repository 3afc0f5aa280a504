import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { readPackage } from '#plugins/packages/plugin-package.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { manifestOf, pluginOf } from '#test/support/plugins.ts'
import { packed, unpacked } from '#test/support/signed-packages.ts'

const MANY = 10_000
const many = <Value>(of: (index: number) => Value): Value[] => Array.from({ length: MANY }, (_, index) => of(index))
const settings = (type = 'string') => ({ type: 'object', properties: Object.fromEntries(many((index) => [`m${index}`, { type }])) })
const long = 'x'.repeat(1024 * 1024)
const oauth2 = { authorizeUrl: 'https://a.example.org/in', tokenUrl: 'https://a.example.org/token' }

/** Manifests of which nobody could review all; those of a few short members stay below the limit of bytes. */
const HUGE: [name: string, change: Record<string, unknown>][] = [
  ['hosts', { permissions: { network: many((index) => ({ host: `h${index}.example.org`, reason: 'One' })) } }],
  ['hosts that are the same', { permissions: { network: many(() => ({ host: 'h.example.org', reason: 'a' })) } }],
  ['configured hosts', { permissions: { networkFromConfig: many((index) => `m${index}`) } }],
  ['library data', { permissions: { library: many(() => 'ratings') } }],
  ['methods', { permissions: { network: [{ host: 'a.example.org', reason: 'One', methods: many(() => 'GET') }] } }],
  ['scopes', { auth: { type: 'oauth2', scope: 'server', oauth2: { ...oauth2, scopes: many((index) => `s${index}`) } } }],
  ['scopes that are the same', { auth: { type: 'oauth2', scope: 'server', oauth2: { ...oauth2, scopes: many(() => 's') } } }],
  ['settings', { config: settings() }],
  ['settings of users', { userConfig: settings('boolean') }],
  ['choices of a setting', { config: { type: 'object', properties: { a: { type: 'string', enum: many(String) } } } }],
  ['hosts of links', { capabilities: { webLinks: { hosts: many((index) => `h${index}.example.org`) } } }],
  ['languages', { capabilities: { 'metadata.series': { methods: ['search'], languages: many(() => 'en') } } }],
  ['capabilities', { capabilities: Object.fromEntries(many((index) => [`c${index}`, {}])) }],
  ['rates', { http: { rateLimit: Object.fromEntries(many((index) => [`h${index}.example.org`, { perMinute: 1 }])) } }],
  ['unknown members', Object.fromEntries(many((index) => [`m${index}`, 1]))],
  ...['name', 'summary', 'description', 'license', 'homepage', 'id', 'version'].map((member): [string, Record<string, unknown>] => [
    `one MB of ${member}`,
    { [member]: long },
  ]),
  ['a reason of one MB', { permissions: { network: [{ host: 'a.example.org', reason: long }] } }],
  ['a default of one MB', { config: { type: 'object', properties: { a: { type: 'string', default: long } } } }],
  ['a scope of one MB', { auth: { type: 'oauth2', scope: 'server', oauth2: { ...oauth2, scopes: [long] } } }],
]

const refusal = (work: () => unknown): AppError | null => {
  try {
    work()
    return null
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

t.test('a manifest of more than a person can review is refused, with the limit, and in a short message', (t) => {
  for (const [name, change] of HUGE) {
    const bytes = Buffer.from(JSON.stringify(manifestOf(change)))
    const error = refusal(() => readManifest(bytes))
    t.equal(error?.code, 'invalid_value', name)
    t.match(error?.message, /limit is \d+|at most \d+|does not know|must /, name)
    t.ok((error?.message.length ?? 0) < 10_000, `${name}: ${error?.message.length} characters`)
  }
  t.end()
})

t.test('a huge manifest is refused soon', onlyCost, async (t) => {
  for (const [name, change] of HUGE) {
    const bytes = Buffer.from(JSON.stringify(manifestOf(change)))
    const started = threadCpuMs()
    refusal(() => readManifest(bytes))
    const took = threadCpuMs() - started
    t.ok(took < 3_000, `${name}: ${Math.round(took)} ms`)
  }
})

t.test('each list of it below the limit of bytes has a limit of its own', (t) => {
  const few = 1_500
  for (const [name, change] of HUGE) {
    // As many entries as fit.
    const text = JSON.stringify(change, (_, value) => (Array.isArray(value) ? value.slice(0, few) : value))
    if (text.length > 60_000 || /MB|settings|capabilities|rates|unknown/.test(name)) continue
    t.match(refusal(() => readManifest(Buffer.from(JSON.stringify(manifestOf(JSON.parse(text))))))?.message, /manifest\.json at \//, name)
  }
  t.end()
})

t.test('so is a package with such a manifest, before anything else of it is used', (t) => {
  const plain = unpacked(pluginOf('export default {}'))
  for (const [name, change] of HUGE.slice(0, 8)) {
    const manifest = Buffer.from(JSON.stringify(manifestOf(change)))
    const bytes = packed(new Map([...plain, ['manifest.json', manifest] as const]))
    t.match(
      refusal(() => readPackage(bytes)),
      { code: 'invalid_value', message: /manifest\.json.*\d+/ },
      name,
    )
  }
  t.end()
})
