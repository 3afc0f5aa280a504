import type { Static } from 'typebox'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { refuse } from '#core/errors.ts'
import { OneOf } from '#core/schema.ts'
import { readPlainJson, shown } from '#plugins/plain-json.ts'

/** Which part of the interface for plugins this server offers. */
export const PLUGIN_API = '1.0'

const PLUGIN_ID = '^[a-z0-9]+([.-][a-z0-9]+)+$'
/** Strict semantic versions, without anything behind the three numbers but a pre-release. */
const NUMBER = '(0|[1-9]\\d{0,5})'
const PRE_RELEASE = '(0|[1-9]\\d{0,15}|\\d*[A-Za-z-][0-9A-Za-z-]*)'
const VERSION = `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(-${PRE_RELEASE}(\\.${PRE_RELEASE})*)?$`
/** A host of the public internet by its name: numbers are refused, and so is what has no dot. */
const HOST = '^(\\*\\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$'
/**
 * One line that people read before they agree: no control characters, nothing that turns its direction, and something to see. The length is counted
 * here, in code points, for `maxLength` counts what stands as one character, and that may be thousands put on top of each other.
 */
const lineOf = (length: number) =>
  `^(?=[^\\p{L}\\p{N}]*[\\p{L}\\p{N}])[^\\p{Cc}\\p{Cs}\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]{1,${length}}$`
/** An address to click on: a name, perhaps a port, and nothing that has to be escaped; so neither credentials nor markup. */
const URL_TEXT = '^https://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?([/?#][A-Za-z0-9._~:/?#\\[\\]@!$&\\(\\)*+,;=%-]*)?$'
const LANGUAGE = '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$'
/** Without a colon: `plugin:<id>` is what another plugin's identifiers are kept under. */
const SOURCE = '^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$'
const HEADER = '^[A-Za-z][A-Za-z0-9-]{0,63}$'
/** Headers that say where a request goes and how it is framed; no service wants credentials there, and a manifest could bend requests by them. */
const FORBIDDEN_HEADER =
  /^(host|connection|keep-alive|transfer-encoding|content-.*|te|trailer|upgrade|expect|user-agent|accept-encoding|proxy-.*|sec-.*|via|forwarded|x-forwarded-.*)$/i
const PRINTABLE = '^[ -~]+$'
const PLUGIN_API_RANGE = '^\\^1\\.(0|[1-9]\\d{0,3})$'
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const

export const LIBRARY_SCOPES = ['series.titles', 'series.metadata', 'series.externalIds', 'reading.progress', 'ratings'] as const

/** Functions that each capability may have; their paths in the plugin are the capability and the name. */
export const CAPABILITY_METHODS = {
  'metadata.series': ['search', 'get', 'match'],
  'metadata.book': ['search', 'get', 'match'],
  recommendations: ['get', 'refresh', 'dismiss'],
} as const
export type Capability = keyof typeof CAPABILITY_METHODS

/** What the patterns say, for people. */
const PATTERNS: Record<string, string> = {
  [PLUGIN_ID]: 'must be lower-case ASCII words with dots or hyphens between them, such as org.example.anilist',
  [VERSION]: 'must be a semantic version such as 1.4.0 or 1.4.0-beta.1',
  [HOST]: 'must be the name of a host in lower case, with a dot in it and without scheme, port or path; *. may stand in front',
  [URL_TEXT]: 'must be an https address without credentials, percent-encoded where needed',
  [LANGUAGE]: 'must be a language such as en or pt-BR',
  [SOURCE]: 'must be a lower-case ASCII word such as anilist',
  [HEADER]: 'must be the name of a header',
  [PRINTABLE]: 'must be printable ASCII',
  [PLUGIN_API_RANGE]: `must be a caret range such as ^${PLUGIN_API}`,
}

function Text(length: number) {
  const pattern = lineOf(length)
  PATTERNS[pattern] = `must be one line of 1 to ${length} readable characters, without control characters`
  return Type.String({ pattern })
}
const Url = Type.String({ maxLength: 2_000, pattern: URL_TEXT })

const MetadataCapability = Type.Object({
  methods: Type.Array(OneOf(['search', 'get', 'match']), { minItems: 1, maxItems: 3, uniqueItems: true }),
  /** Under which name identifiers of this service are kept; `plugin:<id>` unless said. */
  idSource: Type.Optional(Type.String({ maxLength: 100, pattern: SOURCE })),
  languages: Type.Optional(Type.Array(Type.String({ maxLength: 35, pattern: LANGUAGE }), { maxItems: 200 })),
})

/** `manifest.json` of a plugin. Members that nobody here knows are passed over, so that newer plugins still read. */
export const Manifest = Type.Object({
  manifestVersion: Type.Literal(1),
  id: Type.String({ pattern: PLUGIN_ID, maxLength: 64 }),
  name: Text(60),
  version: Type.String({ pattern: VERSION, maxLength: 64 }),
  summary: Text(120),
  description: Type.Optional(Text(200)),
  author: Type.Optional(Type.Object({ name: Text(100), url: Type.Optional(Url) })),
  license: Type.Optional(Text(100)),
  homepage: Type.Optional(Url),
  repository: Type.Optional(Url),
  engine: Type.Object({ pluginApi: Type.String({ pattern: PLUGIN_API_RANGE, description: 'Such as ^1.0.' }) }),
  main: Type.Optional(Type.Literal('main.js')),
  capabilities: Type.Object({
    'metadata.series': Type.Optional(MetadataCapability),
    'metadata.book': Type.Optional(MetadataCapability),
    recommendations: Type.Optional(
      Type.Object({
        methods: Type.Array(OneOf(['get', 'refresh', 'dismiss']), { minItems: 1, maxItems: 3, uniqueItems: true }),
        scope: Type.Optional(Type.Literal('user')),
      }),
    ),
  }),
  permissions: Type.Optional(
    Type.Object({
      network: Type.Optional(
        Type.Array(
          Type.Object({
            host: Type.String({ pattern: HOST, maxLength: 253 }),
            methods: Type.Optional(Type.Array(OneOf([...METHODS]), { maxItems: METHODS.length, uniqueItems: true })),
            reason: Text(200),
          }),
          { maxItems: 20 },
        ),
      ),
      storage: Type.Optional(Type.Object({ quotaKB: Type.Integer({ minimum: 1, maximum: 20_480 }) })),
      library: Type.Optional(Type.Array(OneOf([...LIBRARY_SCOPES]), { maxItems: LIBRARY_SCOPES.length, uniqueItems: true })),
    }),
  ),
  auth: Type.Optional(
    Type.Object({
      type: OneOf(['none', 'apiKey', 'basic']),
      scope: OneOf(['user', 'server']),
      bind: Type.Optional(
        Type.Object({
          host: Type.String({ pattern: HOST, maxLength: 253 }),
          header: Type.String({ pattern: HEADER }),
          format: Type.String({ maxLength: 200, pattern: PRINTABLE, description: 'Holds {token}.' }),
        }),
      ),
    }),
  ),
  config: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  userConfig: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  limits: Type.Optional(
    Type.Object({
      heapMB: Type.Optional(Type.Integer({ minimum: 16, maximum: 256 })),
      cpuMs: Type.Optional(Type.Integer({ minimum: 50, maximum: 5_000 })),
      wallMs: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 60_000 })),
    }),
  ),
})
export type Manifest = Static<typeof Manifest>

const check = Compile(Manifest)
/** What a manifest may weigh: one with long lists has 10 KB. */
export const MANIFEST_BYTES_MAX = 64 * 1024

const KNOWN_PERMISSIONS = ['network', 'storage', 'library']

/** @throws invalid_value with the path of the member that is wrong */
export function readManifest(bytes: Uint8Array): Manifest {
  const wrong = (path: string, message: string): never =>
    refuse('invalid_value', `manifest.json${path === '' ? '' : ` at ${path}`}: ${message}.`, {
      details: [{ path: `/manifest${path}`, message }],
    })
  if (bytes.length > MANIFEST_BYTES_MAX) wrong('', `it has ${bytes.length} bytes; ${MANIFEST_BYTES_MAX} are allowed`)
  const value = readPlainJson(bytes, (message) => wrong('', message))
  if (!check.Check(value)) {
    const [first] = check.Errors(value)
    const pattern = (first?.params as { pattern?: unknown } | undefined)?.pattern
    const said = typeof pattern === 'string' ? PATTERNS[pattern] : undefined
    return wrong(first?.instancePath ?? '', said ?? first?.message ?? 'it is no manifest')
  }
  const { engine, capabilities, permissions = {}, auth } = value
  // What a server does not know it cannot ask consent for, nor keep within bounds; so newer plugins wait for a newer server.
  if (Number(engine.pluginApi.split('.')[1]) > Number(PLUGIN_API.split('.')[1]))
    wrong('/engine/pluginApi', `this server offers ${PLUGIN_API}; the plugin needs a newer one`)
  const capability = Object.keys(capabilities).find((name) => !Object.hasOwn(CAPABILITY_METHODS, name))
  if (capability !== undefined) wrong(`/capabilities/${shown(capability)}`, 'this server does not know that capability; a newer one may')
  if (Object.keys(capabilities).length === 0) wrong('/capabilities', 'a plugin has at least one')
  const permission = Object.keys(permissions).find((name) => !KNOWN_PERMISSIONS.includes(name))
  if (permission !== undefined) wrong(`/permissions/${shown(permission)}`, 'this server does not know that permission; a newer one may')
  const hosts = (permissions.network ?? []).map(({ host }) => host)
  const twice = hosts.findIndex((host, index) => hosts.indexOf(host) < index)
  if (twice !== -1) wrong(`/permissions/network/${twice}/host`, `${hosts[twice]} stands there twice; give all its methods in one place`)
  const bind = auth?.bind
  if (bind !== undefined) {
    if (!hosts.includes(bind.host)) wrong('/auth/bind/host', 'credentials go only to a host of /permissions/network')
    if (FORBIDDEN_HEADER.test(bind.header)) wrong('/auth/bind/header', `credentials cannot go into ${bind.header}`)
    if (!bind.format.includes('{token}')) wrong('/auth/bind/format', 'it must hold {token}, in whose place the credentials are put')
  }
  return value
}

/** Paths of the functions that a plugin must define, as its manifest says. */
export const methodsOf = ({ capabilities }: Manifest): string[] =>
  Object.entries(capabilities).flatMap(([capability, given]) =>
    ((given as { methods?: string[] } | undefined)?.methods ?? []).map((method) => `${capability}.${method}`),
  )

/** What an administrator agrees to, in a form that two versions can be compared by. */
export interface Permissions {
  network: { host: string; methods: string[]; reason: string }[]
  library: string[]
  storageKB: number
  auth: { type: string; scope: string; host: string | null } | null
  heapMB: number
  cpuMs: number
  wallMs: number
}

export const DEFAULT_LIMITS = { heapMB: 64, cpuMs: 500, wallMs: 20_000, storageKB: 1_024 } as const

export function permissionsOf({ permissions = {}, auth, limits = {} }: Manifest): Permissions {
  return {
    network: (permissions.network ?? []).map(({ host, methods = ['GET'], reason }) => ({ host, methods: [...methods].sort(), reason })),
    library: [...(permissions.library ?? [])].sort(),
    storageKB: permissions.storage?.quotaKB ?? 0,
    auth: auth && auth.type !== 'none' ? { type: auth.type, scope: auth.scope, host: auth.bind?.host ?? null } : null,
    heapMB: limits.heapMB ?? DEFAULT_LIMITS.heapMB,
    cpuMs: limits.cpuMs ?? DEFAULT_LIMITS.cpuMs,
    wallMs: limits.wallMs ?? DEFAULT_LIMITS.wallMs,
  }
}

/** What the second asks for beyond the first, in words; an update that asks for more waits for consent. */
export function permissionGrowth(granted: Permissions, wanted: Permissions): string[] {
  const growth: string[] = []
  for (const { host, methods } of wanted.network) {
    const known = granted.network.find((one) => one.host === host)
    if (known === undefined) growth.push(`talks to ${host}`)
    else for (const method of methods) if (!known.methods.includes(method)) growth.push(`sends ${method} to ${host}`)
  }
  for (const scope of wanted.library) if (!granted.library.includes(scope)) growth.push(`reads ${scope} of the library`)
  if (wanted.storageKB > granted.storageKB) growth.push(`keeps ${wanted.storageKB} KB instead of ${granted.storageKB}`)
  if (wanted.auth !== null && JSON.stringify(wanted.auth) !== JSON.stringify(granted.auth)) growth.push('uses credentials in another way')
  if (wanted.heapMB > granted.heapMB) growth.push(`needs ${wanted.heapMB} MB of memory instead of ${granted.heapMB}`)
  if (wanted.cpuMs > granted.cpuMs) growth.push(`computes for ${wanted.cpuMs} ms instead of ${granted.cpuMs}`)
  if (wanted.wallMs > granted.wallMs) growth.push(`takes ${wanted.wallMs} ms instead of ${granted.wallMs}`)
  return growth
}
