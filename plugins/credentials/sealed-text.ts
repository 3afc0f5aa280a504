import { createCipheriv, createDecipheriv } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
/** Bytes of the keys and the nonces of the cipher. */
export const KEY_BYTES = 32
export const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts a text with AES-256-GCM.
 * @param nonce never the same for two different texts
 * @param owner additional data: for another owner the text does not decrypt
 */
export function sealText(text: string, { key, nonce, owner }: { key: Buffer; nonce: Buffer; owner: Buffer }): Buffer {
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(owner)
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

/** Null when the text was changed, or encrypted with another key or for another owner. */
export function openSealedText(sealed: Buffer, { key, owner }: { key: Buffer; owner: Buffer }): string | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(owner)
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    return null
  }
}
