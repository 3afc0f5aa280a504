import { createHash, type KeyObject, sign, verify } from 'node:crypto'
import type { Static } from 'typebox'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { refuse } from '#core/foundation/errors.ts'
import { isLocalHost } from '#core/settings/local-places.ts'
import { Manifest } from '#plugins/packages/manifest.ts'
import { readPlainJson, shown } from '#plugins/packages/plain-json.ts'
import { publicKeyText, readBase64, readPublicKey } from '#plugins/packages/plugin-package.ts'
import { PACKAGE_BYTES_MAX } from '#plugins/packages/zip.ts'
import { RANGE_LENGTH_MAX, readRange } from '#plugins/repositories/version-range.ts'

export const INDEX_NAME = 'index.json'
export const SIGNATURE_NAME = 'index.json.sig'
/** A thousand plugins with ten versions each have about 4 MB. */
export const INDEX_BYTES_MAX = 5 * 1024 * 1024
/** 64 bytes in base64 have 88, and a line ends. */
export const SIGNATURE_BYTES_MAX = 200
const SIGNATURE_BYTES = 64
/** Ranges of one plugin that are revoked: each is compared with every version of it. A publisher with more has wider ones to give. */
export const REVOKED_RANGES_MAX = 500
/** So long may somebody who stands between go on showing an old index that hides revocations. */
export const EXPIRES_DAYS_MAX = 90
/** Clocks differ; a whole day also covers one that is set to another zone. */
const CLOCK_SKEW_MS = 86_400_000

/** Text that people read: no control characters, nothing that turns its direction. */
const LINE = (length: number) => `^[^\\p{Cc}\\p{Cs}\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]{1,${length}}$`
const TEXT = (length: number) => `^(?:[^\\p{Cc}\\p{Cs}\\u202a-\\u202e\\u2066-\\u2069]|[\\n\\t]){1,${length}}$`
const Line = (length: number) => Type.String({ pattern: LINE(length), maxLength: length })
const INSTANT = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,3})?Z$'
const Instant = Type.String({ pattern: INSTANT, maxLength: 24 })
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$', maxLength: 64 })
const Range = Type.String({ minLength: 1, maxLength: RANGE_LENGTH_MAX })
/** Names of our own, and those that newer servers may have. */
const Word = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$', maxLength: 60 })
const Host = Type.String({ pattern: '^[a-z0-9.*-]{1,253}$', maxLength: 253 })
const Words = (maxItems: number) => Type.Array(Word, { maxItems })
const { id: PluginKey, version: Version, name: Name, summary: Summary } = Manifest.properties

/** What a version may do, short: enough to choose by. The whole of it is in the package, where people agree to it. */
export const PermissionSummary = Type.Object({
  hosts: Type.Array(Host, { maxItems: 20 }),
  /** Members of the configuration that name further hosts. */
  hostsFromConfig: Words(5),
  library: Words(20),
  storageKB: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
  /** How it signs in, such as `oauth2`; null where it needs no credentials. */
  credentials: Type.Union([Word, Type.Null()]),
})
export type PermissionSummary = Static<typeof PermissionSummary>

export const IndexVersion = Type.Object({
  version: Version,
  /** Range of the interface that it is written for, such as `^1.0`. */
  pluginApi: Range,
  /** Range of servers that it runs on; all, unless said. */
  server: Type.Optional(Range),
  /** Of the package; relative to the folder of the index, or on another host. */
  url: Type.String({ pattern: '^[!-~]{1,2000}$', maxLength: 2_000 }),
  size: Type.Integer({ minimum: 1, maximum: PACKAGE_BYTES_MAX }),
  sha256: Sha256,
  permissions: PermissionSummary,
  releasedAt: Instant,
  changelog: Type.Optional(Type.String({ pattern: TEXT(4_000), maxLength: 4_000 })),
  /** Taken back, because it does not work; why. It goes on running where it is installed. */
  yanked: Type.Optional(Line(200)),
  /** What its users should know. */
  advisory: Type.Optional(Line(300)),
})
export type IndexVersion = Static<typeof IndexVersion>

export const IndexPlugin = Type.Object({
  id: PluginKey,
  name: Name,
  summary: Summary,
  author: Type.Optional(Type.Object({ name: Line(100) })),
  categories: Type.Optional(Words(10)),
  capabilities: Words(20),
  versions: Type.Array(IndexVersion, { minItems: 1, maxItems: 100 }),
})
export type IndexPlugin = Static<typeof IndexPlugin>

/** Versions that must not run any more: one package, or those of a plugin within a range (all, unless said). */
export const IndexRevocation = Type.Union([
  Type.Object({ sha256: Sha256, reason: Line(300) }),
  Type.Object({ id: PluginKey, range: Type.Optional(Range), reason: Line(300) }),
])
export type IndexRevocation = Static<typeof IndexRevocation>

/** `index.json` of a repository: a static folder with packages. Members that nobody here knows are passed over. */
export const RepositoryIndex = Type.Object({
  schema: Type.Literal(1),
  name: Name,
  /** Of the folder, with a slash at its end: the index of one repository is none for another with the same key. */
  url: Type.String({ pattern: '^https?://[!-~]{1,2000}/$', maxLength: 2_009 }),
  /** Rises with every change; a server that has seen a higher one believes no lower. */
  sequence: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  issuedAt: Instant,
  expires: Instant,
  /** Ed25519, base64: of these one signs. Servers keep to the one that they saw first. */
  keys: Type.Array(Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$', maxLength: 44 }), { minItems: 1, maxItems: 4 }),
  plugins: Type.Array(IndexPlugin, { maxItems: 2_000 }),
  revoked: Type.Array(IndexRevocation, { maxItems: 10_000 }),
})
export type RepositoryIndex = Static<typeof RepositoryIndex>

const check = Compile(RepositoryIndex)

function wrong(message: string): never {
  refuse('invalid_value', message, { details: [{ path: `/${INDEX_NAME}`, message }] })
}

/**
 * Reads an index that must be signed by a known key, which is looked at before anything in the bytes is.
 * @param signature what lies in `index.json.sig`: 64 bytes in base64
 * @param publicKey Ed25519, base64 of its 32 bytes
 * @throws invalid_value with what is wrong: the signature, the form, or that it has expired by `now`
 */
export function readIndex(bytes: Uint8Array, signature: Uint8Array, publicKey: string, now: Date): RepositoryIndex {
  checkSize(bytes)
  const key = readPublicKey(publicKey) ?? wrong(`"${shown(publicKey)}" is no Ed25519 key, or one that anybody can sign for.`)
  if (!verify(null, bytes, key, readSignature(signature)))
    wrong(`${INDEX_NAME} is not signed by the key that was trusted when the repository was added (${fingerprintOf(publicKey)}).`)
  const index = parse(bytes)
  checkIndex(index, now)
  return index
}

/**
 * Reads an index whose key is not known yet, and answers which of the keys that it names has signed it: for a person to compare and to trust.
 * @throws invalid_value as readIndex
 */
export function readNewIndex(bytes: Uint8Array, signature: Uint8Array, now: Date): { index: RepositoryIndex; publicKey: string } {
  checkSize(bytes)
  const raw = readSignature(signature)
  const index = parse(bytes)
  const publicKey = index.keys.find((text) => {
    const key = readPublicKey(text)
    return key !== null && verify(null, bytes, key, raw)
  })
  if (publicKey === undefined) return wrong(`${INDEX_NAME} is signed by none of the keys that it names.`)
  checkIndex(index, now)
  return { index, publicKey }
}

/**
 * Signs an index. The same bytes for the same index and key; their folder may be served by anything.
 * @param index without `keys`, which is the one that signs
 * @throws invalid_value for what no server would read
 */
export function signIndex(index: Omit<RepositoryIndex, 'keys'>, key: KeyObject): { bytes: Buffer; signature: Buffer } {
  const publicKey = publicKeyText(key)
  const bytes = Buffer.from(`${JSON.stringify({ ...index, keys: [publicKey] }, null, 1)}\n`)
  const signature = Buffer.from(`${sign(null, bytes, key).toString('base64')}\n`)
  const issuedAt = new Date(index.issuedAt)
  // What cannot be read again must not leave the house.
  readIndex(bytes, signature, publicKey, Number.isNaN(issuedAt.getTime()) ? new Date() : issuedAt)
  return { bytes, signature }
}

/** Of a key, for people to compare: SHA-256 in groups of four. @param publicKey Ed25519, base64 */
export function fingerprintOf(publicKey: string): string {
  const hex = createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex')
  return (hex.match(/.{4}/g) as string[]).join(' ')
}

function checkSize(bytes: Uint8Array): void {
  if (bytes.length > INDEX_BYTES_MAX) wrong(`${INDEX_NAME} has ${bytes.length} bytes; ${INDEX_BYTES_MAX} are allowed.`)
}

function readSignature(file: Uint8Array): Buffer {
  const text = file.length > SIGNATURE_BYTES_MAX ? '' : Buffer.from(file).toString('latin1').trim()
  return readBase64(text, SIGNATURE_BYTES) ?? wrong(`${SIGNATURE_NAME} is no Ed25519 signature in base64.`)
}

function parse(bytes: Uint8Array): RepositoryIndex {
  const value = readPlainJson(bytes, (message) => wrong(`${INDEX_NAME}: ${message}.`))
  if (check.Check(value)) return value
  const schema = (value as { schema?: unknown } | null)?.schema
  if (typeof schema === 'number' && schema > 1)
    wrong(`${INDEX_NAME} has schema ${schema}, which this server does not know; a newer one may.`)
  const [first] = check.Errors(value)
  return wrong(
    `${INDEX_NAME}${first?.instancePath ? ` at ${shown(first.instancePath)}` : ''}: ${shown(first?.message ?? 'it is no index')}.`,
  )
}

/** What a schema cannot say. */
function checkIndex({ issuedAt, expires, plugins, revoked, url }: RepositoryIndex, now: Date): void {
  const [issued, ends] = [readInstant(issuedAt), readInstant(expires)]
  if (ends <= issued || ends - issued > EXPIRES_DAYS_MAX * 86_400_000)
    wrong(`${INDEX_NAME} must expire after it was issued, within ${EXPIRES_DAYS_MAX} days.`)
  if (issued > now.getTime() + CLOCK_SKEW_MS) wrong(`${INDEX_NAME} was issued in the future (${issuedAt}); is this server's clock right?`)
  if (ends <= now.getTime())
    wrong(`${INDEX_NAME} expired at ${expires}: its publisher has to issue a new one, or somebody withholds the newest.`)
  if (!URL.canParse(url) || new URL(url).href !== url) wrong(`${INDEX_NAME} at /url: write it as browsers do.`)
  // Whether a server goes there is for its own settings to say.
  const isLocal = isLocalHost(new URL(url).hostname)
  if (!isLocal && !url.startsWith('https:')) wrong(`${INDEX_NAME} at /url: a repository lies at an https address.`)
  // Nearly all versions of an index name the same few.
  const ranges = new Map<string, boolean>()
  const isRange = (text: string): boolean => {
    const known = ranges.get(text) ?? readRange(text) !== null
    ranges.set(text, known)
    return known
  }
  const ids = new Set<string>()
  for (const { id, versions } of plugins) {
    if (ids.has(id)) wrong(`${INDEX_NAME} lists ${id} twice.`)
    ids.add(id)
    const seen = new Set<string>()
    for (const one of versions) {
      const name = `${id} ${one.version}`
      if (seen.has(one.version)) wrong(`${INDEX_NAME} lists ${name} twice.`)
      seen.add(one.version)
      readInstant(one.releasedAt)
      for (const range of [one.pluginApi, one.server ?? '*'])
        if (!isRange(range)) wrong(`${INDEX_NAME}: "${shown(range)}" of ${name} is no range of versions.`)
      const at = URL.parse(one.url, url)
      if (at?.protocol !== 'https:' && !(isLocal && at?.origin === new URL(url).origin))
        wrong(`${INDEX_NAME}: "${shown(one.url)}" of ${name} is no https address.`)
    }
  }
  const times = new Map<string, number>()
  for (const one of revoked) {
    if (!('id' in one)) continue
    const count = (times.get(one.id) ?? 0) + 1
    times.set(one.id, count)
    if (count > REVOKED_RANGES_MAX)
      wrong(`${INDEX_NAME} revokes more than ${REVOKED_RANGES_MAX} ranges of ${one.id}: revoke wider ones, or all versions of it.`)
    if (one.range !== undefined && !isRange(one.range))
      wrong(`${INDEX_NAME}: "${shown(one.range)}" in the revocation of ${one.id} is no range of versions.`)
  }
}

function readInstant(text: string): number {
  const time = Date.parse(text)
  return Number.isNaN(time) ? wrong(`${INDEX_NAME}: there is no day ${text}.`) : time
}
