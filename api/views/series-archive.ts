import type { ContentServices } from '#api/areas/content.ts'
import type { Call } from '#api/http/endpoint.ts'
import type { ArchiveReply } from '#api/http/reply.ts'
import type { SeriesDownloads } from '#core/reading/download-series.ts'

type Services = Pick<ContentServices, 'seriesDownloads'>

/** The reply with all files of a series. @throws the errors of `SeriesDownloads.open` */
export async function seriesArchive(call: Call<Services>, seriesId: string): Promise<ArchiveReply> {
  return archiveOf(call, await call.services.seriesDownloads.open(call.caller, seriesId))
}

/** The reply with the files of these books, in their order. @throws the errors of `SeriesDownloads.openBooks` */
export async function booksArchive(call: Call<Services>, books: { title: string; bookIds: readonly string[] }): Promise<ArchiveReply> {
  return archiveOf(call, await call.services.seriesDownloads.openBooks(call.caller, books))
}

function archiveOf(call: Call<Services>, { archiveName, files, done }: Awaited<ReturnType<SeriesDownloads['open']>>): ArchiveReply {
  // Also after it was sent, or if it never began.
  if (call.signal.aborted) done()
  else call.signal.addEventListener('abort', done, { once: true })
  // Each file is checked when it begins, and the one that is being sent again and again: the files may be of several series.
  let sent = files[0]
  const followed = files.map((file) => ({
    ...file,
    isAllowed: () => {
      sent = file
      return file.isAllowed()
    },
  }))
  const isAllowed = async () => (await sent?.isAllowed()) === true
  return { kind: 'archive', attachmentName: archiveName, cacheControl: 'private, no-store', files: followed, isAllowed }
}
