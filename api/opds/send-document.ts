import { hash } from 'node:crypto'
import type { StreamReply } from '#api/http/endpoint.ts'

/** 128 bits tell contents apart. */
const ETAG_DIGITS = 22

/** A document made for one caller. A copy is good only as long as nothing in it has changed, which includes how far that caller has read. */
export function documentReply({ bytes, mediaType }: { bytes: Buffer; mediaType: string }): StreamReply {
  const etag = hash('sha256', bytes, 'base64url').slice(0, ETAG_DIGITS)
  return { kind: 'bytes', bytes, compress: true, mediaType, etag, cacheControl: 'private, no-cache' }
}
