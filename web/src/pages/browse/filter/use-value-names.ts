import { useQueries, useQuery } from '@tanstack/react-query'
import { librariesQuery } from '#api/libraries.ts'
import { collectionsQuery, readListsQuery } from '#api/lists.ts'
import { seriesQuery } from '#api/series.ts'
import type { Line, Part } from './draft.ts'
import type { NameOf } from './filter-words.ts'

/** A chip with more names would not be read. */
const NAMES_MAX = 20

const linesOf = (part: Part): Line[] => (part.kind === 'line' ? [part] : part.parts.flatMap(linesOf))

/** The names of records in conditions; an id where the record is not there or not seen. */
export function useValueNames(parts: readonly Part[]): NameOf {
  const lines = parts.flatMap(linesOf)
  const has = (field: string) => lines.some((line) => line.field === field)
  const libraries = useQuery({ ...librariesQuery, enabled: has('libraryId') })
  const collections = useQuery({ ...collectionsQuery, enabled: has('collectionId') })
  const readLists = useQuery({ ...readListsQuery, enabled: has('readListId') })
  const seriesIds = [...new Set(lines.flatMap(({ field, values }) => (field === 'seriesId' ? values : [])))].slice(0, NAMES_MAX)
  const series = useQueries({ queries: seriesIds.map((id) => seriesQuery(id)) })
  const names = new Map<string, string>()
  for (const { id, name } of [...(libraries.data ?? []), ...(collections.data?.data ?? []), ...(readLists.data?.data ?? [])])
    names.set(id, name)
  for (const { data } of series) if (data) names.set(data.id, data.title)
  return (id) => names.get(id) ?? id
}
