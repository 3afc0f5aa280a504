import Type, { type Static } from 'typebox'
import type { MetadataRecord } from '#core/fields/field.ts'
import { fieldMembers, fieldValues, SourcePlugins, Sources } from '#core/fields/field-members.ts'
import type { ValuesOf } from '#core/fields/record-kind.ts'
import { SERIES_FIELDS, SERIES_LOCKS, seriesLockName } from '#core/fields/series-metadata.ts'
import { LENIENT, Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import type { StoredRecord } from '#core/metadata/metadata-record-store.ts'

const NULL_TITLE =
  'Null clears the title with its source and its lock; the title that most of its books name, or else that of its folder, replaces it at once.'

const members = fieldMembers(SERIES_FIELDS, ({ name, about }) => (name === 'title' ? `${about} ${NULL_TITLE}` : about))

/** Body of PATCH and PUT. A series always has a title: null resets it. */
export const SeriesMetadataPatch = Type.Object(members, { additionalProperties: false, title: 'SeriesMetadataPatch' })

const lockNames = SERIES_LOCKS.map(seriesLockName)
export const SeriesLocks = Noun('SeriesMetadataLocks')(Object.fromEntries(lockNames.map((name) => [name, Type.Boolean()])))
export const SeriesLocksPatch = Type.Object(Object.fromEntries(lockNames.map((name) => [name, Type.Optional(Nullable(Type.Boolean()))])), {
  ...LENIENT,
  description:
    'Also accepts `summaryLock` for `summary`, and `authors` or `authorsJson` for `authorsJsonLock`. Ignores members that are not locks.',
  title: 'SeriesMetadataLocksPatch',
})

/** The metadata of a series on its own. */
export const SeriesMetadata = Noun('SeriesMetadata')({
  id: Uuid,
  ...members,
  title: Type.String(),
  updatedAt: Timestamp,
})

/** An alternate title of a series, such as the one in its original language. */
export const AlternateTitle = Noun('AlternateTitle')({
  id: Uuid,
  seriesId: Uuid,
  label: Type.String(),
  title: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
const SourceName = Type.Optional(Type.String({ description: 'Same as source; only with compatibility.legacyNames.' }))
const identifier = {
  id: Uuid,
  source: Type.String(),
  sourceName: SourceName,
  externalId: Type.String(),
  externalUrl: Nullable(Type.String()),
  metadataHash: Nullable(Type.String()),
  lastSyncedAt: Nullable(Timestamp),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}
export const ExternalId = Noun('ExternalId')({ seriesId: Uuid, ...identifier })
export const BookExternalId = Noun('BookExternalId')({ bookId: Uuid, ...identifier })
const link = {
  id: Uuid,
  source: Type.String(),
  sourceName: SourceName,
  url: Type.String(),
  externalId: Nullable(Type.String()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}
export const ExternalLink = Noun('ExternalLink')({ seriesId: Uuid, ...link })
export const BookExternalLink = Noun('BookExternalLink')({ bookId: Uuid, ...link })
export const ExternalRating = Noun('ExternalRating')({
  id: Uuid,
  seriesId: Uuid,
  source: Type.String(),
  sourceName: SourceName,
  rating: Type.Number({ minimum: 0, maximum: 100 }),
  voteCount: Nullable(Type.Integer({ minimum: 0 })),
  fetchedAt: Timestamp,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

const NamedShape = Noun('GenreOrTag')({
  id: Uuid,
  name: Type.String(),
  createdAt: Timestamp,
  seriesCount: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
})

/** The sets of a series. */
export const SeriesSets = Type.Object({
  genres: Type.Array(NamedShape),
  tags: Type.Array(NamedShape),
  alternateTitles: Type.Array(AlternateTitle),
  externalIds: Type.Array(ExternalId),
  externalLinks: Type.Array(ExternalLink),
  externalRatings: Type.Array(ExternalRating),
})
export type SeriesSets = Static<typeof SeriesSets>

/** The fields of a series, with their locks. */
export const SeriesFields = Type.Object({
  ...members,
  title: Type.String(),
  locks: SeriesLocks,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type SeriesFields = Static<typeof SeriesFields>

/** All metadata of a series: fields, sets and, on request, the source of each field. */
export const FullSeriesMetadata = Noun('FullSeriesMetadata')({
  seriesId: Uuid,
  ...SeriesFields.properties,
  sources: Type.Optional(Sources),
  sourcePlugins: Type.Optional(SourcePlugins),
  ...SeriesSets.properties,
})

export function seriesFieldsOf({ values }: Pick<StoredRecord<ValuesOf['series']>, 'values'>) {
  const stored: Readonly<Record<string, unknown>> = values
  // A series always has a title: the column is not null.
  return { ...fieldValues(SERIES_FIELDS, ({ name }) => stored[name] ?? (name === 'authors' ? [] : null)), title: values.title ?? '' }
}

export function seriesLocksOf({ locks }: Pick<MetadataRecord, 'locks'>): Record<string, boolean> {
  return Object.fromEntries(SERIES_LOCKS.map((name) => [seriesLockName(name), locks.has(name)]))
}

export function seriesMetadataOf(id: string, stored: StoredRecord<ValuesOf['series']>) {
  return { id, ...seriesFieldsOf(stored), updatedAt: stored.updatedAt }
}
