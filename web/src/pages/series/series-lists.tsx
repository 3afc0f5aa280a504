import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { FullSeriesRecord } from '#api/records.ts'
import { collectionsOfSeriesQuery } from '#api/series.ts'
import { AboutSection } from '#parts/works/about-sections.tsx'
import { workTexts } from '#texts/works.ts'

/** Genres and tags, and the collections that a series is in. */
export function SeriesLists({ series, children }: { series: FullSeriesRecord; children: ReactNode }) {
  const collections = useQuery(collectionsOfSeriesQuery(series.id)).data?.data ?? []
  const hasTags = series.genres.length > 0 || series.tags.length > 0
  if (!hasTags && collections.length === 0) return null
  return (
    <AboutSection title={hasTags ? workTexts.genresAndTags() : workTexts.inLists()}>
      {children}
      {collections.length > 0 && (
        <>
          {hasTags && <h3 className="group-title">{workTexts.inLists()}</h3>}
          <ul className="rows">
            {collections.map(({ id, name, seriesCount }) => (
              <li className="row" key={id}>
                <Link className="words" href={`/collections/${id}`}>
                  <bdi>{name}</bdi>
                  <span className="sub">{workTexts.collection({ count: seriesCount })}</span>
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
    </AboutSection>
  )
}
