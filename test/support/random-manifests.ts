import { Register } from '#core/foundation/register.ts'
import { FORBIDDEN_HEADER, MANIFEST_SHAPE } from '#plugins/packages/manifest.ts'
import type { Shape } from '#plugins/packages/manifest-form.ts'
import { ConfigSchema } from '#plugins/packages/plugin-config.ts'

/** Random numbers from 0 to 1 that a seed repeats (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Json = Record<string, unknown>

/** Texts of which each pattern of the schema matches some, with a number that is never used twice. */
const texts = (n: number): string[] => [
  ...[`org.example.id${n}`, `1.${n % 1_000_000}.0`, '^1.0', `w${n}.example.org`, `*.w${n}.example.org`, `https://w${n}.example.org/x`],
  ...[
    `https://w${n}.example.org/{title}/x`,
    `https://w${n}.example.org/{id}`,
    `Key${n}`,
    `key${n}`,
    `en-x${n}`,
    `Basic{token}${n}`,
    `Words ${n}`,
  ],
]

/** The schema of a value; settings have one of their own. */
export const shapeOf = (shape: Shape, place: string): Shape => (/^\/(config|userConfig)$/.test(place) ? (ConfigSchema as Shape) : shape)

/** Compiled once: those with classes of Unicode take a millisecond. */
const compiled = new Register<RegExp>()
export function matches(pattern: string | undefined, text: string): boolean {
  if (pattern === undefined) return true
  const known = compiled.get(pattern) ?? new RegExp(pattern, 'u')
  compiled.set(pattern, known)
  return known.test(text)
}

export interface Maker {
  /** A value of this form that means something: no default, and nothing empty where it may be absent. */
  make(shape: Shape, place: string): unknown
  /** A manifest that servers accept, by most of its members at random. */
  manifest(): Json
}

/** @param random from 0 to 1 */
export function openMaker(random: () => number): Maker {
  let used = 0
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const some = <Item>(items: readonly Item[], least: number): Item[] => {
    const chosen = items.filter(() => random() < 0.6)
    return chosen.length >= least ? chosen : items.slice(0, Math.max(least, 1))
  }

  function text({ pattern, maxLength = 100 }: Shape): string {
    used += 1
    const matching = texts(used).filter((one) => one.length <= maxLength && matches(pattern, one))
    if (matching.length === 0) throw new Error(`No text of random manifests matches ${pattern}; add one.`)
    return pick(matching)
  }

  function list(shape: Shape, place: string): unknown[] {
    const items = shape.items as Shape
    if (items.enum) return some(items.enum, shape.minItems ?? 1).slice(0, shape.maxItems)
    return Array.from({ length: Math.min(1 + Math.floor(random() * 3), shape.maxItems ?? 3) }, () => make(items, `${place}/0`))
  }

  function object(shape: Shape, place: string): Json {
    const { properties = {}, required = [] } = shape
    const [free] = Object.entries(shape.patternProperties ?? {})
    if (free) {
      const count = 1 + Math.floor(random() * 2)
      return Object.fromEntries(Array.from({ length: count }, () => [text({ pattern: free[0] }), make(free[1], `${place}/*`)]))
    }
    const names = Object.keys(properties)
    const chosen = some(names, required.length > 0 ? 0 : 1)
    return Object.fromEntries(
      names
        .filter((name) => required.includes(name) || chosen.includes(name))
        .map((name) => [name, make(properties[name] as Shape, `${place}/${name}`)]),
    )
  }

  function make(given: Shape, place: string): unknown {
    if (/^\/(config|userConfig)\/properties\/\*$/.test(place)) return pick(settingsOf({ pick, random, text }))()
    // More at once than is implied by the rate, which would mean the same.
    if (place.endsWith('/burst')) return pick([6, 7, 8, 9, 10])
    if (place.endsWith('/perMinute')) return 1 + Math.floor(random() * 35)
    const shape = shapeOf(given, place)
    if (shape.anyOf) return make(pick(shape.anyOf), place)
    if (shape.const !== undefined) return shape.const
    if (shape.type === 'array') {
      const made = list(shape, place)
      return JSON.stringify(made) === JSON.stringify(shape.default) ? list({ ...shape, minItems: 2 }, place) : made
    }
    if (shape.type === 'object') return object(shape, place)
    const others = (values: readonly unknown[]) => pick(values.filter((value) => value !== shape.default))
    if (shape.enum) return others(shape.enum)
    if (shape.type === 'boolean') return others([true, false])
    if (shape.type !== 'integer' && shape.type !== 'number') return text(shape)
    const [minimum, maximum] = [Math.max(shape.minimum ?? 0, 0), Math.min(shape.maximum ?? 1_000, 100_000)]
    return others([
      minimum,
      minimum + 1,
      maximum,
      ...Array.from({ length: 3 }, () => minimum + Math.floor(random() * (maximum - minimum + 1))),
    ])
  }

  return { make, manifest: () => accepted(make(MANIFEST_SHAPE, '') as Json, { pick, random, text }) }
}

/** Replaces what the rules beside the schema refuse. */
function accepted(manifest: Json, tools: Tools): Json {
  const { permissions, http, auth, config, userConfig, capabilities, ...rest } = manifest as Record<string, Json | undefined>
  const networkFromConfig = permissions?.['networkFromConfig'] as string[] | undefined
  const hosts = ((permissions?.['network'] ?? []) as { host: string }[]).map(({ host }) => host)
  const rates = Object.values((http?.['rateLimit'] ?? {}) as Json)
  const limited = Object.fromEntries(hosts.slice(0, rates.length).map((host, index) => [host, rates[index]]))
  const { rateLimit: _, ...moreHttp } = http ?? {}
  const [host] = hosts.filter((one) => !one.startsWith('*.'))
  const offered = capabilities && Object.keys(capabilities).length > 0 ? capabilities : { 'metadata.book': { methods: ['get'] } }
  const sites = Object.fromEntries(
    (networkFromConfig ?? []).map((key) => [key, { type: 'string', default: `https://${key.toLowerCase()}.example` }]),
  )
  const asked = config || networkFromConfig ? settings(config ?? {}, tools) : undefined
  return {
    ...rest,
    capabilities: offered,
    ...(permissions && { permissions }),
    ...((Object.keys(limited).length > 0 || Object.keys(moreHttp).length > 0) && {
      http: { ...moreHttp, ...(Object.keys(limited).length > 0 && { rateLimit: limited }) },
    }),
    ...(asked && { config: { ...asked, properties: { ...(asked['properties'] as Json), ...sites } } }),
    ...(userConfig && { userConfig: settings(userConfig, tools) }),
    ...(auth && {
      auth: signIn(auth, {
        host,
        hostFrom: networkFromConfig?.[0],
        isForUsers: offered['recommendations'] !== undefined,
        random: tools.random,
      }),
    }),
  }
}

interface Tools {
  pick: <Item>(items: readonly Item[]) => Item
  random: () => number
  text: (shape: Shape) => string
}

/** Kinds of settings, whose parts fit each other. */
function settingsOf({ pick, random, text }: Tools): (() => Json)[] {
  const words = () => text({ pattern: '^Words' })
  const some = (always: Json, optional: Json): Json => ({
    ...always,
    ...Object.fromEntries(Object.entries(optional).filter(() => random() < 0.6)),
  })
  const form = () => ({ title: words(), description: words(), 'x-ui': { [words()]: words(), [words()]: words() } })
  const items = () => some({ type: 'string' }, { ...form(), minLength: 1, maxLength: 90 })
  return [
    () => some({ type: 'string' }, { ...form(), default: words(), minLength: 1, maxLength: 90 }),
    () => some({ type: 'string', enum: [words(), words()] }, form()),
    () => some({ type: 'string' }, { ...form(), format: pick(['uri', 'email', 'date']) }),
    () => some({ type: 'string', format: 'password' }, { ...form(), 'x-receives-password': random() < 0.5 }),
    () => some({ type: pick(['integer', 'number']) }, { ...form(), minimum: 1, maximum: 90, default: 7 }),
    () => some({ type: 'boolean' }, { ...form(), default: random() < 0.5 }),
    () => some({ type: 'array', items: items() }, { ...form(), minItems: 1, maxItems: 9, uniqueItems: true, default: [words()] }),
  ]
}

function settings({ properties: _, required: _required, ...rest }: Json, tools: Tools): Json {
  const properties = Object.fromEntries(
    Array.from({ length: 3 }, () => [tools.text({ pattern: '^key' }), tools.pick(settingsOf(tools))()] as const),
  )
  const required = Object.keys(properties).filter((name) => !Object.hasOwn(properties[name] as Json, 'format'))
  return { ...rest, type: 'object', properties, ...(tools.random() < 0.5 && { required: required.slice(0, 1) }) }
}

function signIn(
  auth: Json,
  {
    host,
    hostFrom,
    isForUsers,
    random,
  }: { host: string | undefined; hostFrom: string | undefined; isForUsers: boolean; random: () => number },
): Json {
  const scope = isForUsers ? auth['scope'] : 'server'
  const to = host !== undefined && (hostFrom === undefined || random() < 0.6) ? { host } : hostFrom === undefined ? undefined : { hostFrom }
  if (to === undefined) return { type: 'none', scope }
  const { header: given, query, body, format } = (auth['bind'] ?? {}) as Record<string, string | undefined>
  const header = given !== undefined && !FORBIDDEN_HEADER.test(given) ? given : 'X-Key'
  const isOauth2 = auth['oauth2'] !== undefined && 'host' in to && random() < 0.6
  const isBasic = !isOauth2 && random() < 0.3
  const place = isBasic
    ? random() < 0.5
      ? { header }
      : { body: 'pass', usernameField: 'login' }
    : given !== undefined || (query ?? body) === undefined
      ? { header }
      : query !== undefined
        ? { query }
        : { body }
  return {
    ...{ type: isOauth2 ? 'oauth2' : isBasic ? 'basic' : 'apiKey', scope },
    bind: { ...to, ...place, ...(format?.split('{token}').length === 2 && format !== '{token}' && { format }) },
    ...(isOauth2 && { oauth2: auth['oauth2'] }),
  }
}
