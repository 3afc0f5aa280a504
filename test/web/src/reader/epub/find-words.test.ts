import t from 'tap'
import { findWords } from '../../../../../web/src/reader/epub/find-words.ts'

t.test('words are found without regard to case, accents and line breaks', async (t) => {
  const text = 'Das Café\n  am Meer. Ein anderes CAFE am Meer.'
  const found = findWords(text, 'café am', 10)
  t.same(
    found.map(({ words }) => words),
    ['Café\n  am', 'CAFE am'],
  )
  t.equal(text.slice(found[1]?.at).slice(0, found[1]?.length), 'CAFE am')
  t.equal(found[0]?.before, 'Das ')
})

t.test('letters that become several keep their place', async (t) => {
  const [found] = findWords('die ﬂache See', 'flache', 10)
  t.equal(found?.words, 'ﬂache')
  t.equal(findWords('日本の海', '海', 10)[0]?.at, 3)
})

t.test('nothing is found for no words, and no more than asked for', async (t) => {
  t.same(findWords('abc', '  ', 10), [])
  t.same(findWords('abc', 'x', 10), [])
  t.equal(findWords('a a a a', 'a', 2).length, 2)
})
