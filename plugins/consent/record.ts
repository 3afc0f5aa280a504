import { createHash } from 'node:crypto'
import { refuse } from '#core/foundation/errors.ts'
import { canonicalJson } from '#plugins/consent/canonical-json.ts'
import { burstOf } from '#plugins/packages/budgets.ts'
import { MANIFEST_SHAPE, type Manifest } from '#plugins/packages/manifest.ts'
import type { Shape } from '#plugins/packages/manifest-form.ts'

/**
 * The members of a manifest that cause nothing. Everything else that the schema of manifests has is a part of the record, members that are added to the
 * schema later too. README, changelog and icon are files beside the manifest.
 */
export const HARMLESS = ['version', 'summary'] as const

/** Everything that a package can cause: what a consent covers. */
export interface ConsentRecord {
  format: 1
  /** Defaults are filled in, and lists are sorted, so that manifests that mean the same have the same record. */
  manifest: Omit<Manifest, (typeof HARMLESS)[number]>
  /** The Ed25519 keys that signed it, base64. */
  signedBy: string[]
  /** The address of the repository that it came from; null for a file. */
  repository: string | null
}

/** Of a record as JSON. A manifest has at most 64 KB, and characters that need escaping and defaults make little more of it. */
const RECORD_LENGTH_MAX = 256 * 1024
/** Values in a record. The largest bundled plugin has 100; nobody reviews more than this. */
const ENTRIES_MAX = 5_000

export function consentRecordOf({
  manifest,
  signedBy,
  repository,
}: {
  manifest: Manifest
  signedBy: readonly string[]
  repository: string | null
}): ConsentRecord {
  const { version: _, summary: _summary, ...rest } = filled(MANIFEST_SHAPE, withImplied(manifest)) as Manifest
  // Like a record that the database has returned: no negative zeros.
  return JSON.parse(canonicalJson({ format: 1, manifest: rest, signedBy: [...signedBy].sort(), repository })) as ConsentRecord
}

/** SHA-256 of the canonical JSON of a record or of a part of one, lower-case hex. */
export const recordHash = (record: object): string => createHash('sha256').update(canonicalJson(record)).digest('hex')

/** @throws invalid_value for a record that is too long for a person to review */
export function checkRecordSize(record: ConsentRecord): void {
  const { length } = canonicalJson(record)
  if (length > RECORD_LENGTH_MAX)
    refuse('invalid_value', `What the package asks for has ${length} characters; the limit is ${RECORD_LENGTH_MAX}. Shorten its manifest.`)
  const entries = countValues(record)
  if (entries > ENTRIES_MAX)
    refuse(
      'invalid_value',
      `What the package asks for has ${entries} entries; the limit is ${ENTRIES_MAX}. Shorten the lists of its manifest.`,
    )
}

function countValues(value: unknown): number {
  if (value === null || typeof value !== 'object') return 1
  return Object.values(value).reduce<number>((sum, member) => sum + countValues(member), 1)
}

/**
 * With what is implied: the services whose identifiers each capability writes, how many requests a rate allows at once, and that there are no other
 * settings than those of the schema.
 */
function withImplied(manifest: Manifest): Manifest {
  const { config, userConfig, http } = manifest
  const rates = Object.entries(http?.rateLimit ?? {}).map(([host, rate]) => [host, { ...rate, burst: burstOf(rate) }] as const)
  const { 'metadata.series': series, 'metadata.book': book, recommendations } = manifest.capabilities
  return {
    ...manifest,
    ...(rates.length > 0 && { http: { ...http, rateLimit: Object.fromEntries(rates) } }),
    ...(config && { config: { ...config, additionalProperties: false } }),
    ...(userConfig && { userConfig: { ...userConfig, additionalProperties: false } }),
    capabilities: {
      ...manifest.capabilities,
      ...(series && { 'metadata.series': { ...series, idSource: series.idSource ?? manifest.id } }),
      ...(book && { 'metadata.book': { ...book, idSource: book.idSource ?? manifest.id } }),
      ...(recommendations && {
        recommendations: { ...recommendations, idSource: recommendations.idSource ?? series?.idSource ?? manifest.id },
      }),
    },
  }
}

/** The members that the schema has, with their defaults; lists are sets, so they are sorted. Values that the schema leaves open stay whole. */
function filled(shape: Shape, value: unknown): unknown {
  if (value === undefined) return absent(shape)
  if (Array.isArray(value)) return shape.items ? sortedSet(value.map((one) => filled(shape.items as Shape, one))) : value
  if (value === null || typeof value !== 'object') return value
  const free = Object.values(shape.patternProperties ?? {})[0]
  const names = shape.properties ? Object.keys(shape.properties) : Object.keys(value)
  return Object.fromEntries(
    names.flatMap((name) => {
      const given = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
      const member = filled(shape.properties?.[name] ?? free ?? {}, given)
      return member === undefined ? [] : [[name, member] as const]
    }),
  )
}

/** What an absent member means: its default, none of a list, or an object without members where one is allowed. */
function absent(shape: Shape): unknown {
  if (shape.default !== undefined) return shape.default
  if (shape.type === 'array' && shape.minItems === undefined) return []
  return (shape.properties ?? shape.patternProperties) && (shape.required ?? []).length === 0 ? filled(shape, {}) : undefined
}

function sortedSet(values: readonly unknown[]): unknown[] {
  const byText = new Map(values.map((value) => [keyOf(value), value]))
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)
}

/** A host names its entry; everything else is named by itself. */
const keyOf = (value: unknown): string => (hasHost(value) ? value.host : typeof value === 'string' ? value : canonicalJson(value))

export const hasHost = (value: unknown): value is { host: string } =>
  value !== null && typeof value === 'object' && 'host' in value && typeof value.host === 'string'

/** Budgets and settings that only the administrator answers for. */
const OF_ADMINISTRATOR = ['limits', 'http', 'config', 'dataVersion', 'engine', 'main', 'manifestVersion'] as const
type OfUser = Omit<ConsentRecord['manifest'], (typeof OF_ADMINISTRATOR)[number]>

/**
 * What concerns each user: users agree to this part of a record.
 * @param configuredHosts the hosts that an administrator has entered, by the member of the configuration; null while none is entered
 */
export function userRecordOf({ manifest, ...rest }: ConsentRecord, configuredHosts: Record<string, string | null>) {
  const members = Object.entries(manifest).filter(([name]) => !(OF_ADMINISTRATOR as readonly string[]).includes(name))
  return { ...rest, manifest: Object.fromEntries(members) as OfUser, configuredHosts }
}
export type UserRecord = ReturnType<typeof userRecordOf>
