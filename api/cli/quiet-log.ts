import { FULL_CODES, LOST_CODES } from '#api/http/errors.ts'
import { describeFullDisk } from '#core/database/start-problem.ts'
import type { Log } from '#core/foundation/log.ts'

/** A fault below the server (no database, no space) meets everything that runs; a line this often says as much as hundreds. */
const REPEAT_MS = 30_000

/** A fault that is no bug: what it is, and what to do. */
interface FaultBelow {
  name: 'database_away' | 'disk_full' | 'no_connections'
  message: string
}

/** Where the server keeps its things, for the sentences. */
export interface Place {
  dataFolder: string
  /** Null for the embedded PostgreSQL. */
  databaseUrl: string | null
}

const CROWDED = /^53[2-4]\w\w$/
const NETWORK = /^(?:ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT)$/
/** Errors of pg and of the pool that carry no code. */
const AWAY_WORDS =
  /Connection terminated|Connection ended unexpectedly|not queryable|the database system is (?:starting up|shutting down|in recovery)|Timeout acquiring a connection|terminating connection/
const FULL_WORDS = /No space left on device|could not extend file/
/** As much of the end of a message as the words above; before it stands the statement. */
const WORDS_LENGTH = 300

/** The fault below the server that an error comes from, or null when it is something else. */
export function faultBelowOf(error: unknown, message: string, place: Place): FaultBelow | null {
  const found = (typeof error === 'object' && error !== null ? error : {}) as NodeJS.ErrnoException
  const code = typeof found.code === 'string' ? found.code : ''
  // The pool tells what it met as text.
  const fromPool = message.startsWith('database: ')
  const words = fromPool ? message : String(found.message ?? '').slice(-WORDS_LENGTH)
  if (FULL_CODES.test(code) || FULL_WORDS.test(words)) return { name: 'disk_full', message: describeFullDisk(placeOf(found, place)) }
  if (CROWDED.test(code))
    return {
      name: 'no_connections',
      message: 'The database has no connection or memory left. Give it more (max_connections), or less to do.',
    }
  const isAway =
    LOST_CODES.test(code) ||
    AWAY_WORDS.test(words) ||
    (NETWORK.test(code) && isOfDatabase(found, place)) ||
    (fromPool && /(?:connect|read|write) E[A-Z]+/.test(words))
  return isAway ? { name: 'database_away', message: describeAway(place) } : null
}

/** A path that stands in the error, else the data folder, where nearly everything is written. */
function placeOf(error: NodeJS.ErrnoException, { dataFolder, databaseUrl }: Place): string {
  if (error.code === '53100' && databaseUrl !== null) return `the database ${addressOf(databaseUrl)}`
  return typeof error.path === 'string' ? error.path : dataFolder
}

/** Plugins and sign-in talk to others, whose silence is not that of the database. */
function isOfDatabase(error: unknown, place: Place): boolean {
  const { stack, address, port, errors } = error as { stack?: string; address?: unknown; port?: unknown; errors?: unknown }
  // Of a name with several addresses.
  if (Array.isArray(errors) && errors.length > 0) return errors.every((each) => isOfDatabase(each, place))
  if (/[\\/]node_modules[\\/](?:pg|pg-pool|knex|tarn)[\\/]/.test(stack ?? '') || String(address).includes('.s.PGSQL.')) return true
  if (place.databaseUrl === null || !URL.canParse(place.databaseUrl)) return false
  return Number(port) === Number(new URL(place.databaseUrl).port || 5432)
}

function describeAway({ databaseUrl }: Place): string {
  if (databaseUrl === null)
    return 'The embedded PostgreSQL does not answer. It is tried again by itself; if it has ended, the server says so and ends too.'
  return `The database ${addressOf(databaseUrl)} (DATABASE_URL) does not answer. Start it, or mend the way to it; it is tried again by itself.`
}

/** Without name and password. */
export function addressOf(databaseUrl: string): string {
  const url = URL.canParse(databaseUrl) ? new URL(databaseUrl) : null
  return url ? `${url.host || url.searchParams.get('host') || 'localhost'}${url.pathname}` : 'of DATABASE_URL'
}

/** Makes one line out of all that a fault below the server causes, at most every 30 s; what was met stands in the log at debug. */
export function quieten(log: Log, place: Place, now: () => number = Date.now): Log {
  const told = new Map<string, { at: number; unsaid: number }>()
  const at = (level: 'warn' | 'error') => (fields: object, message: string) => {
    const { err, error } = fields as { err?: unknown; error?: unknown }
    const fault = faultBelowOf(err ?? error, message, place)
    if (fault === null) return log[level](fields, message)
    log.debug(fields, message)
    const before = told.get(fault.name)
    if (before && now() - before.at < REPEAT_MS) {
      before.unsaid++
      return
    }
    told.set(fault.name, { at: now(), unsaid: 0 })
    log.error(before && before.unsaid > 0 ? { more: before.unsaid } : {}, fault.message)
  }
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: at('warn'),
    error: at('error'),
  }
}
