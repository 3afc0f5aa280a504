import t from 'tap'
import { TEXT_DEFAULTS } from '../../../../../web/src/reader/epub/text-settings.ts'
import { chapterStyles, paginatorAttributes } from '../../../../../web/src/reader/epub/text-styles.ts'

const FACES = { serif: '/serif.woff2', dyslexia: '/dyslexia.woff2', dyslexiaBold: '/dyslexia-bold.woff2' }

t.test('a dark paper overrules the colors of the book, a light one leaves them', async (t) => {
  const forced = /\* \{ color: inherit !important/
  t.notMatch(chapterStyles(TEXT_DEFAULTS, FACES)[1], forced)
  t.match(chapterStyles({ ...TEXT_DEFAULTS, paper: 'night' }, FACES)[1], forced)
  t.match(chapterStyles({ ...TEXT_DEFAULTS, publisherStyles: false }, FACES)[1], forced)
})

t.test('the face of the book is left alone when it is chosen', async (t) => {
  t.match(chapterStyles(TEXT_DEFAULTS, FACES)[1], /font-family/)
  t.notMatch(chapterStyles({ ...TEXT_DEFAULTS, face: 'book' }, FACES)[1], /font-family/)
})

t.test('columns follow the flow', async (t) => {
  t.match(paginatorAttributes({ ...TEXT_DEFAULTS, flow: 'scroll' }), { flow: 'scrolled', 'max-column-count': '1' })
  t.match(paginatorAttributes({ ...TEXT_DEFAULTS, flow: 'two' }), { flow: 'paginated', 'max-column-count': '2' })
  t.match(paginatorAttributes({ ...TEXT_DEFAULTS, flow: 'one' }), { flow: 'paginated', 'max-column-count': '1' })
})

t.test('a face of the interface is at its address, and stands before the others where it is chosen', async (t) => {
  const [before, after] = chapterStyles({ ...TEXT_DEFAULTS, face: 'dyslexia' }, FACES)
  t.match(before, /"Carrel Dyslexia"; src: url\("\/dyslexia.woff2"\)/)
  t.match(after, /font-family: "Carrel Dyslexia", sans-serif !important/)
})

t.test('selected words have colors of the paper, also where the browser would paint them gray on gray', async (t) => {
  t.match(
    chapterStyles({ ...TEXT_DEFAULTS, paper: 'night' }, FACES)[1],
    '::selection { background-color: color-mix(in srgb, #e6bd6c 30%, #1a1917); color: #cfc7bb; }',
  )
})
