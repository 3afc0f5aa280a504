import type { Static } from 'typebox'
import Type from 'typebox'
import { refuse } from '#core/foundation/errors.ts'
import { nextTime } from '#core/foundation/schedule.ts'
import { Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { TASK_STATUSES } from '#core/foundation/task-status.ts'
import { proposable } from '#core/matching/proposal.ts'

/** Groups of fields, so that users need not choose single ones. */
export const FIELD_GROUPS = [
  { id: 'identifiers', label: 'Identifiers', fields: ['externalIds'] },
  {
    id: 'descriptive',
    label: 'Titles and description',
    fields: ['title', 'titleSort', 'subtitle', 'summary', 'authors', 'alternateTitles', 'language', 'languageIso', 'readingDirection'],
  },
  { id: 'status', label: 'Status and dates', fields: ['status', 'year', 'month', 'day'] },
  { id: 'counts', label: 'Counts', fields: ['totalVolumeCount', 'totalChapterCount'] },
  { id: 'ratings', label: 'Ratings', fields: ['externalRatings'] },
  { id: 'cover', label: 'Cover', fields: ['cover'] },
  { id: 'tags', label: 'Tags', fields: ['tags', 'subjects'] },
  { id: 'genres', label: 'Genres', fields: ['genres'] },
  { id: 'age_rating', label: 'Age rating', fields: ['ageRating'] },
  { id: 'publisher', label: 'Publisher', fields: ['publisher', 'imprint'] },
  { id: 'external_refs', label: 'Links', fields: ['externalLinks'] },
] as const
const GROUP_IDS = FIELD_GROUPS.map(({ id }) => id)
/** All fields of series and books that can be proposed. */
const FIELDS = [...new Set([...proposable('series'), ...proposable('book')])]

const JOB_SCOPES = ['series_only', 'books_only', 'series_and_books'] as const

const Groups = Type.Array(OneOf([...GROUP_IDS]), { maxItems: GROUP_IDS.length, uniqueItems: true })
const Fields = Type.Array(Type.String({ maxLength: 60 }), { maxItems: 60, uniqueItems: true })
/** One year; a longer interval needs no schedule. */
const SECONDS_MAX = 366 * 86_400

export const JobConfig = Type.Object(
  {
    type: Type.Literal('metadata_refresh'),
    provider: Type.String({ minLength: 1, maxLength: 100, description: 'The plugin to use: its identifier, or its id on this server.' }),
    scope: Type.Optional(OneOf([...JOB_SCOPES])),
    fieldGroups: Type.Optional(Groups),
    extraFields: Type.Optional(Fields),
    bookFieldGroups: Type.Optional({ ...Groups, description: 'Groups for books, if they differ from those for series.' }),
    bookExtraFields: Type.Optional({ ...Fields, description: 'Further fields for books, like bookFieldGroups.' }),
    maxConcurrency: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100,
        description: 'Stored but ignored: records are processed one at a time.',
      }),
    ),
    existingSourceIdsOnly: Type.Optional(Type.Boolean({ description: 'Only refreshes records that were matched before.' })),
    skipRecentlySyncedWithinS: Type.Optional(Type.Integer({ minimum: 0, maximum: SECONDS_MAX })),
  },
  { additionalProperties: false, title: 'LibraryJobConfig', description: 'Without groups and fields, all fields are refreshed.' },
)
export type JobConfig = Static<typeof JobConfig>

export const LibraryJob = Type.Object(
  {
    id: Uuid,
    libraryId: Uuid,
    name: Type.String(),
    enabled: Type.Boolean(),
    cronSchedule: Nullable(Type.String({ description: 'Five fields; null if it runs only when started manually.' })),
    timezone: Type.String(),
    config: JobConfig,
    nextRunAt: Nullable(Timestamp),
    lastRunAt: Nullable(Timestamp),
    lastRunStatus: Nullable(OneOf(TASK_STATUSES)),
    lastRunMessage: Nullable(Type.String()),
    taskId: Nullable(Uuid),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'LibraryJob' },
)
export type LibraryJob = Static<typeof LibraryJob>

/** More frequent runs would only repeat the same requests to a service. */
const MINUTES_APART_MIN = 15

const PATHS = { cron: '/cronSchedule', timezone: '/timezone' }

/** The next time of a job's schedule. @throws invalid_value for an invalid schedule */
export const nextRun = (cron: string | null, timezone: string, after: Date): Date | null =>
  nextTime({ cron, timezone, paths: PATHS, minutesApartMin: MINUTES_APART_MIN, of: 'a job' }, after)

/** The fields of series or books that a job may change; null for all. @throws invalid_value for an unknown field */
export function jobFieldsOf(config: JobConfig, kind: 'series' | 'book' = 'series'): string[] | null {
  for (const member of ['extraFields', 'bookExtraFields'] as const) {
    const unknown = config[member]?.find((field) => !FIELDS.includes(field))
    if (unknown !== undefined)
      refuse('invalid_value', `"${unknown}" is not a metadata field.`, {
        details: [{ path: `/config/${member}`, message: `There are: ${FIELDS.join(', ')}.` }],
      })
  }
  const hasOwn = kind === 'book' && [config.bookFieldGroups, config.bookExtraFields].some((list) => list && list.length > 0)
  const { fieldGroups = [], extraFields = [] } = hasOwn
    ? { fieldGroups: config.bookFieldGroups, extraFields: config.bookExtraFields }
    : config
  if (fieldGroups.length === 0 && extraFields.length === 0) return null
  return [...new Set([...FIELD_GROUPS.filter(({ id }) => fieldGroups.includes(id)).flatMap(({ fields }) => [...fields]), ...extraFields])]
}
