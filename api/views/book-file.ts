import type { StreamReply } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import type { Caller } from '#core/account/caller.ts'
import { findBookFile } from '#core/catalog/book-file.ts'

/** The file of a book as a stream route answers it. @throws not_found, also where the file has gone */
export async function bookFile({ database }: Needs<'database'>, caller: Caller, bookId: string): Promise<StreamReply> {
  const file = await findBookFile(database, caller, bookId)
  return {
    kind: 'file',
    path: file.path,
    inside: file.libraryPath,
    mediaType: file.mediaType,
    etag: file.etag,
    // Asked again each time: a resumed download must learn that the file has changed.
    cacheControl: 'private, no-cache',
    attachmentName: file.fileName,
  }
}
