import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto'

/** A picture that a plugin has named in an answer for a user. */
interface AnsweredPicture {
  pluginId: string
  /** The user who received the answer. */
  userId: string
  url: string
  /** Whether the plugin worked for this user, and not for the server. */
  isOwn: boolean
}

/** Tokens for pictures: encrypted, so that the server need not remember what it has answered to whom. */
export interface PictureTokens {
  /** The same picture has the same token for an hour, so that clients can cache it. */
  make(picture: AnsweredPicture): string
  /** Null when the token was changed, has expired, or is for another user or plugin. */
  read(token: string, owner: Pick<AnsweredPicture, 'pluginId' | 'userId'>): Pick<AnsweredPicture, 'url' | 'isOwn'> | null
}

/** Characters of a token: an address of 4,000 characters, which egress allows, with the rest as base64url. */
export const TOKEN_LENGTH_MAX = 5_500
const HOUR_MS = 3_600_000
/** How long a user may look at an answer. */
const VALID_HOURS = 24
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32

/** @param secrets as for openCredentialBox */
export function openPictureTokens(secrets: readonly string[], now: () => number = Date.now): PictureTokens {
  const keys = secrets.map((secret) => {
    const derived = Buffer.from(hkdfSync('sha256', secret, '', 'carrel pictures of plugins', 2 * KEY_BYTES))
    return { cipher: derived.subarray(0, KEY_BYTES), nonce: derived.subarray(KEY_BYTES) }
  })
  const [first] = keys
  if (first === undefined) throw new Error('There is no key for the tokens of pictures.')
  const hour = () => Math.floor(now() / HOUR_MS)
  const ownerBytes = ({ pluginId, userId }: Pick<AnsweredPicture, 'pluginId' | 'userId'>) => Buffer.from(JSON.stringify([pluginId, userId]))
  return {
    make(picture) {
      const text = JSON.stringify([picture.url, hour() + VALID_HOURS, picture.isOwn])
      const owner = ownerBytes(picture)
      // From the content instead of by chance: equal contents have equal tokens, and different ones never share a nonce.
      const nonce = createHmac('sha256', first.nonce).update(owner).update('\0').update(text).digest().subarray(0, NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, first.cipher, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(owner)
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
    },
    read(token, of) {
      const sealed = Buffer.from(token, 'base64url')
      if (token.length > TOKEN_LENGTH_MAX || sealed.length <= NONCE_BYTES + TAG_BYTES) return null
      for (const key of keys) {
        const text = opened(sealed, key.cipher, ownerBytes(of))
        if (text === null) continue
        const [url, until, isOwn] = JSON.parse(text) as [string, number, boolean]
        // A clock that was set back makes no token valid for longer.
        const left = until - hour()
        return left > 0 && left <= VALID_HOURS ? { url, isOwn } : null
      }
      return null
    },
  }
}

function opened(sealed: Buffer, key: Buffer, owner: Buffer): string | null {
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(owner)
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    return null
  }
}
