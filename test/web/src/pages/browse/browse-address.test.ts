import t from 'tap'
import { changeAddress, conditionOf, isFiltered, readBrowseAddress } from '../../../../../web/src/pages/browse/browse-address.ts'

t.test('an address of another version or with nonsense shows the usual list', (t) => {
  const usual = readBrowseAddress('series', '')
  t.strictSame(readBrowseAddress('series', 'view=cube&size=9&sort=__proto__&show=never&format=exe&year=soon'), usual)
  t.strictSame(usual, { ...usual, view: 'grid', size: 2, sort: 'name,asc', show: 'all', genre: null, q: null })
  t.notOk(isFiltered(usual))
  t.end()
})

t.test('an address keeps what it does not know and leaves out usual values', (t) => {
  t.equal(changeAddress('?of=books&show=read', { show: 'all', sort: 'title,desc' }), '?of=books&sort=title,desc')
  t.equal(changeAddress('?genre=Sea', { genre: null }), '')
  t.end()
})

t.test('filters of an address become one condition', (t) => {
  const address = readBrowseAddress('books', 'show=unread&genre=Science%20fiction&format=cbz&year=1999')
  t.strictSame(conditionOf(address, 'library'), {
    allOf: [
      { libraryId: { operator: 'is', value: 'library' } },
      { readStatus: { operator: 'is', value: 'unread' } },
      { genre: { operator: 'is', value: 'Science fiction' } },
      { format: { operator: 'is', value: 'cbz' } },
      { year: { operator: 'eq', value: 1999 } },
    ],
  })
  t.equal(conditionOf(readBrowseAddress('series', ''), null), null)
  t.equal(readBrowseAddress('series', 'format=cbz').format, null, 'series have no format')
  t.ok(isFiltered(readBrowseAddress('series', 'year=1999')))
  t.end()
})
