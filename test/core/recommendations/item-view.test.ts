import t from 'tap'
import { OWN_SOURCE } from '#core/fields/source-key.ts'
import type { Recommendation } from '#core/matching/provider-answers.ts'
import { externalKey } from '#core/recommendations/external-series-query.ts'
import { externalSeriesOf, KEPT_MAX, keptItems, recommendationViews, SHOWN_MAX, visibleCount } from '#core/recommendations/item-view.ts'
import { readResult } from '#plugins/host/results.ts'

const item = (externalId: string, score: number, more: Partial<Recommendation> = {}): Recommendation => ({
  externalId,
  title: externalId,
  score,
  reason: 'r',
  ...more,
})
const nothing = {
  idSource: 'taste',
  dismissed: new Set<string>(),
  visible: new Set<string>(),
  known: new Map<string, string>(),
  seesAll: true,
  count: SHOWN_MAX,
}
const idsOf = (items: readonly { externalId: string }[]) => items.map(({ externalId }) => externalId)

t.test('the best item for each identifier is stored', async (t) => {
  t.same(idsOf(keptItems([item('a', 0.1), item('b', 0.9), item('c', 0.9), item('a', 0.5)])), ['b', 'c', 'a'])
  t.equal(keptItems([item('a', 0.1), item('a', 0.5)])[0]?.score, 0.5)
  t.same(
    idsOf(
      keptItems([
        item('good', 1),
        item('\ud800', 1),
        item('b', 1, { coverUrl: 'https://x/\0' }),
        item('c', 1, { externalIds: { '\0': '' } }),
      ]),
    ),
    ['good'],
    'what no column holds is not kept',
  )
  t.equal(keptItems(Array.from({ length: 500 }, (_, at) => item(String(at), 0.5))).length, KEPT_MAX)
})

t.test('a list is shown without dismissed and hidden items', async (t) => {
  const items = [item('a', 1), item('b', 0.9), item('c', 0.8), item('d', 0.7)]
  t.same(idsOf(recommendationViews(items, { ...nothing, dismissed: new Set(['b']), count: 2 })), ['a', 'c'], 'others move up')
  const known = new Map([
    [externalKey({ source: 'plugin:taste', externalId: 'a' }), 'series 1'],
    [externalKey({ source: 'taste', externalId: 'c' }), 'series 1'],
  ])
  const shown = recommendationViews(items, { ...nothing, known })
  t.same(idsOf(shown), ['a', 'b', 'd'], 'a series is listed once')
  t.match(shown, [{ serviceSeriesId: 'series 1', inService: true }, { inService: false }])
  t.notOk('serviceSeriesId' in (shown[1] ?? {}))
  const own = recommendationViews(items, { ...nothing, idSource: OWN_SOURCE, visible: new Set(['c']), known })
  t.match(own, [{ externalId: 'c', serviceSeriesId: 'c', inService: true }])
  t.equal(own.length, 1, 'of this library only visible series')
})

t.test('items of plugins become the documented shape', async (t) => {
  const [odd] = recommendationViews(
    [
      item('a', 1, {
        ...{ coverUrl: 'https://example.org/a"b c', externalUrl: 'https://' },
        ...{ rating: 50.5, popularity: 1e12, totalChapterCount: 10.5, status: null, summary: null },
        tags: [{ name: 'x', category: '', rank: -1 }, { name: 'y', category: null, rank: 33.3 }, { name: 'z' }],
        basedOn: Array.from({ length: 90 }, String),
      }),
    ],
    nothing,
  )
  t.match(odd, { rating: 51, popularity: 2_147_483_647, totalChapterCount: 10.5, inLibrary: false })
  t.same(odd?.tags, [
    { category: 'tag', name: 'x', rank: 0 },
    { category: 'tag', name: 'y', rank: 33 },
    { category: 'tag', name: 'z', rank: 100 },
  ])
  t.equal(odd?.basedOn.length, 50)
  t.equal(odd?.coverUrl, 'https://example.org/a%22b%20c')
  t.notOk('externalUrl' in (odd ?? {}))
  t.notOk('status' in (odd ?? {}) || 'summary' in (odd ?? {}))
})

t.test('the identifiers by which an item is looked up', async (t) => {
  const given = { recommendations: [{ ...item('7', 1), externalIds: { taste: '8', 'plugin:taste': '8', other: '9', 'a\nb': 'c' } }] }
  const read = (readResult('recommendations.refresh', JSON.stringify(given)) as { recommendations: Recommendation[] }).recommendations
  t.same(externalSeriesOf(read[0] as Recommendation, 'taste'), [
    { source: 'taste', externalId: '7' },
    { source: 'other', externalId: '9' },
  ])
})

t.test('how many items a user wants', async (t) => {
  t.same(
    [{}, { maxRecommendations: 7.9 }, { maxRecommendations: 0 }, { maxRecommendations: 900 }, { maxRecommendations: '3' }].map(
      visibleCount,
    ),
    [...[SHOWN_MAX, 7, SHOWN_MAX, SHOWN_MAX, SHOWN_MAX]],
  )
})

t.test('what a plugin says about the library counts only for callers who see all of it, and for series that they see', async (t) => {
  const items = [item('a', 0.9, { inLibrary: true }), item('b', 0.8, { inLibrary: true }), item('c', 0.7)]
  const known = new Map([[externalKey({ source: 'taste', externalId: 'a' }), 'series']])
  const told = (seesAll: boolean) => recommendationViews(items, { ...nothing, known, seesAll }).map(({ inLibrary }) => inLibrary)
  t.same(told(true), [true, true, false])
  t.same(told(false), [true, false, false])
})
