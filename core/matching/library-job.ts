import { CronExpressionParser } from 'cron-parser'
import type { Static } from 'typebox'
import Type from 'typebox'
import { refuse } from '#core/foundation/errors.ts'
import { Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { TASK_STATUSES } from '#core/foundation/task-status.ts'
import { isTimezone } from '#core/foundation/time-zone.ts'
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

/**
 * The next time of a schedule.
 * @param cron five fields, in the time zone; a run at a time that a clock change skips is later, and one at a time that occurs twice runs once
 * @throws invalid_value for an invalid schedule
 */
export function nextRun(cron: string | null, timezone: string, after: Date): Date | null {
  if (cron === null) return null
  const wrong = (path: string, message: string): never =>
    refuse('invalid_value', `${path.slice(1)}: ${message}`, { details: [{ path, message }] })
  if (!isTimezone(timezone)) wrong('/timezone', `"${timezone.slice(0, 60)}" is not a time zone such as Europe/Berlin.`)
  if (cron.trim().split(/\s+/).length !== 5) wrong('/cronSchedule', 'a schedule has five fields: minute, hour, day, month and weekday.')
  try {
    const times = CronExpressionParser.parse(cron, { currentDate: after, tz: timezone })
    const { minute, hour } = times.fields
    const isNumber = (value: unknown): value is number => typeof value === 'number'
    if (minutesApart(minute.values.filter(isNumber), hour.values.filter(isNumber)) < MINUTES_APART_MIN)
      wrong('/cronSchedule', `a job may run at most every ${MINUTES_APART_MIN} minutes.`)
    return times.next().toDate()
  } catch (error) {
    if (error instanceof Error && error.name === 'AppError') throw error
    return wrong('/cronSchedule', `it is not a schedule: ${(error as Error).message}.`)
  }
}

/** Minutes between neighboring times of a day, independent of the current time, so that a schedule stays valid. */
function minutesApart(minutes: readonly number[], hours: readonly number[]): number {
  const within = minutes.slice(1).map((minute, index) => minute - (minutes[index] as number))
  const isNextToOther = hours.some((hour) => hours.includes((hour + 1) % 24))
  const [first = 0] = minutes
  return Math.min(60, ...within, ...(isNextToOther ? [60 - (minutes.at(-1) ?? 0) + first] : []))
}

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
