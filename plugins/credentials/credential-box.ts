import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

/**
 * Encrypts texts for the database: AES-256-GCM with a separate nonce for each. The owner is additional data, so a row that is moved
 * to another owner does not decrypt.
 */
export interface CredentialBox {
  /** Id of the key that encrypts new texts. */
  readonly keyId: string
  seal(text: string, belongsTo: readonly string[]): Buffer
  /** Null when the key is no longer configured, or the text was not encrypted for this owner. */
  open(sealed: Buffer, keyId: string, belongsTo: readonly string[]): string | null
}

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32

/** @param secrets at least one, of at least 32 bytes each; the first encrypts, all decrypt */
export function openCredentialBox(secrets: readonly string[]): CredentialBox {
  const keys = secrets.map((secret) => {
    // The bits of a configured secret are not evenly distributed, and the id must reveal nothing about it.
    const key = Buffer.from(hkdfSync('sha256', secret, '', 'carrel credentials', KEY_BYTES))
    return { key, id: createHash('sha256').update('carrel credential key id').update(key).digest('hex').slice(0, 16) }
  })
  const [first] = keys
  if (first === undefined) throw new Error('There is no key for the encryption of credentials.')
  // As JSON, so that different lists never have the same bytes.
  const bytesOf = (belongsTo: readonly string[]) => Buffer.from(JSON.stringify(belongsTo))
  return {
    keyId: first.id,
    seal(text, belongsTo) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, first.key, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(bytesOf(belongsTo))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body])
    },
    open(sealed, keyId, belongsTo) {
      const known = keys.find(({ id }) => id === keyId)
      if (known === undefined || sealed.length < NONCE_BYTES + TAG_BYTES) return null
      const decipher = createDecipheriv(CIPHER, known.key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAAD(bytesOf(belongsTo))
      decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
      } catch {
        return null
      }
    },
  }
}
