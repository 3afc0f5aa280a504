import t from 'tap'
import { readResult } from '#plugins/host/results.ts'

const RESULT = { externalId: '1', title: 'Dune' }
const SEARCH = 'metadata.series.search'
const GET = 'metadata.series.get'
const MATCH = 'metadata.series.match'

t.test('an invalid answer is refused with the member, what it must be, and what it is', (t) => {
  const refusals: [method: string, answer: unknown, wrong: string][] = [
    [SEARCH, { results: 'Dune' }, '/results: must be a list of at most 100, each of them an object with externalId, title'],
    [SEARCH, { results: [RESULT, { ...RESULT, externalId: 5 }] }, '/results/1/externalId: must be a text of 1 to 200 characters'],
    [SEARCH, { results: [RESULT], nextCursor: 2 }, '/nextCursor: must be a text of at most 1000 characters, or null; it is 2.'],
    [SEARCH, { results: [{ externalID: '1', title: 'Dune' }] }, '/results/0: it has no externalId; "externalID" may be a misspelling.'],
    [MATCH, { match: RESULT, confidence: '0.9' }, '/confidence: must be a number from 0 to 1; it is "0.9".'],
    [MATCH, { match: [RESULT], confidence: 1 }, '/match: must be an object with externalId, title'],
    [GET, { externalId: '1', status: 'finished' }, '/status: "finished" is not allowed; it must be one of '],
    [GET, { externalId: '1', rating: 80 }, '/rating: must be an object with score, and perhaps voteCount, or null; it is 80.'],
    [GET, { externalId: '1', genres: [{ name: 'a' }] }, '/genres/0: must be a text of at most 200 characters; it is {"name":"a"}.'],
    [GET, { externalId: '1', externalIds: { anilist: 7 } }, '/externalIds/anilist: must be a text of at most 200 characters; it is 7.'],
    [GET, { externalId: '1', title: { text: 'x'.repeat(500) } }, `or null; it is {"text":"${'x'.repeat(51)}…`],
    [GET, { externalId: 'a\u0001' }, '; it is "a\\u0001".'],
    [GET, { externalId: '1', title: ['\u202e'] }, '; it is ["\\u202e"].'],
  ]
  for (const [method, answer, wrong] of refusals) {
    const message = refusalOf(method, answer)
    t.ok(message.startsWith(`The plugin's ${method} returned an invalid answer: `) && message.includes(wrong), `${wrong} ${message}`)
  }
  t.end()
})

t.test('unknown members are dropped everywhere, also beside a number that is rounded', (t) => {
  const result = { ...RESULT, year: 1999.5, shelf: { a: 1 } }
  t.same(readResult(MATCH, JSON.stringify({ match: result, confidence: 1, more: [] })), { match: { ...RESULT, year: 2000 }, confidence: 1 })
  t.same(readResult(SEARCH, JSON.stringify({ results: [result] })), { results: [{ ...RESULT, year: 2000 }] })
  t.same(readResult(GET, `{"externalId":"1","__proto__":{"a":1},"deep":${'['.repeat(5_000)}${']'.repeat(5_000)}}`), { externalId: '1' })
  t.end()
})

function refusalOf(method: string, answer: unknown): string {
  try {
    readResult(method, JSON.stringify(answer))
    return 'not refused'
  } catch (error) {
    return (error as Error).message
  }
}
