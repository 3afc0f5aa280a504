import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import { streamOf } from '#api/http/endpoint.ts'
import { seriesArchive } from '#api/views/series-archive.ts'
import { Uuid } from '#core/foundation/schema.ts'

type Services = Pick<ContentServices, 'seriesDownloads'>
const stream = streamOf<Services>()

export const seriesDownloadRoutes = [
  stream({
    name: 'downloadSeries',
    path: '/api/v1/series/:seriesId/download',
    summary: 'Download the files of a series as one zip, in reading order; it is generated while it is sent, so ranges are not supported',
    tag: 'series',
    allow: { who: 'books-read', cookie: true },
    params: Type.Object({ seriesId: Uuid }),
    mediaTypes: ['application/zip'],
    untagged: true,
    run: (call, { params }) => seriesArchive(call, params.seriesId),
  }),
]
