import { hash } from 'node:crypto'
import type { StreamReply } from '#api/http/reply.ts'

/** 128 bits are enough to distinguish contents. */
const ETAG_DIGITS = 22

/** The reply with a document for one caller. Caches must revalidate it, because it includes the caller's progress. */
export function documentReply({ bytes, mediaType }: { bytes: Buffer; mediaType: string }): StreamReply {
  const etag = hash('sha256', bytes, 'base64url').slice(0, ETAG_DIGITS)
  return { kind: 'bytes', bytes, compress: true, mediaType, etag, cacheControl: 'private, no-cache' }
}
