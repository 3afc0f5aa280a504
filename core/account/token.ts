import { randomUUID } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import type { Role } from '#core/account/permission.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { isUuid } from '#core/foundation/schema.ts'

/** HS256 needs a key at least as long as its output (RFC 7518, 3.2). */
const KEY_BYTES_MIN = 32
/** A client sends one token with every page request; checking its signature goes through the thread pool each time. Some 7,000 tokens. */
const REMEMBERED_BYTES_MAX = 5 * 1024 * 1024

/** The content of an access token: its user and its session. */
interface TokenClaims {
  userId: string
  sessionId: string
}

/** Issues and verifies access tokens: JWT, HS256. */
export class Tokens {
  readonly #key: Uint8Array
  readonly #lifetimeSeconds: number
  // The content of a token never changes: once verified, it is valid until it expires. Other code checks whether its session still exists.
  readonly #verified = new BoundedCache<TokenClaims & { endsAt: number }>({ bytesMax: REMEMBERED_BYTES_MAX })

  /** @param options.key HS256 key; at least 32 bytes */
  constructor({ key, lifetimeSeconds }: { key: Uint8Array; lifetimeSeconds: number }) {
    if (key.length < KEY_BYTES_MIN) {
      throw new Error(
        `The token key has ${key.length} bytes; it needs at least ${KEY_BYTES_MIN}. Give a longer key, or none: then the server generates one.`,
      )
    }
    this.#key = key
    this.#lifetimeSeconds = lifetimeSeconds
  }

  async sign({ userId, sessionId, role }: TokenClaims & { role: Role }): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    return await new SignJWT({ role, sid: sessionId })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setSubject(userId)
      .setJti(randomUUID())
      .setIssuedAt(now)
      .setExpirationTime(now + this.#lifetimeSeconds)
      .sign(this.#key)
  }

  /** Null when the token is not ours, is altered, or has expired. `endsAt`: when it expires, in milliseconds since the epoch. */
  async verify(token: string): Promise<(TokenClaims & { endsAt: number }) | null> {
    const known = this.#verified.get(token)
    if (known) return known.endsAt > Date.now() ? known : null
    try {
      const { payload } = await jwtVerify(token, this.#key, { algorithms: ['HS256'], requiredClaims: ['sub', 'sid', 'jti', 'iat', 'exp'] })
      const { sub, sid, exp = 0 } = payload
      if (typeof sub !== 'string' || typeof sid !== 'string' || !isUuid(sub) || !isUuid(sid)) return null
      const claims = { userId: sub, sessionId: sid, endsAt: exp * 1000 }
      this.#verified.set(token, claims)
      return claims
    } catch (error) {
      if (error instanceof errors.JOSEError) return null
      throw error
    }
  }
}
