import Type from 'typebox'
import { signedInCaller } from '#api/routes/auth.ts'
import { stream } from '#api/routes/route.ts'
import { Uuid } from '#core/schema.ts'

export const seriesDownloadRoutes = [
  stream({
    path: '/api/v1/series/:seriesId/download',
    summary: 'The files of a series as one zip, in reading order; made while it is sent, so no part of it can be asked for',
    tag: 'series',
    allow: { who: 'books-read', cookie: true },
    params: Type.Object({ seriesId: Uuid }),
    mediaTypes: ['application/zip'],
    run: async (call, { params }) => {
      const { archiveName, files, done } = await call.services.seriesDownloads.open(signedInCaller(call), params.seriesId)
      // Also when it was sent, or never begun.
      if (call.signal.aborted) done()
      else call.signal.addEventListener('abort', done, { once: true })
      return { kind: 'archive', attachmentName: archiveName, cacheControl: 'private, no-store', files }
    },
  }),
]
