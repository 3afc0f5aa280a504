import t from 'tap'
import { FileResults } from './file-results.ts'

const [A, B, C] = ['test/a.test.ts', 'test/b.test.ts', 'test/c.test.ts'] as const
const FILES = [A, B, C]

/** @param said names of tests; failed ones begin with "not " */
function failedOf(said: readonly string[], hasFailed = true): string[] {
  const results = new FileResults(FILES)
  for (const name of said) results.note(name.replace('not ', ''), !name.startsWith('not '))
  return results.listFailed(hasFailed)
}

t.test('a failed test belongs to the file whose name came last', async (t) => {
  t.same(failedOf([A, 'one', 'not two', B, 'one', C, 'not one', 'not two']), [A, C])
  t.same(failedOf([A, B, `not ${C}`]), [C], 'it cannot be loaded')
  t.same(failedOf([...FILES, 'one'], false), [])
})

t.test('the file in which a process broke off failed, and those behind it never ran', async (t) => {
  t.same(failedOf([A, 'one', B, 'one']), [B, C])
  t.same(failedOf([A, 'not one', B]), FILES)
  t.same(failedOf([]), FILES)
  t.same(failedOf([...FILES, 'one']), [C], 'an error after the last test')
})
