import Type, { type Static } from 'typebox'
import { Series } from '#core/catalog/series.ts'
import { Noun } from '#core/foundation/schema.ts'
import { FullSeriesMetadata, SeriesFields, SeriesSets } from '#core/metadata/series-metadata-schema.ts'
import { AverageRating } from '#core/metadata/user-rating-store.ts'

const { sources } = FullSeriesMetadata.properties

/** A series with all of its data. */
export const FullSeries = Noun('FullSeries')({
  ...Series.properties,
  metadata: Type.Object({ ...SeriesFields.properties, sources }),
  ...SeriesSets.properties,
  communityRating: AverageRating,
})
export type FullSeries = Static<typeof FullSeries>
