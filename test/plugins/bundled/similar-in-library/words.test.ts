import t from 'tap'
import { eachWord, WORD_BUCKETS } from '#plugins/bundled/similar-in-library/words.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'

const wordsOf = (text: string, lengthMax = 1_000): number[] => {
  const found: number[] = []
  eachWord(text, lengthMax, (bucket) => found.push(bucket))
  return found
}

t.test('significant words are the same in any spelling', async (t) => {
  const [dragon] = wordsOf('dragon')
  for (const text of ['Dragon', 'DRAGONS!', 'the dragon', 'ｄｒａｇｏｎ', '<b>dragon</b>&nbsp;', 'https://example.org/x dragon'])
    t.same(wordsOf(text), [dragon], text)
  t.not(wordsOf('wyvern')[0], dragon)
  t.same(wordsOf('glass'), wordsOf('Glass'))
  t.not(wordsOf('glass')[0], wordsOf('glas')[0], 'a word that ends with ss is not a plural')
  for (const bucket of wordsOf('many different words stand here')) t.ok(bucket >= 0 && bucket < WORD_BUCKETS && Number.isInteger(bucket))
})

t.test('stop words of several languages are ignored', async (t) => {
  for (const text of ['and the story of', 'und die der nicht', 'dans une avec les', 'para los con una', 'и на он что', 'é uma das', ''])
    t.same(wordsOf(text), [], text)
  t.equal(wordsOf('Der Drache und die Burg').length, 2)
  t.equal(wordsOf('дракон и замок').length, 2)
})

t.test('scripts without spaces are split into pairs', async (t) => {
  t.equal(wordsOf('進撃の巨人').length, 4)
  const shared = wordsOf('巨人の国').filter((pair) => wordsOf('進撃の巨人').includes(pair))
  t.equal(shared.length, 1, '巨人 is in both')
  t.equal(wordsOf('용의 기사').length, 2)
})

t.test('texts of any size and form are parsed fast', onlyCost, async (t) => {
  for (const text of [
    '<'.repeat(1e6),
    'a'.repeat(1e6),
    '&'.repeat(1e6),
    '巨'.repeat(1e6),
    '\ud800'.repeat(1e6),
    'https://'.repeat(1e5),
    '\u0301'.repeat(1e6),
  ]) {
    const begun = threadCpuMs()
    t.ok(wordsOf(text, 1_500).length <= 1_500)
    t.ok(threadCpuMs() - begun < 500, JSON.stringify(text.slice(0, 4)))
  }
})
