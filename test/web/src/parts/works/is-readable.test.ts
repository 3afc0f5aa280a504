import t from 'tap'
import { isReadable } from '../../../../../web/src/parts/works/is-readable.ts'

t.test('a book is offered for reading while its file is there and was read', (t) => {
  const book = { pageCount: 3, analysisError: null, deleted: false }
  t.equal(isReadable(book), true)
  for (const change of [{ pageCount: 0 }, { analysisError: 'The file ends too early.' }, { deleted: true }])
    t.equal(isReadable({ ...book, ...change }), false, JSON.stringify(change))
  t.end()
})
