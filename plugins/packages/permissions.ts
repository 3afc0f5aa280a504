import { isDeepStrictEqual } from 'node:util'
import type { Manifest } from '#plugins/packages/manifest.ts'

/** The permissions that an administrator grants, in a form that allows comparing two versions. */
export interface Permissions {
  network: { host: string; methods: string[]; reason: string }[]
  /** Members of the configuration that contain URLs of further hosts. */
  networkFromConfig: string[]
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

export const DEFAULT_LIMITS = { heapMB: 64, cpuMs: 500, wallMs: 20_000, storageKB: 1_024 } as const

export function permissionsOf({ permissions = {}, auth, limits = {} }: Manifest): Permissions {
  return {
    network: (permissions.network ?? []).map(({ host, methods = ['GET'], reason }) => ({ host, methods: [...methods].sort(), reason })),
    networkFromConfig: [...(permissions.networkFromConfig ?? [])].sort(),
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

function intoOf(bind: NonNullable<Manifest['auth']>['bind']): { into?: string } {
  const [place, name] = bind?.query !== undefined ? ['query', bind.query] : ['body', bind?.body]
  if (name === undefined) return {}
  const { format, usernameField } = bind ?? {}
  const more = [...(format === undefined ? [] : [`as ${format}`]), ...(usernameField === undefined ? [] : [`with ${usernameField}`])]
  return { into: [place, name, ...more].join(' ') }
}

/** Permissions that the second requests beyond the first, as phrases; an update that requests more waits for consent. */
export function permissionGrowth(granted: Permissions, wanted: Permissions): string[] {
  const growth: string[] = []
  for (const { host, methods } of wanted.network) {
    const known = granted.network.find((one) => one.host === host)
    if (known === undefined) growth.push(`connects to ${host}`)
    else for (const method of methods) if (!known.methods.includes(method)) growth.push(`sends ${method} to ${host}`)
  }
  for (const key of wanted.networkFromConfig)
    if (!granted.networkFromConfig.includes(key)) growth.push(`connects to the host that an administrator enters as ${key}`)
  for (const scope of wanted.library) if (!granted.library.includes(scope)) growth.push(`reads ${scope} of the library`)
  if (wanted.storageKB > granted.storageKB) growth.push(`stores ${wanted.storageKB} KB instead of ${granted.storageKB}`)
  if (wanted.auth !== null && !isDeepStrictEqual(wanted.auth, granted.auth)) growth.push('uses credentials in another way')
  if (wanted.heapMB > granted.heapMB) growth.push(`needs ${wanted.heapMB} MB of memory instead of ${granted.heapMB}`)
  if (wanted.cpuMs > granted.cpuMs) growth.push(`uses ${wanted.cpuMs} ms of CPU time instead of ${granted.cpuMs}`)
  if (wanted.wallMs > granted.wallMs) growth.push(`takes ${wanted.wallMs} ms instead of ${granted.wallMs}`)
  return growth
}
