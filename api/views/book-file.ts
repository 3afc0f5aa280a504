import type { DataServices } from '#api/areas/data.ts'
import type { StreamReply } from '#api/http/reply.ts'
import type { Caller } from '#core/account/caller.ts'
import { findBookFile } from '#core/catalog/book-file.ts'
import { findReadableBook } from '#core/catalog/readable-book-query.ts'

/** The reply with the file of a book. @throws not_found, also if the file is missing */
export async function bookFile({ database }: Pick<DataServices, 'database'>, caller: Caller, bookId: string): Promise<StreamReply> {
  const file = await findBookFile(database, caller, bookId)
  return {
    kind: 'file',
    path: file.path,
    inside: file.libraryPath,
    linkTargets: file.linkTargets,
    mediaType: file.mediaType,
    etag: file.etag,
    // Revalidated every time: a resumed download must notice a changed file.
    cacheControl: 'private, no-cache',
    attachmentName: file.fileName,
    isAllowed: async () => (await findReadableBook(database, caller, bookId)) !== null,
  }
}
