import { FILTER_FIELDS } from '#core/catalog/filter-column-query.ts'
import { type Family, OPERATORS } from '#core/catalog/list-condition.ts'

/** The members beside an operator, by family. */
const VALUES: Record<Family, string> = {
  text: '`value`: a text, ignoring case and accents',
  word: '`value`: one of the words below',
  uuid: '`value`: an id, or `values`: a list of ids for `in` and `notIn`',
  bool: 'none',
  number: '`value`: a number, or `min`, `max` or both for `between`',
  date: '`value`: a day such as `2024-02-29` or a time such as `2024-02-29T12:00:00Z`, or `start`, `end` or both for `between`',
}

/** The fields and operators of conditions as Markdown, for docs/api.md; a test compares the two. */
export function renderConditionTables(): string {
  const families = Object.entries(OPERATORS).map(
    ([family, operators]) => `| ${family} | ${operators.map((name) => `\`${name}\``).join(', ')} | ${VALUES[family as Family]} |`,
  )
  const fieldsOf = (target: keyof typeof FILTER_FIELDS) =>
    Object.entries(FILTER_FIELDS[target]).map(([name, { family, words, needs }]) => {
      const remarks = [words && `${words.map((word) => `\`${word}\``).join(', ')}`, needs && `needs \`${needs}\``].filter(Boolean)
      return `| \`${name}\` | ${family} | ${remarks.join('; ')} |`
    })
  const tableOf = (target: keyof typeof FILTER_FIELDS) => ['| Field | Kind | |', '|---|---|---|', ...fieldsOf(target)].join('\n')
  return [
    ['| Kind | Operators | Members beside `operator` |', '|---|---|---|', ...families].join('\n'),
    'Fields of books:',
    tableOf('books'),
    'Fields of series:',
    tableOf('series'),
  ].join('\n\n')
}
