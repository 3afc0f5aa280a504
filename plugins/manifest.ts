import type { Static } from 'typebox'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { refuse } from '#core/errors.ts'
import { OneOf } from '#core/schema.ts'

/** Which part of the interface for plugins this server offers. */
export const PLUGIN_API = '1.0'

const PLUGIN_ID = '^[a-z0-9]+([.-][a-z0-9]+)+$'
/** Strict semantic versions, without anything behind the three numbers but a pre-release. */
const VERSION = '^(0|[1-9]\\d{0,5})\\.(0|[1-9]\\d{0,5})\\.(0|[1-9]\\d{0,5})(-[0-9A-Za-z.-]{1,40})?$'
/** A host of the public internet by its name: numbers are refused, and so is what has no dot. */
const HOST = '^(\\*\\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$'
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const

export const LIBRARY_SCOPES = ['series.titles', 'series.metadata', 'series.externalIds', 'reading.progress', 'ratings'] as const

/** Functions that each capability may have; their paths in the plugin are the capability and the name. */
export const CAPABILITY_METHODS = {
  'metadata.series': ['search', 'get', 'match'],
  'metadata.book': ['search', 'get', 'match'],
  recommendations: ['get', 'refresh', 'dismiss'],
} as const
export type Capability = keyof typeof CAPABILITY_METHODS

const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength })
const Url = Type.String({ maxLength: 2_000, pattern: '^https://' })

const MetadataCapability = Type.Object({
  methods: Type.Array(OneOf(['search', 'get', 'match']), { minItems: 1, maxItems: 3, uniqueItems: true }),
  /** Under which name identifiers of this service are kept; `plugin:<id>` unless said. */
  idSource: Type.Optional(Text(100)),
  languages: Type.Optional(Type.Array(Text(35), { maxItems: 200 })),
})

/** `manifest.json` of a plugin. Members that nobody here knows are passed over, so that newer plugins still read. */
export const Manifest = Type.Object({
  manifestVersion: Type.Literal(1),
  id: Type.String({ pattern: PLUGIN_ID, maxLength: 64 }),
  name: Text(60),
  version: Type.String({ pattern: VERSION }),
  summary: Text(120),
  description: Type.Optional(Text(200)),
  author: Type.Optional(Type.Object({ name: Text(100), url: Type.Optional(Url) })),
  license: Type.Optional(Text(100)),
  homepage: Type.Optional(Url),
  repository: Type.Optional(Url),
  engine: Type.Object({ pluginApi: Type.String({ pattern: '^\\^1\\.\\d{1,4}$', description: 'Such as ^1.0.' }) }),
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
            methods: Type.Optional(Type.Array(OneOf([...METHODS]), { maxItems: METHODS.length })),
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
          header: Type.String({ pattern: '^[A-Za-z][A-Za-z0-9-]{0,63}$' }),
          format: Type.String({ maxLength: 200, pattern: '\\{token\\}' }),
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
/** What a manifest may weigh; and how deep it may be nested, for reading it recurses. */
const MANIFEST_BYTES_MAX = 64 * 1024
const DEPTH_MAX = 20

/** @throws invalid_value with the path of the member that is wrong */
export function readManifest(bytes: Uint8Array): Manifest {
  const wrong = (path: string, message: string): never =>
    refuse('invalid_value', `manifest.json${path === '' ? '' : ` at ${path}`}: ${message}.`, {
      details: [{ path: `/manifest${path}`, message }],
    })
  if (bytes.length > MANIFEST_BYTES_MAX) wrong('', `it has ${bytes.length} bytes; ${MANIFEST_BYTES_MAX} are allowed`)
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    wrong('', `it is no JSON (${(error as Error).message})`)
  }
  if (depthOf(value) > DEPTH_MAX) wrong('', `it is nested deeper than ${DEPTH_MAX} levels`)
  if (!check.Check(value)) {
    const [first] = check.Errors(value)
    wrong(first?.instancePath ?? '', first?.message ?? 'it is no manifest')
  }
  const manifest = value as Manifest
  const unknown = Object.keys(manifest.capabilities).find((name) => !(name in CAPABILITY_METHODS))
  if (unknown !== undefined) wrong(`/capabilities/${unknown}`, 'this server does not know that capability; a newer one may')
  if (Object.keys(manifest.capabilities).length === 0) wrong('/capabilities', 'a plugin has at least one')
  const bind = manifest.auth?.bind?.host
  const hosts = (manifest.permissions?.network ?? []).map(({ host }) => host)
  if (bind !== undefined && !hosts.includes(bind)) wrong('/auth/bind/host', 'credentials go only to a host of /permissions/network')
  return manifest
}

function depthOf(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0
  let deepest = 0
  for (const member of Object.values(value)) deepest = Math.max(deepest, depthOf(member))
  return deepest + 1
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
