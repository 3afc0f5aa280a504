import { type KeyObject, sign, verify } from 'node:crypto'
import type { Static } from 'typebox'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { refuse } from '#core/foundation/errors.ts'
import { briefText, readableLinePattern, readablePattern } from '#core/foundation/stranger-text.ts'
import { normalizeText } from '#core/foundation/text.ts'
import { isLocalHost } from '#core/settings/local-hosts.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { Manifest, PATTERNS } from '#plugins/packages/manifest.ts'
import type { Shape } from '#plugins/packages/manifest-form.ts'
import { readPlainJson } from '#plugins/packages/plain-json.ts'
import { publicKeyText, readBase64, readPublicKey } from '#plugins/packages/plugin-package.ts'
import { describeSchemaProblem } from '#plugins/packages/schema-problem.ts'
import { PACKAGE_BYTES_MAX } from '#plugins/packages/zip.ts'
import { emptinessOf, RANGE_LENGTH_MAX, readRange } from '#plugins/repositories/version-range.ts'

export const INDEX_NAME = 'index.json'
export const SIGNATURE_NAME = 'index.json.sig'
/** A thousand plugins with ten versions each have about 4 MB. */
export const INDEX_BYTES_MAX = 5 * 1024 * 1024
/** 64 bytes have 88 characters in base64, plus a line end. */
export const SIGNATURE_BYTES_MAX = 200
const SIGNATURE_BYTES = 64
/** Revoked ranges of one plugin: each is compared with every version of it. A publisher can combine more into wider ones. */
export const REVOKED_RANGES_MAX = 500
/** The maximum time for which an attacker can replay an old index to hide revocations. */
export const EXPIRES_DAYS_MAX = 90
/** Clocks differ; a whole day also covers one in a wrong time zone. */
const CLOCK_SKEW_MS = 86_400_000

/** Descriptions of the patterns for people. */
const OWN_PATTERNS: Record<string, string> = {}
const described = (pattern: string, form: string): string => {
  OWN_PATTERNS[pattern] = `must be ${form}`
  return pattern
}
const Line = (length: number) =>
  Type.String({ pattern: described(readableLinePattern(length), `one line of 1 to ${length} readable characters`), maxLength: length })
const INSTANT = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,3})?Z$'
const Instant = Type.String({ pattern: described(INSTANT, 'a time in UTC such as 2024-12-31T12:00:00Z'), maxLength: 24 })
const Sha256 = Type.String({ pattern: described('^[0-9a-f]{64}$', 'a SHA-256 in 64 lower-case hexadecimal digits'), maxLength: 64 })
const Range = Type.String({ minLength: 1, maxLength: RANGE_LENGTH_MAX })
/** Our own names, and those of newer servers. */
const Word = Type.String({
  pattern: described('^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$', 'a word of 1 to 60 ASCII letters and digits'),
  maxLength: 60,
})
const Host = Type.String({ pattern: described('^[a-z0-9.*-]{1,253}$', 'a host such as api.example.org'), maxLength: 253 })
const Words = (maxItems: number) => Type.Array(Word, { maxItems })
const { id: PluginKey, version: Version, name: Name, summary: Summary } = Manifest.properties
const Author = Type.Object({ name: Line(100) })

/** A summary of permissions, for choosing a version. The package contains all of them, for consent. */
export const PermissionSummary = Type.Object({
  hosts: Type.Array(Host, { maxItems: 20 }),
  /** Members of the configuration that name further hosts. */
  hostsFromConfig: Words(5),
  library: Words(20),
  storageKB: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
  /** The kind of sign-in, such as `oauth2`; null when it needs no credentials. */
  credentials: Type.Union([Word, Type.Null()]),
})
export type PermissionSummary = Static<typeof PermissionSummary>

export const IndexVersion = Type.Object({
  version: Version,
  /** Required range of the plugin interface, such as `^1.0`. */
  pluginApi: Range,
  /** Supported range of server versions; default all. */
  server: Type.Optional(Range),
  /** URL of the package; relative to the folder of the index, or on another host. */
  url: Type.String({ pattern: described('^[!-~]{1,2000}$', 'a URL of printable ASCII without spaces'), maxLength: 2_000 }),
  size: Type.Integer({ minimum: 1, maximum: PACKAGE_BYTES_MAX }),
  sha256: Sha256,
  permissions: PermissionSummary,
  /** Where this version differs from its plugin in the index, which describes the newest. Null for no author. */
  name: Type.Optional(Name),
  summary: Type.Optional(Summary),
  author: Type.Optional(Type.Union([Author, Type.Null()])),
  capabilities: Type.Optional(Words(20)),
  releasedAt: Instant,
  changelog: Type.Optional(
    Type.String({
      pattern: described(readablePattern(4_000, { lines: true }), 'a text of at most 4000 readable characters'),
      maxLength: 4_000,
    }),
  ),
  /** Why the publisher has withdrawn this version. Installed copies still run. */
  yanked: Type.Optional(Line(200)),
  /** A message for its users. */
  advisory: Type.Optional(Line(300)),
})
export type IndexVersion = Static<typeof IndexVersion>

export const IndexPlugin = Type.Object({
  id: PluginKey,
  name: Name,
  summary: Summary,
  author: Type.Optional(Author),
  categories: Type.Optional(Words(10)),
  capabilities: Words(20),
  versions: Type.Array(IndexVersion, { minItems: 1, maxItems: 100 }),
})
export type IndexPlugin = Static<typeof IndexPlugin>

/** Versions that must not run: one package, or the versions of a plugin in a range (default all). */
export const IndexRevocation = Type.Union([
  Type.Object({ sha256: Sha256, reason: Line(300) }),
  Type.Object({ id: PluginKey, range: Type.Optional(Range), reason: Line(300) }),
])
export type IndexRevocation = Static<typeof IndexRevocation>

/** `index.json` of a repository: a static folder with packages. Unknown members are ignored. */
export const RepositoryIndex = Type.Object({
  schema: Type.Literal(1),
  name: Name,
  /** URL of the folder, with a trailing slash, so that an index is invalid for another repository with the same key. */
  url: Type.String({
    pattern: described('^https?://[!-~]{1,2000}/$', 'a URL with http or https and a slash at its end'),
    maxLength: 2_009,
  }),
  /** Increases with every change; a server never accepts a lower one than it has seen. */
  sequence: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  issuedAt: Instant,
  expires: Instant,
  /** Ed25519, base64; one of them signs. Servers trust only the first key that they saw. */
  keys: Type.Array(Type.String({ pattern: described('^[A-Za-z0-9+/]{43}=$', 'an Ed25519 key: 32 bytes in base64'), maxLength: 44 }), {
    minItems: 1,
    maxItems: 4,
  }),
  plugins: Type.Array(IndexPlugin, { maxItems: 2_000 }),
  revoked: Type.Array(IndexRevocation, { maxItems: 10_000 }),
})
export type RepositoryIndex = Static<typeof RepositoryIndex>

const check = Compile(RepositoryIndex)

function wrong(message: string): never {
  refuse('invalid_value', message, { details: [{ path: `/${INDEX_NAME}`, message }] })
}

/**
 * Reads an index that must be signed with a known key; checks the signature before it parses anything.
 * @param signature the content of `index.json.sig`: 64 bytes in base64
 * @param publicKey Ed25519, base64 of its 32 bytes
 * @throws invalid_value with what is wrong: the signature, the form, or the expiry at `now`
 */
export function readIndex(bytes: Uint8Array, signature: Uint8Array, publicKey: string, now: Date): RepositoryIndex {
  checkSize(bytes)
  const key =
    readPublicKey(publicKey) ?? wrong(`"${briefText(publicKey)}" is not an Ed25519 key, or it is a weak key for which anybody can sign.`)
  if (!verify(null, bytes, key, readSignature(signature)))
    wrong(`${INDEX_NAME} is not signed by the key that was trusted when the repository was added (${fingerprintOf(publicKey)}).`)
  const index = parse(bytes)
  checkIndex(index, now)
  return index
}

/**
 * Reads an index without a known key, and returns which of its keys has signed it, for a person to compare and trust.
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
  if (publicKey === undefined) return wrong(`${INDEX_NAME} is not signed with any of the keys that it lists.`)
  checkIndex(index, now)
  return { index, publicKey }
}

/**
 * Signs an index. The same index and key give the same bytes; any web server can serve the folder.
 * @param index without `keys`, which will be the signing key
 * @throws invalid_value for an index that no server would accept
 */
export function signIndex(index: Omit<RepositoryIndex, 'keys'>, key: KeyObject): { bytes: Buffer; signature: Buffer } {
  const publicKey = publicKeyText(key)
  const bytes = Buffer.from(`${JSON.stringify({ ...index, keys: [publicKey] }, null, 1)}\n`)
  const signature = Buffer.from(`${sign(null, bytes, key).toString('base64')}\n`)
  const issuedAt = new Date(index.issuedAt)
  // Checks the result with the server's own parser.
  readIndex(bytes, signature, publicKey, Number.isNaN(issuedAt.getTime()) ? new Date() : issuedAt)
  return { bytes, signature }
}

function checkSize(bytes: Uint8Array): void {
  if (bytes.length > INDEX_BYTES_MAX) wrong(`${INDEX_NAME} has ${bytes.length} bytes; the limit is ${INDEX_BYTES_MAX}.`)
}

function readSignature(file: Uint8Array): Buffer {
  const text = file.length > SIGNATURE_BYTES_MAX ? '' : Buffer.from(file).toString('latin1').trim()
  return readBase64(text, SIGNATURE_BYTES) ?? wrong(`${SIGNATURE_NAME} is not an Ed25519 signature in base64.`)
}

function parse(bytes: Uint8Array): RepositoryIndex {
  const value = readPlainJson(bytes, (message) => wrong(`${INDEX_NAME}: ${message}.`))
  if (check.Check(value)) return value
  const schema = (value as { schema?: unknown } | null)?.schema
  if (typeof schema === 'number' && schema > 1)
    wrong(`${INDEX_NAME} has schema ${schema}, which this server does not support; a newer one may.`)
  return wrong(`${INDEX_NAME}${indexProblem(value) ?? ': it is not an index'}.`)
}

/** What is wrong with the form of an index, with its place, after the name of the file; null when it is valid. */
export function indexProblem(value: unknown): string | null {
  const [first] = check.Errors(value)
  if (first === undefined) return null
  const said = describeSchemaProblem(value, first, { schema: RepositoryIndex as Shape, patterns: { ...PATTERNS, ...OWN_PATTERNS } })
  return `${first.instancePath === '' ? '' : ` at ${briefText(first.instancePath)}`}: ${said}`
}

/** More than a name may have. */
const NAME_LENGTH_MAX = 200

/** A name with a scheme, or of one word with a dot in it. */
function looksLikeAddress(name: string): boolean {
  const plain = normalizeText(name, NAME_LENGTH_MAX, 'NFKC').trim()
  return plain.includes('://') || (!/\s/.test(plain) && plain.slice(0, -1).includes('.'))
}

/** Checks the rules that a schema cannot express. */
function checkIndex({ name, issuedAt, expires, plugins, revoked, url }: RepositoryIndex, now: Date): void {
  if (looksLikeAddress(name))
    wrong(
      `${INDEX_NAME} at /name: "${briefText(name)}" looks like an address. Write a name, so that nobody takes it for another repository.`,
    )
  const [issued, ends] = [readInstant(issuedAt), readInstant(expires)]
  if (ends <= issued || ends - issued > EXPIRES_DAYS_MAX * 86_400_000)
    wrong(`${INDEX_NAME} must expire after it was issued, within ${EXPIRES_DAYS_MAX} days.`)
  if (issued > now.getTime() + CLOCK_SKEW_MS) wrong(`${INDEX_NAME} was issued in the future (${issuedAt}); check the clock of this server.`)
  if (ends <= now.getTime())
    wrong(`${INDEX_NAME} expired at ${expires}. Its publisher must issue a new one, or an attacker withholds the newest.`)
  if (!URL.canParse(url) || new URL(url).href !== url) wrong(`${INDEX_NAME} at /url: write it in the normalized form of browsers.`)
  // The server's own settings decide whether it may request the host.
  const isLocal = isLocalHost(new URL(url).hostname)
  if (!isLocal && !url.startsWith('https:')) wrong(`${INDEX_NAME} at /url: the URL of a repository must be https.`)
  // Nearly all versions in an index use the same few ranges.
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
        if (!isRange(range)) wrong(`${INDEX_NAME}: "${briefText(range)}" of ${name} is not a version range.`)
      const at = URL.parse(one.url, url)
      if (at?.protocol !== 'https:' && !(isLocal && at?.origin === new URL(url).origin))
        wrong(`${INDEX_NAME}: "${briefText(one.url)}" of ${name} is not an https URL.`)
    }
  }
  const times = new Map<string, number>()
  for (const one of revoked) {
    if (!('id' in one)) continue
    const count = (times.get(one.id) ?? 0) + 1
    times.set(one.id, count)
    if (count > REVOKED_RANGES_MAX)
      wrong(`${INDEX_NAME} revokes more than ${REVOKED_RANGES_MAX} ranges of ${one.id}. Revoke wider ranges, or all its versions.`)
    if (one.range !== undefined && !isRange(one.range))
      wrong(`${INDEX_NAME}: "${briefText(one.range)}" in the revocation of ${one.id} is not a version range.`)
    const emptiness = one.range === undefined ? null : emptinessOf(one.range)
    if (emptiness !== null) wrong(`${INDEX_NAME}: "${briefText(one.range as string)}" in the revocation of ${one.id} ${emptiness}.`)
  }
}

function readInstant(text: string): number {
  const time = Date.parse(text)
  return Number.isNaN(time) ? wrong(`${INDEX_NAME}: ${text} is not a valid date.`) : time
}
