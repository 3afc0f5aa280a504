import { createHash } from 'node:crypto'

/** Hexadecimal, because base64 has characters with a meaning in addresses, where people state the fingerprint that they trust. */
export const FINGERPRINT = '^SHA256:[0-9a-f]{64}$'
export const FINGERPRINT_LENGTH = 71

/** Identifies a key for people and in requests; the same form everywhere. @param publicKey Ed25519, base64 */
export const fingerprintOf = (publicKey: string): string =>
  `SHA256:${createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex')}`

/** For sentences: "SHA256:… and SHA256:…". */
export const listFingerprints = (publicKeys: readonly string[], word: 'and' | 'or'): string =>
  publicKeys.map(fingerprintOf).join(` ${word} `)
