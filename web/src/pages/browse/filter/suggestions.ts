import { keepPreviousData, type QueryKey, useQuery } from '@tanstack/react-query'
import { filterValuesQuery } from '#api/filter-values.ts'
import { librariesQuery } from '#api/libraries.ts'
import { collectionsQuery, readListsQuery } from '#api/lists.ts'
import { queries } from '#api/queries.ts'
import { searchQuery } from '#api/search.ts'
import { sharingTagsQuery } from '#api/sharing-tags.ts'
import { languageWords } from '#parts/formats.ts'
import { wordTexts } from '#texts/filter.ts'
import type { BrowseKind } from '../browse-address.ts'
import type { FilterField } from './filter-fields.ts'
import { personWords } from './filter-words.ts'

export interface Suggestion {
  value: string
  text: string
  /** How many of the list have it; null when that is not counted. */
  count: number | null
}

interface Asked {
  kind: BrowseKind
  field: FilterField
  search: string
  libraryId: string | null
  isOpen: boolean
}

interface Found {
  suggestions: readonly Suggestion[]
  /** Whether they are those of what is typed; until its answer is there, those of the text before are shown. */
  isCurrent: boolean
}

/** Values for what is typed. */
export function useSuggestions({ kind, field, search, libraryId, isOpen }: Asked): Found {
  const { source, words } = field
  const query = useQuery({
    queryKey: ['filter-values', 'suggestions', kind, source ?? null, libraryId, search] satisfies QueryKey,
    queryFn: () => findSuggestions(kind, field, search, libraryId),
    placeholderData: keepPreviousData,
    enabled: isOpen && source !== undefined,
  })
  if (source !== undefined) return { suggestions: query.data ?? [], isCurrent: query.isFetched }
  const fixed = (words ?? []).map((value) => named(value, (wordTexts as Record<string, () => string>)[value]?.() ?? value))
  return { suggestions: fixed.filter(matching(search)), isCurrent: true }
}

const named = (value: string, text: string, count: number | null = null): Suggestion => ({ value, text, count })
const fold = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
const matching = (search: string) => (each: Suggestion) => fold(each.text).includes(fold(search))
const ofRecords = (records: readonly { id: string; name: string }[], search: string) =>
  records.map(({ id, name }) => named(id, name)).filter(matching(search))

async function findSuggestions(kind: BrowseKind, { source }: FilterField, search: string, libraryId: string | null): Promise<Suggestion[]> {
  switch (source) {
    case 'libraries':
      return ofRecords(await queries.ensureQueryData(librariesQuery), search)
    case 'collections':
      return ofRecords((await queries.ensureQueryData(collectionsQuery)).data, search)
    case 'readLists':
      return ofRecords((await queries.ensureQueryData(readListsQuery)).data, search)
    case 'sharingTags':
      return (await queries.ensureQueryData(sharingTagsQuery)).map(({ name }) => named(name, name)).filter(matching(search))
    case 'series': {
      if (search.trim() === '') return []
      const { series } = await queries.ensureQueryData(searchQuery(search.trim()))
      return series.map(({ id, title }) => named(id, title))
    }
    case undefined:
      return []
    default:
      return await findValues(kind, source, search, libraryId)
  }
}

async function findValues(kind: BrowseKind, source: string, search: string, libraryId: string | null): Promise<Suggestion[]> {
  const isAuthor = source === 'author'
  const found = await queries.ensureQueryData(
    filterValuesQuery({
      field: (isAuthor ? 'person' : source) as 'genre',
      of: kind,
      // The names of languages are not known to the server, only their codes.
      ...(search.trim() !== '' && source !== 'language' && { search: search.trim() }),
      ...(libraryId && { libraryId }),
      ...(isAuthor && { role: 'author' as const }),
    }),
  )
  if (source === 'language') return found.map(({ value, count }) => named(value, languageWords(value), count)).filter(matching(search))
  if (source === 'format') return found.map(({ value, count }) => named(value, value.toUpperCase(), count))
  if (source !== 'person') return found.map(({ value, count }) => named(value, value, count))
  return found.map(({ value, role, count }) =>
    role === null ? named(value, value, count) : named(`${role}:${value}`, personWords(`${role}:${value}`), count),
  )
}
