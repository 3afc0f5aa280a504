import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { CreateLibraryRequest, SERIES_STRATEGIES } from '#core/catalog/library.ts'
import { FreeJson, Nullable, OneOf } from '#core/foundation/schema.ts'
import { previewScan } from '#core/scan/preview-scan.ts'

type Services = Pick<DataServices, 'database' | 'settings'>
const endpoint = endpointOf<Services>()

export const scanPreviewRoutes = [
  endpoint({
    name: 'previewLibraryScan',
    method: 'POST',
    path: '/api/v1/libraries/preview-scan',
    changes: null,
    summary: 'Preview the scan of a folder before creating a library; at most two at a time',
    tag: 'libraries',
    allow: { who: 'libraries-write' },
    body: Type.Object({
      path: CreateLibraryRequest.properties.path,
      seriesStrategy: Type.Optional(
        Nullable(OneOf(SERIES_STRATEGIES), { description: 'Ignored: the preview uses the strategy that scans use.' }),
      ),
      seriesConfig: Type.Optional(FreeJson),
    }),
    reply: Type.Object({
      detectedSeries: Type.Array(
        Type.Object(
          {
            name: Type.String(),
            path: Nullable(Type.String({ description: 'Path below the folder.' })),
            bookCount: Type.Integer({ minimum: 1 }),
            sampleBooks: Type.Array(Type.String(), { description: 'Names of the first five files.' }),
          },
          { title: 'DetectedSeries' },
        ),
        { description: 'Sorted by path, at most 1000.' },
      ),
      totalFiles: Type.Integer({ minimum: 0 }),
      truncated: Type.Boolean({
        description: 'The preview is incomplete: it stopped after ten seconds or 200000 files.',
      }),
    }),
    run: async (call, { body }) => {
      const { series, totalFiles, isTruncated } = await previewScan(call.services, { caller: call.caller, folder: body.path }, call.signal)
      return { detectedSeries: series, totalFiles, truncated: isTruncated }
    },
  }),
]
