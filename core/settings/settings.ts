/** The settings of the server: read once at startup, validated, frozen and passed down. */
export interface Settings {
  /** Absolute path of the folder for everything the server writes. */
  dataFolder: string
  /** Absolute paths given with --library; added as libraries at startup if they are not libraries yet. */
  libraryFolders: readonly string[]
  host: string
  /** 0 = any free port. */
  port: number
  /** Threads of the analysis pool. */
  workers: number
  /** A PostgreSQL of the operator; null = the embedded one in the data folder. */
  databaseUrl: string | null
  /** Created at startup if there is no user yet. */
  firstAdmin: { username: string; password: string } | null
  rateLimit: {
    enabled: boolean
    anonymous: { perSecond: number; burst: number }
    authenticated: { perSecond: number; burst: number }
  }
  /** Connections of one address at once. */
  connectionsPerAddress: number
  /** Addresses or CIDR ranges whose X-Forwarded-For header is trusted. */
  trustedProxies: readonly string[]
  /** Origins whose pages may send requests from a browser; `*` = any, without credentials. */
  corsOrigins: readonly string[]
  /** HS256 key, at least 32 bytes; null = generated at the first start and stored in the data folder with mode 0600. */
  tokenKey: string | null
  accessTokenSeconds: number
  refreshTokenDays: number
  /** Marks the auth cookie Secure: switch on behind TLS. */
  cookieSecure: boolean
  /** Upper limit of the cache of rendered and extracted pages. */
  pageCacheBytesMax: number
  /** Time one file may take in analysis. */
  analysisDeadlineMs: number
  /** Heap limit of one analysis thread. */
  workerMemoryMbMax: number
  /** Between two scans that must both find a book missing before it is purged automatically. */
  purgeAfterSeconds: number
  /** How long the main thread may be blocked before the watchdog ends the process; 0 = without limit. */
  watchdogMs: number
  log: { level: 'debug' | 'info' | 'warn' | 'error' | 'silent'; format: 'pretty' | 'json' }
  compatibility: { legacyNames: boolean }
  /** Absolute paths of folders that administrators may browse; empty = the defaults, see core/ingest/browse-folders.ts. */
  filesystemRoots: readonly string[]
  plugins: {
    /** Off is the safe mode: no installed plugin runs. */
    enabled: boolean
    /** `strict`: a process for each plugin. `grouped`: one for all, if memory is short. */
    isolation: 'strict' | 'grouped'
    /** Without V8's compilers: slower, with a smaller attack surface. */
    hardened: boolean
    /** For development: services on this machine or in its network that plugins and repositories may use; see local-places.ts. */
    allowLocal: readonly string[]
    /**
     * Keys that encrypt credentials, at least 32 bytes: the first encrypts, the others are older ones that still decrypt; empty = generated at
     * the first start and stored in the data folder with mode 0600.
     */
    secretKeys: readonly string[]
  }
}
