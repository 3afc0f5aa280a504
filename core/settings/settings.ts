import { namesServer } from '#core/settings/local-hosts.ts'
import type { Value } from '#core/settings/parse-value.ts'
import type { Setting, SettingKey, SettingKind, SettingRow } from '#core/settings/setting-table.ts'

/** The type of a parsed value of each kind. */
type ValueOfKind<Kind extends SettingKind> = Kind extends { type: 'integer' }
  ? number
  : Kind extends { type: 'boolean' }
    ? boolean
    : Kind extends { type: 'choice'; choices: readonly (infer Choice)[] }
      ? Choice
      : Kind extends { type: 'text' | 'folder' }
        ? string
        : readonly string[]
/** Without a fallback the value may be missing. */
type ValueOf<Row extends Setting> = ValueOfKind<Row['kind']> | (Row extends { fallback: unknown } ? never : undefined)

type Get = <Key extends SettingKey>(key: Key) => ValueOf<Extract<SettingRow, { key: Key }>>

/**
 * Builds the settings of the server from the flat table, and checks rules that concern two settings. The type of its result is the type of the settings,
 * which are read once at startup, validated, frozen and passed down.
 */
export function composeSettings(values: ReadonlyMap<string, Value | undefined>, problems: string[]) {
  // The value was parsed by the kind of this very setting, from which its type is derived.
  const get: Get = (key) => values.get(key) as never
  const checked = checkedValues(get, problems)
  return {
    /** Absolute path of the folder for everything the server writes. */
    dataFolder: get('dataDir'),
    /** Absolute paths given with --library; added as libraries at startup if they are not libraries yet. */
    libraryFolders: get('library'),
    host: get('host'),
    /** 0 = any free port. */
    port: get('port'),
    /** Threads of the analysis pool. */
    workers: get('workers'),
    /** A PostgreSQL of the operator; null = the embedded one in the data folder. */
    databaseUrl: checked.databaseUrl,
    /** Created at startup if there is no user yet. */
    firstAdmin: checked.firstAdmin,
    rateLimit: {
      enabled: get('rateLimit.enabled'),
      anonymous: { perSecond: get('rateLimit.anonymous.perSecond'), burst: get('rateLimit.anonymous.burst') },
      authenticated: { perSecond: get('rateLimit.authenticated.perSecond'), burst: get('rateLimit.authenticated.burst') },
      pictures: { perSecond: get('rateLimit.pictures.perSecond'), burst: get('rateLimit.pictures.burst') },
    },
    /** Connections of one address at once. */
    connectionsPerAddress: get('connectionsPerAddress'),
    /** Addresses or CIDR ranges whose X-Forwarded-For header is trusted. */
    trustedProxies: get('trustedProxies'),
    /** Origins whose pages may send requests from a browser; `*` = any, without credentials. */
    corsOrigins: get('cors.origins'),
    /** HS256 key, at least 32 bytes; null = generated at the first start and stored in the data folder with mode 0600. */
    tokenKey: checked.tokenKey,
    accessTokenSeconds: get('accessTokenSeconds'),
    refreshTokenDays: get('refreshTokenDays'),
    /** Marks the auth cookie Secure: switch on behind TLS. */
    cookieSecure: get('cookieSecure'),
    /** Upper limit of the cache of rendered and extracted pages. */
    pageCacheBytesMax: get('pageCacheMb') * 1024 * 1024,
    /** Time one file may take in analysis. */
    analysisDeadlineMs: get('analysisDeadlineSeconds') * 1000,
    /** How long a file must stay the same before it is analyzed; 0 = it is analyzed at once. */
    quietMs: get('quietSeconds') * 1000,
    /** Whether this server watches the folders of libraries. */
    watch: get('watch'),
    /** Heap limit of one analysis thread. */
    workerMemoryMbMax: get('workerMemoryMb'),
    /** Between two scans that must both find a book missing before it is purged automatically. */
    purgeAfterSeconds: get('purgeAfterHours') * 3600,
    purgeWithFolderAfterDays: get('purgeWithFolderAfterDays'),
    /** How long the main thread may be blocked before the watchdog ends the process; 0 = without limit. */
    watchdogMs: get('watchdogSeconds') * 1000,
    /** Whether the server builds missing files of the web interface. */
    webBuild: get('web.build'),
    log: { level: get('log.level'), format: get('log.format') },
    compatibility: { legacyNames: get('compatibility.legacyNames') },
    /** Absolute paths of folders that administrators may browse; empty = the defaults, see core/scan/browse-folders.ts. */
    filesystemRoots: get('filesystem.roots'),
    plugins: { ...composePluginSettings(get), secretKeys: checked.secretKeys },
  }
}
export type Settings = ReturnType<typeof composeSettings>

const composePluginSettings = (get: Get) => ({
  /** Off is the safe mode: no installed plugin runs. */
  enabled: get('plugins.enabled'),
  /** `strict`: a process for each plugin. `grouped`: one for all, if memory is short. */
  isolation: get('plugins.isolation'),
  /** Without V8's compilers: slower, with a smaller attack surface. */
  hardened: get('plugins.hardened'),
  /** For development: services on this machine or in its network that plugins and repositories may use; see local-hosts.ts. */
  allowLocal: get('plugins.allowLocal'),
})

/** The values that have rules of their own, beyond their kind. */
function checkedValues(get: Get, problems: string[]) {
  const username = get('admin.username')
  const password = get('admin.password')
  if ((username === undefined) !== (password === undefined))
    problems.push('The first admin needs both CARREL_ADMIN_USERNAME and CARREL_ADMIN_PASSWORD (or their _FILE variables).')
  const tokenKey = get('tokenKey')
  if (tokenKey !== undefined && Buffer.byteLength(tokenKey) < 32) problems.push('CARREL_TOKEN_KEY must have at least 32 bytes.')
  const secretKeys: readonly string[] = (get('plugins.secretKey') ?? '').split(/\s+/).filter((key) => key !== '')
  if (secretKeys.some((key) => Buffer.byteLength(key) < 32)) problems.push('Every key of CARREL_SECRET_KEY must have at least 32 bytes.')
  // A value that its kind refuses is missing here, whatever its type says.
  for (const address of get('plugins.allowLocal') ?? [])
    if (namesServer(address, { host: get('host'), port: get('port') }))
      problems.push(`--plugin-allow-local names this server itself, ${address}: plugins never reach it.`)
  const databaseUrl = get('databaseUrl')
  if (databaseUrl !== undefined && !/^postgres(ql)?:\/\//.test(databaseUrl))
    problems.push('DATABASE_URL must begin with postgresql://, like postgresql://user:password@host:5432/database.')
  return {
    firstAdmin: username !== undefined && password !== undefined ? { username, password } : null,
    tokenKey: tokenKey ?? null,
    /**
     * Keys that encrypt credentials, at least 32 bytes: the first encrypts, the others are older ones that still decrypt; empty = generated at
     * the first start and stored in the data folder with mode 0600.
     */
    secretKeys,
    databaseUrl: databaseUrl ?? null,
  }
}
