import { createHash, randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { findBrowserSession } from '#core/account/session-store.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'

const SECRET_BYTES = 32
const TOKEN = /^st_[\w-]{43}$/
/** Some 10,000 browsers: more than are ever in use at the same time. */
const REMEMBERED_BYTES_MAX = 5 * 1024 * 1024

/** The session that a token names. */
interface NamedSession {
  userId: string
  sessionId: string
}

/** A new token for the session of a browser. */
export const makeBrowserToken = (): string => `st_${randomBytes(SECRET_BYTES).toString('base64url')}`

/** What is stored of a secret with 256 random bits, which nobody can guess from its hash. */
export const hashSecret = (secret: string): Uint8Array => createHash('sha256').update(secret).digest()

/** The tokens of browsers. Other code checks whether the session of a token has ended: a token never names another session. */
export class BrowserTokens {
  readonly #database: Knex
  readonly #known = new BoundedCache<NamedSession>({ bytesMax: REMEMBERED_BYTES_MAX })

  constructor(database: Knex) {
    this.#database = database
  }

  /** The session that the token names, which may have ended; null if it names none. */
  async find(token: string): Promise<NamedSession | null> {
    if (!TOKEN.test(token)) return null
    const tokenHash = hashSecret(token)
    const key = Buffer.from(tokenHash).toString('base64')
    const known = this.#known.get(key)
    if (known) return known
    const found = await findBrowserSession(this.#database, tokenHash)
    if (found) this.#known.set(key, found)
    return found
  }

  /** Whether {@link find} needs no query: the token was found before, or cannot be one. */
  knows(token: string): boolean {
    return !TOKEN.test(token) || this.#known.get(Buffer.from(hashSecret(token)).toString('base64')) !== undefined
  }
}
