import { NAME_WORDS } from '#core/fields/name-words.ts'
import { filesOf, TREES, type Tree } from '#test/core/scan/layouts.table.ts'

const seriesOf = (expected: Readonly<Record<string, number>>) =>
  Object.entries(expected).map(([label, books]) => {
    const [path = '', name] = label.split('#')
    const what = name === undefined ? `\`${path}\`` : path === '' ? `"${name}"` : `"${name}" in \`${path}\``
    return `- ${what}: ${books === 1 ? '1 book' : `${books} books`}`
  })

const block = (title: string, tree: Tree, series: readonly string[]) =>
  [`### ${title}: ${tree.name}`, '', '```', ...filesOf(tree), '```', '', ...series, ''].join('\n')

/** The part of docs/libraries.md that follows from the table of trees. */
export function renderLayouts(): string {
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
