import { createHmac, hkdfSync } from 'node:crypto'
import { KEY_BYTES, NONCE_BYTES, openSealedText, sealText } from '#plugins/credentials/sealed-text.ts'

/** A picture that a plugin has named in an answer for a user. */
interface AnsweredPicture {
  pluginId: string
  /** The user who received the answer. */
  userId: string
  url: string
  /** The id of the user's row of the plugin, if it worked for this user: another after the user has deleted its data. Null if it worked for the server. */
  ownId: string | null
}

/** Characters of a token: an address of 4,000 characters, which egress allows, with the rest as base64url. */
export const TOKEN_LENGTH_MAX = 5_500
const HOUR_MS = 3_600_000
/** How long a user may look at an answer. */
const VALID_HOURS = 24

interface PictureKeys {
  cipher: Buffer
  nonce: Buffer
}

/** Tokens for pictures: encrypted, so that the server need not remember what it has answered to whom. */
export class PictureTokens {
  readonly #first: PictureKeys
  readonly #keys: readonly PictureKeys[]
  readonly #now: () => number

  /** @param secrets as for CredentialBox */
  constructor(secrets: readonly string[], now: () => number = Date.now) {
    this.#keys = secrets.map((secret) => {
      const derived = Buffer.from(hkdfSync('sha256', secret, '', 'carrel pictures of plugins', 2 * KEY_BYTES))
      return { cipher: derived.subarray(0, KEY_BYTES), nonce: derived.subarray(KEY_BYTES) }
    })
    const [first] = this.#keys
    if (first === undefined) throw new Error('There is no key for the tokens of pictures.')
    this.#first = first
    this.#now = now
  }

  /** The same picture has the same token for an hour, so that clients can cache it. */
  make(picture: AnsweredPicture): string {
    const text = JSON.stringify([picture.url, this.#hour() + VALID_HOURS, picture.ownId])
    const owner = ownerBytes(picture)
    // From the content instead of by chance: equal contents have equal tokens, and different ones never share a nonce.
    const nonce = createHmac('sha256', this.#first.nonce).update(owner).update('\0').update(text).digest().subarray(0, NONCE_BYTES)
    return sealText(text, { key: this.#first.cipher, nonce, owner }).toString('base64url')
  }

  /** Null when the token was changed, has expired, or is for another user or plugin. */
  read(token: string, of: Pick<AnsweredPicture, 'pluginId' | 'userId'>): Pick<AnsweredPicture, 'url' | 'ownId'> | null {
    if (token.length > TOKEN_LENGTH_MAX) return null
    const sealed = Buffer.from(token, 'base64url')
    for (const { cipher: key } of this.#keys) {
      const text = openSealedText(sealed, { key, owner: ownerBytes(of) })
      if (text === null) continue
      const [url, until, ownId] = JSON.parse(text) as [string, number, string | null]
      // A clock that was set back makes no token valid for longer.
      const left = until - this.#hour()
      return left > 0 && left <= VALID_HOURS ? { url, ownId } : null
    }
    return null
  }

  #hour(): number {
    return Math.floor(this.#now() / HOUR_MS)
  }
}

const ownerBytes = ({ pluginId, userId }: Pick<AnsweredPicture, 'pluginId' | 'userId'>): Buffer =>
  Buffer.from(JSON.stringify([pluginId, userId]))
