import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { TemplateServices } from '#api/areas/templates.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { CreateLibraryRequest, SERIES_STRATEGIES } from '#core/catalog/library.ts'
import { described, Noun, Nullable, OneOf } from '#core/foundation/schema.ts'
import { RULES } from '#core/scan/layouts/place-book.ts'
import { LEFT_OUT_REASONS } from '#core/scan/left-out.ts'
import { previewScan } from '#core/scan/preview-scan.ts'

type Services = Pick<DataServices, 'database' | 'settings'> & Pick<TemplateServices, 'rules'>
const endpoint = endpointOf<Services>()

/** What a new library takes and a preview depends on. */
const { properties: taken } = Type.Pick(CreateLibraryRequest, [
  'path',
  'seriesStrategy',
  'seriesConfig',
  'bookStrategy',
  'bookConfig',
  'numberStrategy',
  'numberConfig',
  'excludedPatterns',
  'allowedFormats',
  'linkTargets',
  'titlePreprocessingRules',
])
const Count = Type.Integer({ minimum: 0 })
const Position = Nullable(Type.Number())

/** Which rule made a series of its files. */
export const SeriesRule = Type.Enum([...RULES], { type: 'string', title: 'SeriesRule' })

const DetectedSeries = Noun('DetectedSeries')({
  name: Type.String(),
  path: Nullable(Type.String({ description: 'Path below the folder.' })),
  rule: SeriesRule,
  why: Type.String({ description: 'Why these files are a series, in a sentence.' }),
  bookCount: Type.Integer({ minimum: 1 }),
  sampleBooks: Type.Array(Type.String(), { description: 'Names of the first five files.' }),
  books: Type.Array(Type.Object({ title: Type.String(), volume: Position, chapter: Position, number: Position }), {
    description: 'What the names of these files and of their folders say; their metadata may say more.',
  }),
})

export const scanPreviewRoutes = [
  endpoint({
    name: 'previewLibraryScan',
    method: 'POST',
    path: '/api/v1/libraries/preview-scan',
    changes: null,
    summary: 'Preview the scan of a folder before creating a library; at most two at a time',
    tag: 'libraries',
    allow: { who: 'libraries-write' },
    body: Type.Object(taken),
    reply: Type.Object({
      detectedSeries: Type.Array(DetectedSeries, { description: 'Sorted by path, at most 1000.' }),
      leftOut: Type.Array(
        Type.Object({
          reason: OneOf(LEFT_OUT_REASONS),
          count: Count,
          examples: Type.Array(Type.String(), { description: 'Paths below the folder, five at most.' }),
        }),
        { description: 'Files and folders that are no books of the library, by reason.' },
      ),
      alternatives: Type.Array(
        Type.Object({
          strategy: OneOf(SERIES_STRATEGIES),
          series: Count,
          single: described(Count, 'Series of one book.'),
          mixed: described(Count, 'Series whose files have the names of several series.'),
        }),
        { description: 'What each strategy would make of these files; `custom` only when it was asked for.' },
      ),
      suggestedStrategy: OneOf(SERIES_STRATEGIES),
      totalFiles: Count,
      truncated: Type.Boolean({
        description: 'The preview is incomplete: it stopped after ten seconds, 200000 files or 1000 series.',
      }),
    }),
    run: async (call, { body }) => {
      const { path: folder, ...layout } = body
      const preview = await previewScan(call.services, { caller: call.caller, folder, ...layout }, call.signal)
      const { series, leftOut, alternatives, suggested, totalFiles, isTruncated } = preview
      return {
        detectedSeries: series.map(({ books, ...one }) => ({
          ...one,
          sampleBooks: books.map(({ fileName }) => fileName),
          books: books.map(({ fileName: _, ...book }) => book),
        })),
        leftOut,
        alternatives,
        suggestedStrategy: suggested,
        totalFiles,
        truncated: isTruncated,
      }
    },
  }),
]
