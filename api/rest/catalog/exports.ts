import Type from 'typebox'
import type { WorkServices } from '#api/areas/work.ts'
import { endpointOf, streamOf } from '#api/http/endpoint.ts'
import {
  BOOK_ANCHOR,
  BOOK_EXPORT_FIELDS,
  CHOICE_OF_BOOKS,
  CHOICE_OF_SERIES,
  EXPORT_FORMATS,
  EXPORT_TYPES,
  type ExportField,
  SERIES_ANCHOR,
  SERIES_EXPORT_FIELDS,
} from '#core/exports/export-field-query.ts'
import { EXPORT_MEDIA_TYPES } from '#core/exports/export-format.ts'
import { EXPORT_LIMITS, SeriesExport } from '#core/exports/series-exports.ts'
import { OneOf, Uuid } from '#core/foundation/schema.ts'

type Services = Pick<WorkServices, 'exports'>
const endpoint = endpointOf<Services>()
const stream = streamOf<Services>()

const tag = 'exports'
const ExportId = Type.Object({ exportId: Uuid })
/** Far more libraries than any server has. */
const LIBRARIES_MAX = 1_000
/** Twice the number of fields: each once, and room for repetition. */
const NAMES_MAX = 100

const Fields = (description: string) => Type.Array(Type.String({ maxLength: 100 }), { maxItems: NAMES_MAX, description })

const Field = Type.Object(
  {
    key: Type.String(),
    label: Type.String(),
    isAnchor: Type.Boolean({ description: 'Every export includes this field.' }),
    multiValue: Type.Boolean(),
    userSpecific: Type.Boolean({
      description: 'The value depends on the user; fields of reading progress need the permission progress-read.',
    }),
  },
  { title: 'ExportField' },
)

const catalog = (fields: Record<string, ExportField>, anchor: string) =>
  Object.entries(fields).map(([key, { label, many, own }]) => ({
    key,
    label,
    isAnchor: key === anchor,
    multiValue: many === true,
    userSpecific: own !== undefined,
  }))

/** Constant while the server runs. */
const CATALOGUE = {
  fields: catalog(SERIES_EXPORT_FIELDS, SERIES_ANCHOR),
  bookFields: catalog(BOOK_EXPORT_FIELDS, BOOK_ANCHOR),
  presets: { llmSelect: [...CHOICE_OF_SERIES], llmSelectBooks: [...CHOICE_OF_BOOKS] },
}

export const exportRoutes = [
  endpoint({
    name: 'listMySeriesExports',
    method: 'GET',
    path: '/api/v1/user/exports/series',
    summary: 'List my exports, latest first',
    tag,
    allow: { who: 'series-read' },
    reply: Type.Object({ exports: Type.Array(SeriesExport) }),
    run: async (call) => ({ exports: await call.services.exports.list(call.caller) }),
  }),
  endpoint({
    name: 'createMySeriesExport',
    method: 'POST',
    path: '/api/v1/user/exports/series',
    summary: 'Export the series, books or both of libraries that I may see, as a file',
    tag,
    allow: { who: 'progress-write', also: ['series-read'] },
    status: 202,
    body: Type.Object(
      {
        format: OneOf([...EXPORT_FORMATS]),
        exportType: Type.Optional(OneOf([...EXPORT_TYPES])),
        libraryIds: Type.Array(Uuid, { minItems: 1, maxItems: LIBRARIES_MAX }),
        fields: Fields('Fields of each series, by the keys of the catalog, in order; the name always comes first.'),
        bookFields: Type.Optional(Fields('Like `fields`, for each book.')),
      },
      { title: 'CreateSeriesExportRequest' },
    ),
    reply: SeriesExport,
    run: async (call, { body }) => await call.services.exports.create(call.caller, body),
  }),
  endpoint({
    name: 'listMySeriesExportFields',
    method: 'GET',
    path: '/api/v1/user/exports/series/fields',
    summary: 'List the fields of exports, and presets of them',
    tag,
    allow: { who: 'series-read' },
    reply: Type.Object({
      fields: Type.Array(Field),
      bookFields: Type.Array(Field),
      presets: Type.Object(
        { llmSelect: Type.Array(Type.String()), llmSelectBooks: Type.Array(Type.String()) },
        { description: 'Fields that help a language model, or a person, choose what to read next.' },
      ),
    }),
    run: async () => CATALOGUE,
  }),
  endpoint({
    name: 'getMySeriesExport',
    method: 'GET',
    path: '/api/v1/user/exports/series/:exportId',
    summary: 'Get one of my exports',
    tag,
    allow: { who: 'series-read' },
    params: ExportId,
    reply: SeriesExport,
    run: async (call, { params }) => await call.services.exports.get(call.caller, params.exportId),
  }),
  endpoint({
    name: 'deleteMySeriesExport',
    method: 'DELETE',
    path: '/api/v1/user/exports/series/:exportId',
    summary: 'Delete one of my exports, even while it is running',
    tag,
    allow: { who: 'progress-write', also: ['series-read'] },
    status: 204,
    params: ExportId,
    run: (call, { params }) => call.services.exports.remove(call.caller, params.exportId),
  }),
  stream({
    name: 'downloadMySeriesExport',
    path: '/api/v1/user/exports/series/:exportId/download',
    summary: `Download the file of one of my exports; it is stored for ${EXPORT_LIMITS.keptDays} days, and sent while I may see all that it shows`,
    tag,
    // The contents of the file require this permission.
    allow: { who: 'series-read', cookie: true },
    params: ExportId,
    mediaTypes: Object.values(EXPORT_MEDIA_TYPES),
    ranges: true,
    run: async (call, { params }) => {
      const { fileName, ...file } = await call.services.exports.findFile(call.caller, params.exportId)
      // Not cached: the file is for one user, and must be gone when it is deleted.
      const isAllowed = () => call.services.exports.mayDownload(call.caller, params.exportId)
      return { kind: 'file', ...file, cacheControl: 'private, no-store', attachmentName: fileName, isAllowed }
    },
  }),
]
