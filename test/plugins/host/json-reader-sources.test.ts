import t from 'tap'
import { JsonReader } from '#plugins/host/json-reader.ts'
import { readSourceMap } from '#plugins/packages/source-map.ts'
import { onlyFull } from '#test/support/lane-size.ts'

t.setTimeout(60_000)

t.test('lookups of lines delay other answers by at most one lookup', onlyFull, async (t) => {
  const reader = new JsonReader()
  t.teardown(() => reader.close())
  const read = readSourceMap(JSON.stringify({ version: 3, sources: ['src/main.ts'], mappings: 'AAAA,'.repeat(400_000) }))
  const map = JSON.stringify('map' in read ? read.map : null)
  const results = Array.from({ length: 20 }, (_, index) => ({ externalId: String(index), title: 'x'.repeat(5_000) }))
  // Starts the thread, for which a busy machine may need the time of the first lookup.
  await reader.readResult('metadata.book.search', JSON.stringify({ results }))
  const found = Promise.all(
    Array.from({ length: 200 }, (_, index) => reader.findSource(map, { places: [{ line: 1, column: index + 1 }], shares: [] })),
  )
  const before = performance.now()
  t.match(await reader.readResult('metadata.book.search', JSON.stringify({ results })), { results: [{ externalId: '0' }] })
  t.ok(performance.now() - before < 20_000, `the answer took ${Math.round(performance.now() - before)} ms`)
  const places = (await found).map(({ source }) => source)
  t.ok(places.includes('src/main.ts:1:1'))
  t.ok(places.includes('main.js:1:200'), 'a call that waits too long gets the place in the bundle')
})

t.test('a map with more lines than any bundle is not parsed', (t) => {
  const of = (mappings: string) => readSourceMap(JSON.stringify({ version: 3, sources: ['src/main.ts'], mappings }))
  t.match(of(';'.repeat(199_999)), { map: { sources: ['src/main.ts'] } })
  t.match(of(';'.repeat(200_000)), { wrong: /more than 200000 lines/ })
  t.end()
})
