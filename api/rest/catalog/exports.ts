import Type from 'typebox'
import { endpointOf, streamOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
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
} from '#core/exports/export-field.ts'
import { EXPORT_MEDIA_TYPES } from '#core/exports/export-format.ts'
import { EXPORT_LIMITS } from '#core/exports/series-exports.ts'
import { described, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'

type Services = Needs<'exports'>
const endpoint = endpointOf<Services>()
const stream = streamOf<Services>()

const tag = 'exports'
const ExportId = Type.Object({ exportId: Uuid })
/** Far more libraries than a house has. */
const LIBRARIES_MAX = 1_000
/** Twice the catalog: each once, and room for repetition. */
const NAMES_MAX = 100

const Fields = (description: string) => Type.Array(Type.String({ maxLength: 100 }), { maxItems: NAMES_MAX, description })

const Export = Type.Object(
  {
    id: Uuid,
    taskId: described(Uuid, 'The task that makes it, with its progress.'),
    format: OneOf([...EXPORT_FORMATS]),
    exportType: OneOf([...EXPORT_TYPES]),
    libraryIds: Type.Array(Uuid),
    fields: Type.Array(Type.String()),
    bookFields: Type.Array(Type.String()),
    status: OneOf(['pending', 'running', 'completed', 'failed', 'cancelled']),
    rowCount: Nullable(Type.Integer({ minimum: 0 }), { description: 'Series and books in it, once it is complete.' }),
    fileSizeBytes: Nullable(Type.Integer({ minimum: 0 })),
    error: Nullable(Type.String({ description: 'Why it failed.' })),
    createdAt: Timestamp,
    startedAt: Nullable(Timestamp),
    completedAt: Nullable(Timestamp, { description: 'When it ended, however it did.' }),
    expiresAt: Timestamp,
  },
  { title: 'SeriesExport' },
)

const Field = Type.Object(
  {
    key: Type.String(),
    label: Type.String(),
    isAnchor: Type.Boolean({ description: 'Stands in every export.' }),
    multiValue: Type.Boolean(),
    userSpecific: Type.Boolean({ description: 'Differs from user to user; what somebody has read needs the permission progress-read.' }),
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

/** Never changes while the server runs. */
const CATALOGUE = {
  fields: catalog(SERIES_EXPORT_FIELDS, SERIES_ANCHOR),
  bookFields: catalog(BOOK_EXPORT_FIELDS, BOOK_ANCHOR),
  presets: { llmSelect: [...CHOICE_OF_SERIES], llmSelectBooks: [...CHOICE_OF_BOOKS] },
}

export const exportRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/user/exports/series',
    summary: 'My exports, the latest first',
    tag,
    allow: { who: 'user' },
    reply: Type.Object({ exports: Type.Array(Export) }),
    run: async (call) => ({ exports: await call.services.exports.list(call.caller) }),
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/user/exports/series',
    summary: 'Export series, books or both of libraries, as far as I may see them, into a file',
    tag,
    allow: { who: 'series-read' },
    status: 202,
    body: Type.Object(
      {
        format: OneOf([...EXPORT_FORMATS]),
        exportType: Type.Optional(OneOf([...EXPORT_TYPES])),
        libraryIds: Type.Array(Uuid, { minItems: 1, maxItems: LIBRARIES_MAX }),
        fields: Fields('What to tell of each series, by the keys of the catalog, in this order; its name comes first in any case.'),
        bookFields: Type.Optional(Fields('As `fields`, of each book.')),
      },
      { title: 'CreateSeriesExportRequest' },
    ),
    reply: Export,
    run: async (call, { body }) => await call.services.exports.create(call.caller, body),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/user/exports/series/fields',
    summary: 'What exports can tell, and choices of it',
    tag,
    allow: { who: 'user' },
    reply: Type.Object({
      fields: Type.Array(Field),
      bookFields: Type.Array(Field),
      presets: Type.Object(
        { llmSelect: Type.Array(Type.String()), llmSelectBooks: Type.Array(Type.String()) },
        { description: 'What a language model, or a person, needs to choose the next read.' },
      ),
    }),
    run: async () => CATALOGUE,
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/user/exports/series/:exportId',
    summary: 'One of my exports',
    tag,
    allow: { who: 'user' },
    params: ExportId,
    reply: Export,
    run: async (call, { params }) => await call.services.exports.get(call.caller, params.exportId),
  }),
  endpoint({
    method: 'DELETE',
    path: '/api/v1/user/exports/series/:exportId',
    summary: 'Delete one of my exports, also while it is being made',
    tag,
    allow: { who: 'user' },
    status: 204,
    params: ExportId,
    run: async (call, { params }) => {
      await call.services.exports.remove(call.caller, params.exportId)
      return undefined
    },
  }),
  stream({
    path: '/api/v1/user/exports/series/:exportId/download',
    summary: `The file of one of my exports; it is kept for ${EXPORT_LIMITS.keptDays} days`,
    tag,
    // The file holds what may be read with this.
    allow: { who: 'series-read', cookie: true },
    params: ExportId,
    mediaTypes: Object.values(EXPORT_MEDIA_TYPES),
    run: async (call, { params }) => {
      const { fileName, ...file } = await call.services.exports.findFile(call.caller, params.exportId)
      // What was told to one reader is for nobody else, and is gone when it is deleted.
      return { kind: 'file', ...file, cacheControl: 'private, no-store', attachmentName: fileName }
    },
  }),
]
