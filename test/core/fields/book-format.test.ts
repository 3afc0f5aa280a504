import t from 'tap'
import { BOOK_FORMATS, BOOK_MEDIA_TYPES, formatOfName } from '#core/fields/book-format.ts'

t.test('each format has an extension of its own name, in any case, and a media type', async (t) => {
  for (const format of BOOK_FORMATS) {
    t.equal(formatOfName(`book.${format}`), format)
    t.equal(formatOfName(`Book.${format.toUpperCase()}`), format)
  }
  t.equal(new Set(BOOK_MEDIA_TYPES).size, BOOK_FORMATS.length)
})

t.test('archives have the format of comics, and other files none', async (t) => {
  t.same(['a.zip', 'a.cbt', 'a.rar', 'a.cb7'].map(formatOfName), ['cbz', 'cbz', 'cbr', 'cbr'])
  t.same(['a.txt', 'cbz', '.cbz', 'a.', ''].map(formatOfName), [null, null, null, null, null])
})
