import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { CreateLibraryRequest, SERIES_STRATEGIES } from '#core/catalog/library.ts'
import { FreeJson, Nullable, OneOf } from '#core/foundation/schema.ts'
import { previewScan } from '#core/ingest/preview-scan.ts'

type Services = Needs<'database' | 'settings'>
const endpoint = endpointOf<Services>()

export const scanPreviewRoutes = [
  endpoint({
    method: 'POST',
    path: '/api/v1/libraries/preview-scan',
    summary: 'What a scan of a folder would find, before a library is made of it; two at a time',
    tag: 'libraries',
    allow: { who: 'libraries-write' },
    body: Type.Object({
      path: CreateLibraryRequest.properties.path,
      seriesStrategy: Type.Optional(
        Nullable(OneOf(SERIES_STRATEGIES), { description: 'Shown is what the strategy finds that scans use today.' }),
      ),
      seriesConfig: Type.Optional(FreeJson),
    }),
    reply: Type.Object({
      detectedSeries: Type.Array(
        Type.Object(
          {
            name: Type.String(),
            path: Nullable(Type.String({ description: 'Below the folder.' })),
            bookCount: Type.Integer({ minimum: 1 }),
            sampleBooks: Type.Array(Type.String(), { description: 'Names of the first files, five at most.' }),
          },
          { title: 'DetectedSeries' },
        ),
        { description: 'By path, 1000 at most.' },
      ),
      totalFiles: Type.Integer({ minimum: 0 }),
      truncated: Type.Boolean({
        description: 'There is more: it was not looked for longer than ten seconds, nor for more than 200000 files.',
      }),
    }),
    run: async (call, { body }) => {
      const { series, totalFiles, isTruncated } = await previewScan(
        call.services,
        { userId: call.caller.userId, folder: body.path },
        call.signal,
      )
      return { detectedSeries: series, totalFiles, truncated: isTruncated }
    },
  }),
]
