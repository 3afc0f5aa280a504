/** What the server runs with: read once at start, validated, frozen and handed down. */
export interface Settings {
  /** Absolute path of the folder that holds everything the server writes. */
  dataFolder: string
  /** Absolute paths given with --library; created as libraries at start when they are not known yet. */
  libraryFolders: readonly string[]
  host: string
  /** 0 = any free port. */
  port: number
  /** Threads of the analysis pool. */
  workers: number
  /** A PostgreSQL of one's own; null = the embedded one in the data folder. */
  databaseUrl: string | null
  /** Made at start when there is no user yet. */
  firstAdmin: { username: string; password: string } | null
  rateLimit: {
    enabled: boolean
    anonymous: { perSecond: number; burst: number }
    authenticated: { perSecond: number; burst: number }
  }
  /** Connections of one address at once. */
  connectionsPerAddress: number
  /** Addresses or CIDR ranges whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[]
  /** Origins whose pages may ask from a browser; `*` = any, without credentials. */
  corsOrigins: readonly string[]
  /** HS256 key, at least 32 bytes; null = made at first start and kept in the data folder with mode 0600. */
  tokenKey: string | null
  accessTokenSeconds: number
  refreshTokenDays: number
  /** Marks the auth cookie Secure: switch on behind TLS. */
  cookieSecure: boolean
  /** Upper bound of the cache of rendered and extracted pages. */
  pageCacheBytesMax: number
  /** Time one file may take in analysis. */
  analysisDeadlineMs: number
  /** Heap limit of one analysis thread. */
  workerMemoryMbMax: number
  /** Between two scans that both must find a book gone before it is purged by itself. */
  purgeAfterSeconds: number
  /** How long the main thread may stand still before the watchdog ends the process; 0 = as long as it does. */
  watchdogMs: number
  log: { level: 'debug' | 'info' | 'warn' | 'error' | 'silent'; format: 'pretty' | 'json' }
  compatibility: { legacyNames: boolean }
  /** Absolute paths of folders that administrators may look through; none = the usual ones, see core/ingest/browse-folders.ts. */
  filesystemRoots: readonly string[]
  plugins: {
    /** Off is the safe mode: whatever is installed, none runs. */
    enabled: boolean
    /** `strict`: a process for each plugin. `grouped`: one for all, where memory is short. */
    isolation: 'strict' | 'grouped'
    /** Without V8's compilers: slower, and less to attack. */
    hardened: boolean
    /** For development: places on this machine or in its network that plugins and repositories may be at; see local-places.ts. */
    allowLocal: readonly string[]
    /**
     * What credentials are encrypted with, at least 32 bytes: the first encrypts, the others are older ones that still decrypt; empty = made at
     * first start and kept in the data folder with mode 0600.
     */
    secretKeys: readonly string[]
  }
}
