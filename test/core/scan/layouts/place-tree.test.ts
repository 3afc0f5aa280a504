import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import type { BookPlace, SeriesPlace } from '#core/scan/layouts/place-book.ts'
import { layoutOf, patternsOf } from '#core/scan/layouts/series-config.ts'
import { filesOf, TREES, type Tree } from '#test/core/scan/layouts.table.ts'
import { renderLayouts } from '#test/support/layouts-page.ts'
import { placeTree } from '#test/support/place-tree.ts'

const page = fileURLToPath(new URL('../../../../docs/libraries.md', import.meta.url))

const labelOf = ({ path, nameKey, title }: SeriesPlace) => (nameKey === '' ? path : `${path}#${title}`).normalize('NFC')
const countBySeries = (places: ReadonlyMap<string, BookPlace>) =>
  Object.fromEntries([...Map.groupBy(places.values(), ({ series }) => labelOf(series))].map(([label, books]) => [label, books.length]))
const inNfc = (expected: Readonly<Record<string, number>>) => {
  const sums: Record<string, number> = {}
  for (const [label, count] of Object.entries(expected)) sums[label.normalize('NFC')] = (sums[label.normalize('NFC')] ?? 0) + count
  return sums
}

function place(tree: Tree, strategy: string, config: object = {}) {
  const layout = layoutOf(strategy, config)
  const patterns = patternsOf(layout)
  const named = Object.entries(tree.named ?? {})
  const known = (path: string) => ({ named: named.find(([begin]) => path.startsWith(begin))?.[1] ?? null, writers: tree.writers ?? [] })
  const groupsOf = (path: string) => {
    const text = patterns?.of === 'name' ? path.slice(path.lastIndexOf('/') + 1) : path
    for (const pattern of patterns?.patterns ?? []) {
      const match = new RegExp(pattern.replaceAll('(?P<', '(?<')).exec(text)
      if (match) return { ...match.groups }
    }
    return null
  }
  return placeTree(layout, filesOf(tree), { ...((tree.named || tree.writers) && { known }), ...(patterns && { groupsOf }) })
}

t.ok(TREES.length >= 60, `${TREES.length} trees`)
for (const tree of TREES) {
  t.test(tree.name, async (t) => {
    const auto = place(tree, 'auto')
    t.same(countBySeries(auto), inNfc(tree.auto), 'auto')
    const { strategy, config, series } = tree.own
    t.same(countBySeries(place(tree, strategy, config)), inNfc(series), strategy)
    for (const [path, values] of Object.entries(tree.values ?? {})) t.same(auto.get(path)?.values, values, path)
    if (tree.side !== undefined) t.equal([...auto.values()].filter(({ isSide }) => isSide).length, tree.side, 'beside the numbered ones')
    for (const [path, publisher] of Object.entries(tree.publishers ?? {}))
      t.equal([...auto.values()].find(({ series }) => series.path === path)?.series.publisher, publisher)
  })
}

t.test('random trees: each book in one series, and one result whatever the order', async (t) => {
  const name = fc.constantFrom(
    'Saga',
    'Vol 1',
    'v02',
    'Specials',
    'One Shots',
    '2019',
    'Batman (2011)',
    'Batman (2016)',
    'Emma (7)',
    'Annuals',
    '第1巻',
  )
  const file = fc.constantFrom(
    'Saga 01.cbz',
    'Saga 02.cbz',
    'Batman 001.cbz',
    'Batman 002.cbz',
    'x.epub',
    'metadata.opf',
    'metadata.db',
    'v03.cbz',
  )
  const path = fc.tuple(fc.array(name, { maxLength: 4 }), file).map(([folders, last]) => [...folders, last].join('/'))
  const trees = fc.array(path, { maxLength: 30 })
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(trees, fc.constantFrom('auto', 'flat', 'calibre', 'series_volume_chapter', 'publisher_hierarchy'), (paths, strategy) => {
        const places = placeTree(layoutOf(strategy, null), paths)
        const books = new Set(paths.filter((one) => /\.(cbz|epub)$/.test(one)))
        const again = placeTree(layoutOf(strategy, null), paths.toReversed())
        return (
          places.size === books.size &&
          [...places].every(([one, { series }]) => JSON.stringify(series) === JSON.stringify(again.get(one)?.series) && series.title !== '')
        )
      }),
      { numRuns: 300 },
    ),
  )
})

t.test('the page of libraries shows each rule and each strategy as the table of trees has them', async (t) => {
  const text = readFileSync(page, 'utf8')
  const rendered = text.replace(
    /<!-- layouts -->[\s\S]*<!-- \/layouts -->/,
    () => `<!-- layouts -->\n\n${renderLayouts()}\n<!-- /layouts -->`,
  )
  // Run with LAYOUTS_PAGE=write to renew the page.
  if (process.env['LAYOUTS_PAGE'] === 'write') writeFileSync(page, rendered)
  t.equal(readFileSync(page, 'utf8'), rendered)
  for (const rule of ['calibre', 'oneshots', 'part', 'side', 'bundle', 'folder', 'author'])
    t.ok(
      TREES.some(({ shows }) => shows === rule),
      rule,
    )
})
