import Type from 'typebox'
import { Noun } from '#core/schema.ts'
import { FullSeriesMetadata } from '#core/series/metadata-shape.ts'
import { Series } from '#core/series/series.ts'

const {
  seriesId: _,
  genres,
  tags,
  alternateTitles,
  externalIds,
  externalLinks,
  externalRatings,
  ...metadata
} = FullSeriesMetadata.properties

/** A series with all that is known of it. */
export const FullSeries = Noun('FullSeries')({
  ...Series.properties,
  metadata: Type.Object(metadata),
  genres,
  tags,
  alternateTitles,
  externalIds,
  externalLinks,
  externalRatings,
})
