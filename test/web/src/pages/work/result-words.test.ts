import t from 'tap'

// Texts look at the address of the page for the pseudo language. By address, because types of browsers are not among those of tests.
Object.assign(globalThis, { location: { search: '' } })
const { resultWords } = await import(new URL('../../../../../web/src/pages/work/result-words.ts', import.meta.url).href)

t.test('a completed task says what it did and what it left out', async (t) => {
  const done = (result: unknown) => resultWords({ status: 'completed', result })
  t.same(done({ processed: 20, changed: 12, skipped: 3 }), ['20 looked at', '12 changed', '3 left as they are'])
  t.same(done({ moved: 0 }), [], 'nothing happened')
  t.same(done({ skipped: { locked: 2 } }), [], 'what is no number')
  t.same(done({ skipped: true }), [])
  t.same(done(null), [])
  t.same(resultWords({ status: 'processing', result: { changed: 1 } }), [])
})
