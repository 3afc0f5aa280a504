import t from 'tap'
import { beforeYear, dateOfSort, type SortDate, yearsOfRail } from '../../../../../web/src/pages/browse/year-places.ts'

t.test('orders by a date that conditions know have years', (t) => {
  t.same(dateOfSort('books', 'release_date,desc'), { field: 'releaseDate', isYear: false, isDescending: true })
  t.same(dateOfSort('series', 'year,asc'), { field: 'year', isYear: true, isDescending: false })
  for (const sort of ['title,asc', 'last_read,desc', 'constructor,desc', '']) t.equal(dateOfSort('books', sort), null, sort)
  t.end()
})

t.test('what stands before a year is everything later, or everything earlier', (t) => {
  const added = dateOfSort('books', 'created_at,desc') as SortDate
  t.same(beforeYear(added, 2024), { dateAdded: { operator: 'onOrAfter', value: '2025-01-01' } })
  t.same(beforeYear({ ...added, isDescending: false }, 2024), { dateAdded: { operator: 'before', value: '2024-01-01' } })
  t.same(beforeYear(dateOfSort('series', 'year,desc') as SortDate, 1999), { year: { operator: 'gt', value: 1999 } })
  t.end()
})

t.test('a rail has as many years as fit', (t) => {
  t.same(yearsOfRail([1999, 2001, 1999, 0, Number.NaN, 99_999], true, 800), [2001, 1999])
  const many = yearsOfRail(
    Array.from({ length: 100 }, (_, at) => 1900 + at),
    false,
    800,
  )
  t.ok(many.length <= 28)
  t.equal(many[0], 1900)
  t.end()
})
