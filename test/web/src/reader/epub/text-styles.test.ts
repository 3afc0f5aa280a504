import t from 'tap'
import { TEXT_DEFAULTS } from '../../../../../web/src/reader/epub/text-settings.ts'
import { chapterStyles, paginatorAttributes } from '../../../../../web/src/reader/epub/text-styles.ts'

t.test('a dark paper overrules the colors of the book, a light one leaves them', async (t) => {
  const forced = /\* \{ color: inherit !important/
  t.notMatch(chapterStyles(TEXT_DEFAULTS, '/face.woff2')[1], forced)
  t.match(chapterStyles({ ...TEXT_DEFAULTS, paper: 'night' }, '/face.woff2')[1], forced)
  t.match(chapterStyles({ ...TEXT_DEFAULTS, publisherStyles: false }, '/face.woff2')[1], forced)
})

t.test('the face of the book is left alone when it is chosen', async (t) => {
  t.match(chapterStyles(TEXT_DEFAULTS, '/face.woff2')[1], /font-family/)
  t.notMatch(chapterStyles({ ...TEXT_DEFAULTS, face: 'book' }, '/face.woff2')[1], /font-family/)
})

t.test('columns follow the flow', async (t) => {
  t.match(paginatorAttributes({ ...TEXT_DEFAULTS, flow: 'scroll' }), { flow: 'scrolled', 'max-column-count': '1' })
  t.match(paginatorAttributes({ ...TEXT_DEFAULTS, flow: 'two' }), { flow: 'paginated', 'max-column-count': '2' })
  t.match(paginatorAttributes({ ...TEXT_DEFAULTS, flow: 'one' }), { flow: 'paginated', 'max-column-count': '1' })
})
