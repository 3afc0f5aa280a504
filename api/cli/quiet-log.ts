import { FULL_CODES, LOST_CODES } from '#api/http/errors.ts'
import { describeFullDisk, FULL_MEMORY, SHARED_MEMORY_WORDS } from '#core/database/start-problem.ts'
import type { Log } from '#core/foundation/log.ts'
import { Register } from '#core/foundation/register.ts'

/** An outage (no database, no space) affects everything that runs; one line at this interval says as much as hundreds. */
const REPEAT_MS = 30_000

/** An outage, as opposed to a bug: what it is, and what to do. */
interface Outage {
  name: 'database_away' | 'disk_full' | 'memory_full' | 'no_connections'
  message: string
}

/** Where the server stores its data, for messages. */
export interface StoragePlace {
  dataFolder: string
  /** Null for the embedded PostgreSQL. */
  databaseUrl: string | null
}

const CROWDED = /^53[2-4]\w\w$/
const NETWORK = /^(?:ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT)$/
/** Errors of pg and the pool without a code. */
const AWAY_WORDS =
  /Connection terminated|Connection ended unexpectedly|not queryable|the database system is (?:starting up|shutting down|in recovery)|Timeout acquiring a connection|terminating connection/
const FULL_WORDS = /No space left on device|could not extend file/
/** Length of the end of a message that is compared; the statement precedes it. */
const WORDS_LENGTH = 300

/** The outage that caused an error; null if the error has another cause. */
export function outageOf(error: unknown, message: string, place: StoragePlace): Outage | null {
  const found = (typeof error === 'object' && error !== null ? error : {}) as NodeJS.ErrnoException
  const code = typeof found.code === 'string' ? found.code : ''
  // The pool reports the cause as text.
  const fromPool = message.startsWith('database: ')
  const words = fromPool ? message : String(found.message ?? '').slice(-WORDS_LENGTH)
  if (SHARED_MEMORY_WORDS.test(words)) return { name: 'memory_full', message: FULL_MEMORY }
  if (FULL_CODES.test(code) || FULL_WORDS.test(words)) return { name: 'disk_full', message: describeFullDisk(placeOf(found, place)) }
  if (CROWDED.test(code))
    return {
      name: 'no_connections',
      message: 'The database has no connection or memory left. Increase its limits (max_connections), or reduce its load.',
    }
  const isAway =
    LOST_CODES.test(code) ||
    AWAY_WORDS.test(words) ||
    (NETWORK.test(code) && isOfDatabase(found, place)) ||
    (fromPool && /(?:connect|read|write) E[A-Z]+/.test(words))
  return isAway ? { name: 'database_away', message: describeAway(place) } : null
}

/** The path in the error, else the data folder, where nearly everything is written. */
function placeOf(error: NodeJS.ErrnoException, { dataFolder, databaseUrl }: StoragePlace): string {
  if (error.code === '53100' && databaseUrl !== null) return `the database ${addressOf(databaseUrl)}`
  return typeof error.path === 'string' ? error.path : dataFolder
}

/** Plugins and sign-in use other servers, whose outages are not those of the database. */
function isOfDatabase(error: unknown, place: StoragePlace): boolean {
  const { stack, address, port, errors } = error as { stack?: string; address?: unknown; port?: unknown; errors?: unknown }
  // An AggregateError, for a name with several addresses.
  if (Array.isArray(errors) && errors.length > 0) return errors.every((each) => isOfDatabase(each, place))
  if (/[\\/]node_modules[\\/](?:pg|pg-pool|knex|tarn)[\\/]/.test(stack ?? '') || String(address).includes('.s.PGSQL.')) return true
  if (place.databaseUrl === null || !URL.canParse(place.databaseUrl)) return false
  return Number(port) === Number(new URL(place.databaseUrl).port || 5432)
}

function describeAway({ databaseUrl }: StoragePlace): string {
  if (databaseUrl === null)
    return 'The embedded PostgreSQL does not answer. The server keeps trying; if PostgreSQL has ended, the server reports it and ends too.'
  return `The database ${addressOf(databaseUrl)} (DATABASE_URL) does not answer. Start it, or check the connection to it. The server keeps trying.`
}

/** The address without user name and password. */
export function addressOf(databaseUrl: string): string {
  const url = URL.canParse(databaseUrl) ? new URL(databaseUrl) : null
  return url ? `${url.host || url.searchParams.get('host') || 'localhost'}${url.pathname}` : 'of DATABASE_URL'
}

/** Merges all messages of one outage into one line, at most every 30 s; the original errors are logged at debug. */
export function quieten(log: Log, place: StoragePlace, now: () => number = Date.now): Log {
  const reported = new Register<{ at: number; unsaid: number }>()
  const at = (level: 'warn' | 'error') => (fields: object, message: string) => {
    const { err, error } = fields as { err?: unknown; error?: unknown }
    const outage = outageOf(err ?? error, message, place)
    if (outage === null) return log[level](fields, message)
    log.debug(fields, message)
    const before = reported.get(outage.name)
    if (before && now() - before.at < REPEAT_MS) {
      before.unsaid++
      return
    }
    reported.set(outage.name, { at: now(), unsaid: 0 })
    log.error(before && before.unsaid > 0 ? { more: before.unsaid } : {}, outage.message)
  }
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: at('warn'),
    error: at('error'),
  }
}
