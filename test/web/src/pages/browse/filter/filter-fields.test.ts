import { readFileSync } from 'node:fs'
import t from 'tap'
import { FILTER_FIELDS as SERVER_FIELDS } from '#core/catalog/filter-column-query.ts'
import { OPERATORS as SERVER_OPERATORS } from '#core/catalog/list-condition.ts'
import { FILTER_FIELDS, OPERATORS } from '../../../../../../web/src/pages/browse/filter/filter-fields.ts'

// Not imported: the catalogue reads the address of a page.
const texts = readFileSync(new URL('../../../../../../web/src/texts/filter.ts', import.meta.url), 'utf8')

const FAMILIES = { text: 'text', words: 'text', word: 'word', id: 'uuid', flag: 'bool', number: 'number', date: 'date' } as const

t.test('the builder knows every field of the API, with its family, its words and the permission that it needs', (t) => {
  for (const kind of ['series', 'books'] as const) {
    t.same(Object.keys(FILTER_FIELDS[kind]).sort(), Object.keys(SERVER_FIELDS[kind]).sort())
    for (const [name, field] of Object.entries(FILTER_FIELDS[kind])) {
      const server = SERVER_FIELDS[kind][name]
      t.equal(server?.family, FAMILIES[field.family], `${kind}: ${name}`)
      t.same(field.words, server?.words && [...server.words], `${kind}: words of ${name}`)
      t.equal(field.needs, server?.needs, `${kind}: ${name} needs`)
      t.ok(texts.includes(`\n  ${name}: '`), `${name} has a name`)
    }
  }
  t.end()
})

t.test('the builder offers the operators of the API; sets of ids are several values', (t) => {
  for (const [family, operators] of Object.entries(OPERATORS)) {
    const known: readonly string[] = SERVER_OPERATORS[FAMILIES[family as keyof typeof FAMILIES]]
    for (const operator of operators) {
      t.ok(known.includes(operator), `${family}: ${operator}`)
      t.ok(texts.includes(`\n  ${operator}: '`), `${operator} has a name`)
    }
  }
  t.same(SERVER_OPERATORS.text.length, OPERATORS.text.length)
  t.same(SERVER_OPERATORS.number.length, OPERATORS.number.length)
  t.same(SERVER_OPERATORS.date.length, OPERATORS.date.length)
  t.end()
})
