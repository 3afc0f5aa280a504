import type { Call } from '#api/http/endpoint.ts'
import type { ArchiveReply } from '#api/http/send-archive.ts'
import type { Services } from '#api/http/services.ts'
import { signedInCaller } from '#api/http/signed-in.ts'

/** The files of a series as a stream route answers them. @throws what `open` of the downloads throws */
export async function seriesArchive(call: Call<Services>, seriesId: string): Promise<ArchiveReply> {
  const { archiveName, files, done } = await call.services.seriesDownloads.open(signedInCaller(call), seriesId)
  // Also when it was sent, or never begun.
  if (call.signal.aborted) done()
  else call.signal.addEventListener('abort', done, { once: true })
  return { kind: 'archive', attachmentName: archiveName, cacheControl: 'private, no-store', files }
}
