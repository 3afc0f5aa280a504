import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { differencesOf } from '#plugins/consent/differences.ts'
import { type ConsentRecord, consentRecordOf, HARMLESS, recordHash, userRecordOf } from '#plugins/consent/record.ts'
import { describeDifference, describeRecord, phrasesOf } from '#plugins/consent/record-lines.ts'
import { MANIFEST_SHAPE } from '#plugins/packages/manifest.ts'
import type { Shape } from '#plugins/packages/manifest-form.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { matches, openMaker, randomOf, shapeOf } from '#test/support/random-manifests.ts'

t.setTimeout(240_000)

/** The same manifests in each run, so that each member is certain to have its turn. */
const SEED = 1
const MANIFESTS = sizeOf('manifests', { main: 60, full: 200 })
/** Changes of each, those first that were tried least: each member of the schema has its turns. */
const CHANGES = 20
/** Another value may be one that the rules of manifests refuse. */
const TRIES = 8

type Json = Record<string, unknown>
type Kind = 'added' | 'removed' | 'changed'
interface Spot {
  /** In the schema, such as `/permissions/network/0/host`; `*` stands for any name. */
  place: string
  kind: Kind
  at: readonly string[]
  shape: Shape
  /** Of a name to add. */
  pattern?: string
}

/** Stands for a name that the manifest does not have yet. */
const NEW = '*'

/** Members with only one value, which is what their absence means too. */
const hasOneValue = (shape: Shape) => shape.const !== undefined || (shape.enum?.length ?? 2) < 2

/** Whether an alternative is the one of this value: settings are lists or not. */
function fits({ properties }: Shape, value: unknown): boolean {
  const kind = properties?.['type']
  const type = (value as { type?: unknown } | null | undefined)?.type
  return kind === undefined || type === undefined || kind.const === type || (kind.enum ?? []).includes(type)
}

function* spotsOf(given: Shape, value: unknown, place = '', at: readonly string[] = []): Generator<Spot> {
  const shape = shapeOf(given, place)
  const ways = (shape.anyOf ?? [shape]).filter((way) => fits(way, value))
  // An object changes by its members.
  if (at.length > 0 && !ways.every((way) => hasOneValue(way) || way.type === 'object')) yield { place, kind: 'changed', at, shape }
  for (const way of ways) {
    if (Array.isArray(value) && way.type === 'array')
      for (const [index, one] of value.entries()) {
        const inside = [...at, String(index)]
        yield* spotsOf(way.items ?? {}, one, `${place}/0`, inside)
        if (value.length > (way.minItems ?? 0)) yield { place: `${place}/0`, kind: 'removed', at: inside, shape: way.items ?? {} }
      }
    if (value === null || typeof value !== 'object' || Array.isArray(value) || way.type !== 'object') continue
    const [pattern, free] = Object.entries(way.patternProperties ?? {})[0] ?? []
    for (const [name, member] of Object.entries(way.properties ?? {})) {
      const [inside, deeper] = [[...at, name], `${place}/${name}`]
      const isOptional = !(way.required ?? []).includes(name) && !hasOneValue(member)
      if (!Object.hasOwn(value, name)) {
        if (isOptional) yield { place: deeper, kind: 'added', at: inside, shape: member }
        continue
      }
      if (isOptional) yield { place: deeper, kind: 'removed', at: inside, shape: member }
      yield* spotsOf(member, (value as Json)[name], deeper, inside)
    }
    if (!free || pattern === undefined) continue
    yield { place: `${place}/*`, kind: 'added', at: [...at, NEW], shape: free, pattern }
    for (const [name, member] of Object.entries(value)) {
      if (Object.keys(value).length > 1) yield { place: `${place}/*`, kind: 'removed', at: [...at, name], shape: free }
      yield* spotsOf(free, member, `${place}/*`, [...at, name])
    }
  }
}

/** A copy of a manifest with another value there; undefined removes it. */
function withValue(manifest: Json, at: readonly string[], value: unknown): Json {
  const copy = structuredClone(manifest)
  const parent = at.slice(0, -1).reduce<unknown>((one, name) => (one as Json)[name], copy) as Json
  const name = at.at(-1) as string
  if (value !== undefined) parent[name] = value
  else if (Array.isArray(parent)) parent.splice(Number(name), 1)
  else delete parent[name]
  return copy
}

/** The order of a list means nothing. */
const meaning = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    Array.isArray(one) ? [...one].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : one,
  )

function tryRecord(manifest: Json): ConsentRecord | null {
  try {
    return consentRecordOf({ manifest: readManifest(Buffer.from(JSON.stringify(manifest))), signedBy: [], repository: null })
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** Texts and names of a manifest: a changed host may be that of another place. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return value !== null && typeof value === 'object' ? Object.entries(value).flatMap(([name, one]) => [name, ...textsOf(one)]) : []
}

/** One that the manifest has elsewhere: the rules want hosts and settings that it names. */
function oneOf(manifest: Json, { place, shape, random }: { place: string; shape: Shape; random: () => number }): unknown {
  const pattern = shape.pattern ?? shape.items?.pattern ?? Object.keys(shape.patternProperties ?? {})[0]
  const { config, userConfig, permissions } = manifest as Record<string, { properties?: Json; networkFromConfig?: string[] } | undefined>
  const known = /^\/(config\/required|permissions\/networkFromConfig)/.test(place)
    ? Object.keys(config?.properties ?? {})
    : place.startsWith('/userConfig/required')
      ? Object.keys(userConfig?.properties ?? {})
      : place === '/auth/bind/hostFrom'
        ? (permissions?.networkFromConfig ?? [])
        : textsOf(manifest)
  const fitting = known.filter((one) => matches(pattern, one))
  const text = fitting[Math.floor(random() * fitting.length)]
  return shape.type === 'array' ? [text] : place === '/http/rateLimit' ? { [String(text)]: { perMinute: 7 } } : text
}

/** What manifests can only change together with something else, by their rules. */
const NOT_ALONE = [
  ...['bind', 'bind/body', 'bind/header', 'bind/host', 'bind/hostFrom', 'bind/query', 'bind/usernameField', 'oauth2'].flatMap((name) => [
    `added /auth/${name}`,
    `removed /auth/${name}`,
  ]),
  // This server offers one version.
  'changed /engine/pluginApi',
  // Few manifests have a place for it.
  ...(MANIFESTS < 200 ? ['changed /permissions/networkFromConfig/0'] : []),
].sort()

t.test(`each member of ${MANIFESTS} random manifests that is added, removed or changed asks, in words, or is harmless`, async (t) => {
  const random = randomOf(SEED)
  const maker = openMaker(random)
  const tried = new Map<string, number>()
  const accepted = new Map<string, number>()
  const silent: unknown[] = []
  for (let count = 0; count < MANIFESTS; count++) {
    const manifest = maker.manifest()
    const before = tryRecord(manifest)
    if (before === null) {
      t.fail('a random manifest is refused', { manifest: JSON.stringify(manifest) })
      continue
    }
    const spots = [...spotsOf(MANIFEST_SHAPE, manifest)]
      .map((spot) => ({ ...spot, name: `${spot.kind} ${spot.place.replace(/^\/userConfig\//, '/config/')}`, order: random() }))
      .sort((a, b) => (tried.get(a.name) ?? 0) - (tried.get(b.name) ?? 0) || a.order - b.order)
    for (const { at, kind, place, shape, name, pattern } of spots.slice(0, CHANGES)) {
      const old = at.reduce<unknown>((one, part) => (one as Json | undefined)?.[part], manifest)
      let after: ConsentRecord | null = null
      for (let tries = 0; tries < TRIES && after === null; tries++) {
        const made = typeof old === 'boolean' ? !old : place === '/auth' ? { type: 'none', scope: 'server' } : maker.make(shape, place)
        const other = kind === 'removed' ? undefined : tries % 2 > 0 ? oneOf(manifest, { place, shape, random }) : made
        if (kind !== 'removed' && (other === undefined || meaning(other) === meaning(old))) continue
        const names = at.map((one) =>
          one === NEW ? String(oneOf(manifest, { place, shape: { pattern: pattern as string }, random })) : one,
        )
        after = tryRecord(withValue(manifest, names, other))
        if (kind === 'removed') break
      }
      tried.set(name, (tried.get(name) ?? 0) + 1)
      if (after === null) continue
      accepted.set(name, (accepted.get(name) ?? 0) + 1)
      const asks = [
        recordHash(after) !== recordHash(before) && differencesOf(before, after).length > 0,
        describeDifference(before, after).length > 0,
        phrasesOf(before, after).length > 0,
      ]
      const isHarmless = HARMLESS.some((member) => place === `/${member}`)
      const [own, others] = [userRecordOf(before, {}), userRecordOf(after, {})]
      const isSilentToUsers = recordHash(own) !== recordHash(others) && describeRecord(own).join() === describeRecord(others).join()
      if (asks.some((one) => one === isHarmless) || isSilentToUsers) silent.push({ name, at, asks, isSilentToUsers, manifest })
    }
  }
  t.same(silent.slice(0, 3), [], `${silent.length} changes ask nobody, or show nothing`)
  t.same([...tried.keys()].filter((name) => !accepted.has(name)).sort(), NOT_ALONE, 'each other change was tried')
  const sum = [...accepted.values()].reduce((all, times) => all + times, 0)
  t.ok(sum > MANIFESTS * 8 && accepted.size > 150, `${sum} changes of ${accepted.size} kinds`)
})
