import type { Call } from '#api/http/endpoint.ts'
import type { ArchiveReply } from '#api/http/send-archive.ts'
import type { Needs } from '#api/http/services.ts'

type Services = Needs<'seriesDownloads'>

/** The reply with all files of a series. @throws the errors of `SeriesDownloads.open` */
export async function seriesArchive(call: Call<Services>, seriesId: string): Promise<ArchiveReply> {
  const { archiveName, files, done } = await call.services.seriesDownloads.open(call.caller, seriesId)
  // Also after it was sent, or if it never began.
  if (call.signal.aborted) done()
  else call.signal.addEventListener('abort', done, { once: true })
  const isAllowed = async () => (await files[0]?.isAllowed()) === true
  return { kind: 'archive', attachmentName: archiveName, cacheControl: 'private, no-store', files, isAllowed }
}
