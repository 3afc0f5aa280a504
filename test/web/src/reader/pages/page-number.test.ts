import t from 'tap'
import { readPageNumber } from '../../../../../web/src/reader/pages/page-number.ts'

t.test('a typed page is moved into the book, and what is no number is no page', async (t) => {
  t.equal(readPageNumber('46–47', 184), 46)
  t.equal(readPageNumber(' 12 ', 184), 12)
  t.equal(readPageNumber('999', 184), 184)
  t.equal(readPageNumber('0', 184), 1)
  t.equal(readPageNumber('last', 184), null)
  t.equal(readPageNumber('', 184), null)
})
