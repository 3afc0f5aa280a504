import os from 'node:os'
import path from 'node:path'

/** How the text of a setting is parsed; `list` kinds may be given several times. */
export type SettingKind =
  | { type: 'text' }
  /** A path; relative ones start at the user's working directory (or at the folder of the config file). */
  | { type: 'folder' }
  | { type: 'folders' }
  | { type: 'addresses' }
  | { type: 'origins' }
  | { type: 'services' }
  | { type: 'integer'; min: number; max: number }
  | { type: 'choice'; choices: readonly string[] }
  | { type: 'boolean' }

export interface Setting {
  /** Name in the config file; dots mean nesting. */
  key: string
  /** Without the dashes; null if a command line would show a secret to everybody on the machine. */
  flag: string | null
  /** Environment variable. Secrets have a second one with the suffix _FILE, for a file that contains the value. */
  env: string
  kind: SettingKind
  /** The value if none is given; undefined = none. */
  fallback?: string | number | boolean | readonly string[]
  /** A description of the fallback, if its value depends on the machine. */
  fallbackText?: string
  about: string
  secret?: boolean
  /** Has a _FILE variable although it is not a secret itself. */
  file?: boolean
}

const RATE = { type: 'integer', min: 1, max: 1_000_000 } as const

/** All settings. The table of docs/settings.md, --help, the parser and its messages all use this list. */
export const SETTINGS = [
  {
    key: 'library',
    flag: 'library',
    env: 'CARREL_LIBRARY',
    kind: { type: 'folders' },
    fallback: [],
    about: 'Folder of books; added as a library at startup if it is not one yet. Repeatable; in the environment separated by colons.',
  },
  {
    key: 'dataDir',
    flag: 'data-dir',
    env: 'CARREL_DATA_DIR',
    kind: { type: 'folder' },
    fallback: 'data',
    about: 'Folder for everything the server writes: database, covers, cache, keys.',
  },
  {
    key: 'port',
    flag: 'port',
    env: 'CARREL_PORT',
    kind: { type: 'integer', min: 0, max: 65_535 },
    fallback: 8085,
    about: 'Port to listen on; 0 takes any free one.',
  },
  {
    key: 'host',
    flag: 'host',
    env: 'CARREL_HOST',
    kind: { type: 'text' },
    fallback: '127.0.0.1',
    about: 'Address to listen on; 0.0.0.0 opens the server to the network.',
  },
  {
    key: 'workers',
    flag: 'workers',
    env: 'CARREL_WORKERS',
    kind: { type: 'integer', min: 1, max: 256 },
    fallback: os.availableParallelism(),
    fallbackText: 'one per core',
    about: 'Books analyzed at a time; half as many pages are extracted or rendered at the same time.',
  },
  {
    key: 'databaseUrl',
    flag: null,
    env: 'DATABASE_URL',
    kind: { type: 'text' },
    fallbackText: 'the embedded PostgreSQL',
    about: 'Address of your own PostgreSQL (15 or newer, with ICU and the extension pg_trgm): postgresql://user:password@host/database.',
    secret: true,
  },
  {
    key: 'admin.username',
    flag: null,
    env: 'CARREL_ADMIN_USERNAME',
    kind: { type: 'text' },
    about: 'User name of the first administrator, created at startup if there is no user yet.',
    file: true,
  },
  {
    key: 'admin.password',
    flag: null,
    env: 'CARREL_ADMIN_PASSWORD',
    kind: { type: 'text' },
    about: 'Password of the first administrator.',
    secret: true,
  },
  {
    key: 'rateLimit.enabled',
    flag: 'rate-limit',
    env: 'CARREL_RATE_LIMIT',
    kind: { type: 'boolean' },
    fallback: true,
    about: 'Limits how many requests a client may make.',
  },
  {
    key: 'rateLimit.anonymous.perSecond',
    flag: 'rate-limit-anonymous',
    env: 'CARREL_RATE_LIMIT_ANONYMOUS',
    kind: RATE,
    fallback: 10,
    about: 'Requests per second from one address without signing in.',
  },
  {
    key: 'rateLimit.anonymous.burst',
    flag: 'rate-limit-anonymous-burst',
    env: 'CARREL_RATE_LIMIT_ANONYMOUS_BURST',
    kind: RATE,
    fallback: 50,
    about: 'How many of these requests may come at once.',
  },
  {
    key: 'rateLimit.authenticated.perSecond',
    flag: 'rate-limit-authenticated',
    env: 'CARREL_RATE_LIMIT_AUTHENTICATED',
    kind: RATE,
    fallback: 50,
    about: 'Requests per second from one signed-in user.',
  },
  {
    key: 'rateLimit.authenticated.burst',
    flag: 'rate-limit-authenticated-burst',
    env: 'CARREL_RATE_LIMIT_AUTHENTICATED_BURST',
    kind: RATE,
    fallback: 200,
    about: 'How many of these requests may come at once.',
  },
  {
    key: 'rateLimit.pictures.perSecond',
    flag: 'rate-limit-pictures',
    env: 'CARREL_RATE_LIMIT_PICTURES',
    kind: RATE,
    // Ten screens of 36 covers, while somebody scrolls fast.
    fallback: 400,
    about: 'Covers, pages and parts of EPUBs per second for the browsers of one user, which sign in with a session cookie.',
  },
  {
    key: 'rateLimit.pictures.burst',
    flag: 'rate-limit-pictures-burst',
    env: 'CARREL_RATE_LIMIT_PICTURES_BURST',
    kind: RATE,
    fallback: 1500,
    about: 'How many of these requests may come at once.',
  },
  {
    key: 'connectionsPerAddress',
    flag: 'connections-per-address',
    env: 'CARREL_CONNECTIONS_PER_ADDRESS',
    kind: { type: 'integer', min: 8, max: 100_000 },
    fallback: 256,
    about: 'Connections from one address at a time; a trusted proxy is limited only by the total.',
  },
  {
    key: 'trustedProxies',
    flag: 'trusted-proxy',
    env: 'CARREL_TRUSTED_PROXIES',
    kind: { type: 'addresses' },
    fallback: [],
    about: 'Address or CIDR range of a proxy whose X-Forwarded-For header is trusted. Repeatable; in the environment separated by commas.',
  },
  {
    key: 'cors.origins',
    flag: 'cors-origin',
    env: 'CARREL_CORS_ORIGINS',
    kind: { type: 'origins' },
    fallback: [],
    about:
      'Origin such as https://reader.example.org whose pages may send requests to this server from a browser, with the credentials of its user; * allows any page to send requests without credentials. Repeatable; in the environment separated by commas.',
  },
  {
    key: 'tokenKey',
    flag: null,
    env: 'CARREL_TOKEN_KEY',
    kind: { type: 'text' },
    fallbackText: 'created at first start, stored in the data folder',
    about: 'Key that signs access tokens, at least 32 bytes. Several servers on one database need the same key.',
    secret: true,
  },
  {
    key: 'accessTokenSeconds',
    flag: 'access-token-seconds',
    env: 'CARREL_ACCESS_TOKEN_SECONDS',
    kind: { type: 'integer', min: 60, max: 86_400 },
    fallback: 3600,
    about: 'How long an access token is valid.',
  },
  {
    key: 'refreshTokenDays',
    flag: 'refresh-token-days',
    env: 'CARREL_REFRESH_TOKEN_DAYS',
    kind: { type: 'integer', min: 1, max: 365 },
    fallback: 30,
    about: 'How long a user may stay away without having to sign in again.',
  },
  {
    key: 'cookieSecure',
    flag: 'cookie-secure',
    env: 'CARREL_COOKIE_SECURE',
    kind: { type: 'boolean' },
    fallback: false,
    about: 'Marks the cookie Secure. Turn it on if the server is reached through HTTPS.',
  },
  {
    key: 'pageCacheMb',
    flag: 'page-cache-mb',
    env: 'CARREL_PAGE_CACHE_MB',
    kind: { type: 'integer', min: 16, max: 1_048_576 },
    fallback: 2048,
    about: 'Disk space for rendered and extracted pages, in MB.',
  },
  {
    key: 'analysisDeadlineSeconds',
    flag: 'analysis-deadline-seconds',
    env: 'CARREL_ANALYSIS_DEADLINE_SECONDS',
    kind: { type: 'integer', min: 1, max: 3600 },
    fallback: 120,
    about: 'How long the analysis of one file may take.',
  },
  {
    key: 'quietSeconds',
    flag: 'quiet-seconds',
    env: 'CARREL_QUIET_SECONDS',
    kind: { type: 'integer', min: 0, max: 300 },
    fallback: 10,
    about: 'How long a new or changed file must stay the same before it is analyzed, because it may still be copied; 0 does not wait.',
  },
  {
    key: 'watch',
    flag: 'watch-libraries',
    env: 'CARREL_WATCH',
    kind: { type: 'boolean' },
    fallback: true,
    about: 'Watches the folders of the libraries that want it; off leaves new files to scans.',
  },
  {
    key: 'workerMemoryMb',
    flag: 'worker-memory-mb',
    env: 'CARREL_WORKER_MEMORY_MB',
    kind: { type: 'integer', min: 64, max: 16_384 },
    fallback: 512,
    about: 'JavaScript memory of one worker thread, in MB.',
  },
  {
    key: 'purgeAfterHours',
    flag: 'purge-after-hours',
    env: 'CARREL_PURGE_AFTER_HOURS',
    kind: { type: 'integer', min: 0, max: 8760 },
    fallback: 24,
    about: 'For libraries that remove missing books by themselves: how long after a first scan a second one must miss them too.',
  },
  {
    key: 'purgeWithFolderAfterDays',
    flag: 'purge-with-folder-after-days',
    env: 'CARREL_PURGE_WITH_FOLDER_AFTER_DAYS',
    kind: { type: 'integer', min: 0, max: 3650 },
    fallback: 30,
    about: 'For the same libraries: after how many days that happens also if the folder is gone or empty, as when a disk is missing.',
  },
  {
    key: 'watchdogSeconds',
    flag: 'watchdog-seconds',
    env: 'CARREL_WATCHDOG_SECONDS',
    kind: { type: 'integer', min: 0, max: 3600 },
    fallback: 20,
    about: 'If the main thread is blocked for this long, the server records what blocked it, exits, and is restarted; 0 disables this.',
  },
  {
    key: 'web.build',
    flag: 'web-build',
    env: 'CARREL_WEB_BUILD',
    kind: { type: 'boolean' },
    fallback: true,
    about:
      'Builds the web interface in the background when its files are missing or its sources have changed; off if this machine cannot reach the npm registry or has no 150 MB to spare.',
  },
  {
    key: 'log.level',
    flag: 'log-level',
    env: 'CARREL_LOG_LEVEL',
    kind: { type: 'choice', choices: ['debug', 'info', 'warn', 'error', 'silent'] },
    fallback: 'info',
    about: 'Lowest level that is logged.',
  },
  {
    key: 'log.format',
    flag: 'log-format',
    env: 'CARREL_LOG_FORMAT',
    kind: { type: 'choice', choices: ['pretty', 'json'] },
    fallback: 'pretty',
    about: 'Readable lines, or one JSON object per line.',
  },
  {
    key: 'compatibility.legacyNames',
    flag: 'legacy-names',
    env: 'CARREL_LEGACY_NAMES',
    kind: { type: 'boolean' },
    fallback: false,
    about: 'Also sends the brand names that existing clients expect, beside the neutral names.',
  },
  {
    key: 'filesystem.roots',
    flag: 'filesystem-root',
    env: 'CARREL_FILESYSTEM_ROOTS',
    kind: { type: 'folders' },
    fallback: [],
    fallbackText: 'the folders of the libraries, the home folder, /media, /mnt and /srv',
    about:
      'Folder that administrators may browse for new libraries, with all its subfolders except the data folder. Repeatable; in the environment separated by colons.',
  },
  {
    key: 'plugins.enabled',
    flag: 'plugins',
    env: 'CARREL_PLUGINS',
    kind: { type: 'boolean' },
    fallback: true,
    about: 'Runs plugins; off is the safe mode, in which you can still view, disable and uninstall them.',
  },
  {
    key: 'plugins.isolation',
    flag: 'plugin-isolation',
    env: 'CARREL_PLUGIN_ISOLATION',
    kind: { type: 'choice', choices: ['strict', 'grouped'] },
    fallback: 'strict',
    about: 'strict runs every plugin in its own process; grouped runs all in one process, for machines with little memory.',
  },
  {
    key: 'plugins.hardened',
    flag: 'plugin-hardened',
    env: 'CARREL_PLUGIN_HARDENED',
    kind: { type: 'boolean' },
    fallback: false,
    about: 'Runs plugins without just-in-time compilation: up to ten times slower, with a smaller attack surface.',
  },
  {
    key: 'plugins.allowLocal',
    flag: 'plugin-allow-local',
    env: 'CARREL_PLUGIN_ALLOW_LOCAL',
    kind: { type: 'services' },
    fallback: [],
    about:
      'For development: HOST:PORT of a service on this machine or in its network, such as localhost:8600. Plugins whose configuration names it may connect to it, and a plugin repository may be there. Repeatable; in the environment separated by commas.',
  },
  {
    key: 'plugins.secretKey',
    flag: null,
    env: 'CARREL_SECRET_KEY',
    kind: { type: 'text' },
    fallbackText: 'created at first start, in the data folder',
    about:
      'Key of at least 32 bytes that encrypts the credentials of plugins. Several, separated by spaces: the first encrypts, all decrypt. At startup the server re-encrypts with the first what the others encrypted.',
    secret: true,
  },
] as const satisfies readonly Setting[]

export type SettingRow = (typeof SETTINGS)[number]
export type SettingKey = SettingRow['key']

/** The flag that names the config file is not a setting itself. */
export const CONFIG_FLAG = 'config'
export const CONFIG_ENV = 'CARREL_CONFIG'
/** Searched in the data folder, then in the working directory. */
export const CONFIG_NAME = 'carrel.json'

export function hasFileVariable(setting: Setting): boolean {
  return setting.secret === true || setting.file === true
}

/** Every environment variable. */
export function listVariables(): string[] {
  return [
    CONFIG_ENV,
    ...(SETTINGS as readonly Setting[]).flatMap((setting) =>
      hasFileVariable(setting) ? [setting.env, `${setting.env}_FILE`] : [setting.env],
    ),
  ]
}

/** The absolute form of a path that starts at `from`; a leading ~ is the home folder, for values that the shell did not expand. */
export function absolutePath(text: string, from: string): string {
  const expanded = text === '~' || text.startsWith('~/') ? path.join(os.homedir(), text.slice(1)) : text
  return path.resolve(from, expanded)
}
