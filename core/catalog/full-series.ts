import Type from 'typebox'
import { Series } from '#core/catalog/series.ts'
import { Noun } from '#core/foundation/schema.ts'
import { FullSeriesMetadata } from '#core/metadata/series-metadata-record.ts'

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

/** A series with all of its data. */
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
