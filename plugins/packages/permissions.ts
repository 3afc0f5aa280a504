import { DEFAULT_LIMITS, type Manifest } from '#plugins/packages/manifest.ts'
import { readOrigin } from '#plugins/packages/origin.ts'

/** The permissions that an administrator grants. */
export interface Permissions {
  network: { host: string; methods: string[]; reason: string }[]
  /** Members of the configuration that contain URLs of further hosts. */
  networkFromConfig: string[]
  /** Of these members, the origins that the author proposes as their defaults: consent confirms them. Absent when there are none. */
  hostDefaults?: Record<string, string>
  library: string[]
  storageKB: number
  /** Users sign in at `loginHost`; the server redeems the code at `tokenHost`. */
  auth: {
    type: string
    scope: string
    host: string | null
    /** Member of the configuration with the URL that receives the credentials; only when they do not go to a host of the manifest. */
    hostFromConfig?: string
    /** Where requests contain them, such as `query api_key`; only when that is not a header. The service may reveal the content of a body. */
    into?: string
    loginHost: string | null
    tokenHost: string | null
  } | null
  heapMB: number
  cpuMs: number
  wallMs: number
}

export function requestedPermissions({ permissions = {}, auth, limits = {}, config }: Manifest): Permissions {
  const networkFromConfig = [...(permissions.networkFromConfig ?? [])].sort()
  return {
    network: (permissions.network ?? []).map(({ host, methods = ['GET'], reason }) => ({ host, methods: [...methods].sort(), reason })),
    networkFromConfig,
    ...hostDefaultsOf(networkFromConfig, config),
    library: [...(permissions.library ?? [])].sort(),
    storageKB: permissions.storage?.quotaKB ?? 0,
    auth:
      auth && auth.type !== 'none'
        ? {
            type: auth.type,
            scope: auth.scope,
            host: auth.bind?.host ?? null,
            ...(auth.bind?.hostFrom !== undefined && { hostFromConfig: auth.bind.hostFrom }),
            ...intoOf(auth.bind),
            loginHost: auth.oauth2 ? new URL(auth.oauth2.authorizeUrl).hostname : null,
            tokenHost: auth.oauth2 ? new URL(auth.oauth2.tokenUrl).hostname : null,
          }
        : null,
    heapMB: limits.heapMB ?? DEFAULT_LIMITS.heapMB,
    cpuMs: limits.cpuMs ?? DEFAULT_LIMITS.cpuMs,
    wallMs: limits.wallMs ?? DEFAULT_LIMITS.wallMs,
  }
}

/** Of the rights that a version asks for, those that were granted: without a person who sees it, nothing gets another. */
export function grantedOf({ hostDefaults = {}, ...asked }: Permissions, granted: Permissions): Permissions {
  const confirmed = Object.entries(hostDefaults).filter(([key, origin]) => granted.hostDefaults?.[key] === origin)
  return {
    network: asked.network.flatMap((one) => {
      const rules = granted.network.filter(({ host }) => covers(host, one.host))
      const methods = one.methods.filter((method) => rules.some((rule) => rule.methods.includes(method)))
      return methods.length === 0 ? [] : [{ ...one, methods }]
    }),
    networkFromConfig: asked.networkFromConfig.filter((key) => granted.networkFromConfig.includes(key)),
    ...(confirmed.length > 0 && { hostDefaults: Object.fromEntries(confirmed) }),
    library: asked.library.filter((scope) => granted.library.includes(scope)),
    storageKB: Math.min(asked.storageKB, granted.storageKB),
    auth: asked.auth === null ? null : granted.auth,
    heapMB: Math.min(asked.heapMB, granted.heapMB),
    cpuMs: Math.min(asked.cpuMs, granted.cpuMs),
    wallMs: Math.min(asked.wallMs, granted.wallMs),
  }
}

/** A default that names no host grants none. */
function hostDefaultsOf(keys: readonly string[], config: Manifest['config']): { hostDefaults?: Record<string, string> } {
  const members = config?.['properties'] as Record<string, { default?: unknown }> | undefined
  const defaults = keys.flatMap((key) => {
    const origin = defaultOrigin(members?.[key]?.default)
    return origin === null ? [] : [[key, origin] as const]
  })
  return defaults.length === 0 ? {} : { hostDefaults: Object.fromEntries(defaults) }
}

/** Characters of an origin that consent shows whole; real ones have some 30. */
export const DEFAULT_ORIGIN_MAX = 90

/** Scheme, host and port of the one host that a default proposes; null for anything that a person could not recognize as one host. */
export function defaultOrigin(value: unknown): string | null {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return null
  // Consent shows the origin, not the text of the author: that one must name the host.
  return url.origin.length <= DEFAULT_ORIGIN_MAX && 'url' in readOrigin(url.origin) ? url.origin : null
}

/**
 * The URL of a host that an administrator has entered as this member of the configuration, or has confirmed by consenting to its default.
 * Without either there is none: the default of a manifest alone opens no host, and receives no credentials.
 */
export function configuredAddress(
  key: string,
  { config, granted }: { config: Readonly<Record<string, unknown>>; granted: Permissions | null },
): unknown {
  return Object.hasOwn(config, key) ? config[key] : granted?.hostDefaults?.[key]
}

function intoOf(bind: NonNullable<Manifest['auth']>['bind']): { into?: string } {
  const [place, name] = bind?.query !== undefined ? ['query', bind.query] : ['body', bind?.body]
  if (name === undefined) return {}
  const { format, usernameField } = bind ?? {}
  const more = [...(format === undefined ? [] : [`as ${format}`]), ...(usernameField === undefined ? [] : [`with ${usernameField}`])]
  return { into: [place, name, ...more].join(' ') }
}

/** Whether the host matches the pattern of a rule. */
export const covers = (pattern: string, host: string): boolean =>
  pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)))
