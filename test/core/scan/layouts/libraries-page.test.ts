import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { NAME_WORDS } from '#core/fields/name-words.ts'
import { filesOf, TREES, type Tree } from '../layouts.table.ts'

const page = fileURLToPath(new URL('../../../../docs/libraries.md', import.meta.url))

const seriesOf = (expected: Readonly<Record<string, number>>) =>
  Object.entries(expected).map(([label, books]) => {
    const [path = '', name] = label.split('#')
    const what = name === undefined ? `\`${path}\`` : path === '' ? `"${name}"` : `"${name}" in \`${path}\``
    return `- ${what}: ${books === 1 ? '1 book' : `${books} books`}`
  })

const block = (title: string, tree: Tree, series: readonly string[]) =>
  [`### ${title}: ${tree.name}`, '', '```', ...filesOf(tree), '```', '', ...series, ''].join('\n')

function render(): string {
  const rules = TREES.flatMap((tree) => (tree.shows ? block(`\`auto\`, ${tree.shows}`, tree, seriesOf(tree.auto)) : []))
  const strategies = TREES.flatMap((tree) => {
    if (!tree.own.isShown) return []
    const config = tree.own.config ? ['With `seriesConfig`:', '', '```json', JSON.stringify(tree.own.config, null, 2), '```', ''] : []
    return block(`\`${tree.own.strategy}\``, tree, [...config, ...seriesOf(tree.own.series)])
  })
  const words = NAME_WORDS.map(({ language, before, behind, oneshot, side, edition }) => {
    const markers = [...Object.values(before ?? {}).flat(), ...Object.values(behind ?? {}).flat()]
    return `| ${[language, ...[markers, edition, side, oneshot].map((list) => [...new Set(list ?? [])].join(', '))].join(' | ')} |`
  })
  return [
    '## Examples',
    '',
    ...rules,
    ...strategies,
    '## Words in names of folders',
    '',
    'Markers stand before or behind a number; `v`, `t`, `c` and `s` are markers too. `seriesConfig.words` adds more.',
    '',
    '| Language | Markers | Editions | Side folders | One-shots |',
    '|---|---|---|---|---|',
    ...words,
    '',
  ].join('\n')
}

t.test('the page of libraries shows each rule and each strategy as the table of trees has them', async (t) => {
  const text = readFileSync(page, 'utf8')
  const rendered = text.replace(/<!-- layouts -->[\s\S]*<!-- \/layouts -->/, () => `<!-- layouts -->\n\n${render()}\n<!-- /layouts -->`)
  // Run with LAYOUTS_PAGE=write to renew the page.
  if (process.env['LAYOUTS_PAGE'] === 'write') writeFileSync(page, rendered)
  t.equal(readFileSync(page, 'utf8'), rendered)
  for (const rule of ['calibre', 'oneshots', 'part', 'side', 'bundle', 'folder', 'author'])
    t.ok(
      TREES.some(({ shows }) => shows === rule),
      rule,
    )
})
