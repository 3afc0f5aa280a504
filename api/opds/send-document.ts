import { etagOf } from '#api/http/conditional.ts'
import type { StreamReply } from '#api/http/reply.ts'

/** The reply with a document for one caller. Caches must revalidate it, because it includes the caller's progress. */
export function documentReply({ bytes, mediaType }: { bytes: Buffer; mediaType: string }): StreamReply {
  return { kind: 'bytes', bytes, compress: true, mediaType, etag: etagOf(bytes), cacheControl: 'private, no-cache' }
}
