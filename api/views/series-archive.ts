import type { Call } from '#api/http/endpoint.ts'
import type { ArchiveReply } from '#api/http/send-archive.ts'
import type { Needs } from '#api/http/services.ts'

type Services = Needs<'seriesDownloads'>

/** The files of a series as a stream route answers them. @throws what `open` of the downloads throws */
export async function seriesArchive(call: Call<Services>, seriesId: string): Promise<ArchiveReply> {
  const { archiveName, files, done } = await call.services.seriesDownloads.open(call.caller, seriesId)
  // Also when it was sent, or never begun.
  if (call.signal.aborted) done()
  else call.signal.addEventListener('abort', done, { once: true })
  return { kind: 'archive', attachmentName: archiveName, cacheControl: 'private, no-store', files }
}
