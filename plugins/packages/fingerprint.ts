import { createHash } from 'node:crypto'

/**
 * Identifies a key for people and in requests; the same form everywhere. In hexadecimal, because base64 has characters with a meaning in addresses.
 * @param publicKey Ed25519, base64
 */
export const fingerprintOf = (publicKey: string): string =>
  `SHA256:${createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex')}`
