import { useQuery } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { filterValuesQuery } from '#api/filter-values.ts'
import { queries } from '#api/queries.ts'
import type { BookCondition, Listed, SeriesCondition } from '#api/records.ts'
import { sayFailure } from '#parts/above/toasts.tsx'
import { browseTexts } from '#texts/browse.ts'
import style from './browse.module.css'
import { type BrowseAddress, type BrowseKind, conditionOf } from './browse-address.ts'
import { beforeYear, type SortDate, yearsOfRail } from './year-places.ts'

interface YearsProps {
  kind: BrowseKind
  address: BrowseAddress
  libraryId: string | null
  dates: SortDate
  onJump: (index: number) => void
}

/** A rail of years beside a list sorted by a date. Where a year begins is asked for when somebody goes there. */
export function Years({ kind, address, libraryId, dates, onJump }: YearsProps) {
  const { data } = useQuery({
    queryKey: [kind === 'series' ? 'series-list' : 'books', 'years', libraryId, dates.field],
    queryFn: () => findYears(kind, libraryId, dates),
  })
  const years = yearsOfRail(data ?? [], dates.isDescending, innerHeight)
  if (years.length < 2) return null
  const goTo = (year: number) => {
    const conditions = [conditionOf(address, libraryId), beforeYear(dates, year)].filter((each) => each !== null)
    listed(kind, { allOf: conditions }, { q: address.q }).then(({ total }) => onJump(total), sayFailure)
  }
  return (
    <nav className={`${style['letters']} ${style['years']}`} style={{ '--count': years.length }} aria-label={browseTexts.years()}>
      {years.map((year) => (
        <button key={year} type="button" aria-label={browseTexts.year({ year: String(year) })} onClick={() => goTo(year)}>
          {year}
        </button>
      ))}
    </nav>
  )
}

type Dated = { createdAt: string; updatedAt: string }

/** One record of a list and the number of all. */
async function listed(kind: BrowseKind, condition: object | null, { q = null, sort }: { q?: string | null; sort?: string }) {
  const query = { page: 1, pageSize: 1, ...(sort && { sort: sort as 'created_at,asc' }) }
  const answer =
    kind === 'series'
      ? await ask(
          api.POST('/api/v1/series/list', {
            params: { query },
            body: { condition: condition as SeriesCondition | null, fullTextSearch: q },
          }),
        )
      : await ask(
          api.POST('/api/v1/books/list', { params: { query }, body: { condition: condition as BookCondition | null, fullTextSearch: q } }),
        )
  return answer as Listed<Dated>
}

/** The years of a library, whatever is filtered: those that the filter leaves out lead to where they would be. */
async function findYears(kind: BrowseKind, libraryId: string | null, { field }: SortDate): Promise<number[]> {
  if (field === 'year' || field === 'releaseDate') {
    const of = { field: 'year', of: kind, ...(libraryId && { libraryId }) } as const
    return (await queries.ensureQueryData(filterValuesQuery(of))).map(({ value }) => Number(value))
  }
  const [by, member] = field === 'dateAdded' ? (['created_at', 'createdAt'] as const) : (['updated_at', 'updatedAt'] as const)
  const condition = libraryId ? { libraryId: { operator: 'is', value: libraryId } } : null
  const ends = await Promise.all(['asc', 'desc'].map((direction) => listed(kind, condition, { sort: `${by},${direction}` })))
  // Conditions and lists count days of UTC.
  const [first, last] = ends.map(({ data }) => (data[0] ? new Date(data[0][member]).getUTCFullYear() : null))
  if (first === null || last === null || first === undefined || last === undefined) return []
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at)
}
