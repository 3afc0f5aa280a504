import { randomUUID } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Role } from '#core/account/permission.ts'
import { bounded } from '#core/foundation/bounded.ts'
import { isUuid } from '#core/foundation/schema.ts'

/** HS256 needs a key at least as long as its output (RFC 7518, 3.2). */
const KEY_BYTES_MIN = 32
/** A client sends one token with every page request; checking its signature goes through the thread pool each time. About 5 MB when full. */
const REMEMBERED_MAX = 10_000

/** The content of an access token: its user and its session. */
interface TokenClaims {
  userId: string
  sessionId: string
}

/** Issues and verifies access tokens: JWT, HS256. */
export interface Tokens {
  sign(claims: TokenClaims & { role: Role }): Promise<string>
  /** Null when the token is not ours, is altered, or has expired. `endsAt`: when it expires, in milliseconds since the epoch. */
  verify(token: string): Promise<(TokenClaims & { endsAt: number }) | null>
}

/** @param key HS256 key; at least 32 bytes */
export function openTokens({ key, lifetimeSeconds }: { key: Uint8Array; lifetimeSeconds: number }): Tokens {
  if (key.length < KEY_BYTES_MIN) {
    throw new Error(
      `The token key has ${key.length} bytes; it needs at least ${KEY_BYTES_MIN}. Give a longer key, or none: then the server generates one.`,
    )
  }
  // The content of a token never changes: once verified, it is valid until it expires. Other code checks whether its session still exists.
  const verified = new LRUCache<string, TokenClaims & { endsAt: number }>(bounded(REMEMBERED_MAX))
  return {
    sign({ userId, sessionId, role }) {
      const now = Math.floor(Date.now() / 1000)
      return new SignJWT({ role, sid: sessionId })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setSubject(userId)
        .setJti(randomUUID())
        .setIssuedAt(now)
        .setExpirationTime(now + lifetimeSeconds)
        .sign(key)
    },
    async verify(token) {
      const known = verified.get(token)
      if (known) return known.endsAt > Date.now() ? known : null
      try {
        const { payload } = await jwtVerify(token, key, { algorithms: ['HS256'], requiredClaims: ['sub', 'sid', 'jti', 'iat', 'exp'] })
        const { sub, sid, exp = 0 } = payload
        if (typeof sub !== 'string' || typeof sid !== 'string' || !isUuid(sub) || !isUuid(sid)) return null
        const claims = { userId: sub, sessionId: sid, endsAt: exp * 1000 }
        verified.set(token, claims)
        return claims
      } catch (error) {
        if (error instanceof errors.JOSEError) return null
        throw error
      }
    },
  }
}
