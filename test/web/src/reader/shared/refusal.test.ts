import t from 'tap'

// Texts look at the address of the page for the pseudo language. By address, because types of browsers are not among those of tests.
Object.assign(globalThis, { location: { search: '' } })
const load = (file: string) => import(new URL(`../../../../../web/src/${file}`, import.meta.url).href)
const { Problem } = await load('api/problem.ts')
const { answerOfRefusal } = await load('reader/shared/refusal.ts')

t.test('a refusal is a conflict where it names another place, comes later where it passes, and else says why', async (t) => {
  const problem = (status: number, details: unknown = null) => new Problem(`status ${status}`, { status, details })
  const read = (details: unknown) => (details === 'elsewhere' ? 'place' : null)
  t.same(answerOfRefusal(problem(409, 'elsewhere'), read), { kind: 'conflict', elsewhere: 'place' })
  t.same(answerOfRefusal(problem(409), read), { kind: 'refused', sentence: 'status 409' })
  for (const status of [0, 401, 429, 503]) t.same(answerOfRefusal(problem(status), read), { kind: 'later' }, `${status}`)
  for (const status of [403, 404, 422]) t.match(answerOfRefusal(problem(status), read), { kind: 'refused' }, `${status}`)
  t.throws(() => answerOfRefusal(new TypeError('no answer of a server'), read), TypeError)
})
