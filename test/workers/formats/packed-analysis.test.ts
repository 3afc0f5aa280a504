import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import type { Page } from '#core/fields/analysis.ts'
import { fakeAnalysis } from '#test/support/analyses.ts'
import { packAnalysis, unpackAnalysis } from '#workers/formats/packed-analysis.ts'

const pagesOf = (count: number): Page[] =>
  Array.from({ length: count }, (_, index) => ({ name: `é\n${index}`, mediaType: 'image/png', width: 1, height: null, bytes: index }))

t.test('an analysis is the same after its way between threads', async (t) => {
  for (const count of [0, 1, 500, 501, 3_000]) {
    const analysis = fakeAnalysis({ pages: pagesOf(count), cover: { jpeg: new Uint8Array(3), width: 1, height: 2, color: '#804020' } })
    t.same(await unpackAnalysis(packAnalysis(analysis)), analysis, `${count}`)
  }
})

t.test('many pages are no single piece of work for the server', async (t) => {
  const packed = packAnalysis(fakeAnalysis({ pages: pagesOf(50_000) }))
  t.same(packed.pages, [], 'nothing is copied page by page')
  let turns = 0
  let ended = false
  const reading = unpackAnalysis(packed).finally(() => {
    ended = true
  })
  for (; !ended; turns++) await nextTurn()
  t.equal((await reading).pages.length, 50_000)
  t.ok(turns >= 49, 'others have a turn after each thousand')
})
