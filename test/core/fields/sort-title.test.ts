import fc from 'fast-check'
import t from 'tap'
import type { MetadataRecord } from '#core/fields/field.ts'
import { sortTitleOf, withSortTitle } from '#core/fields/sort-title.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.test('titles and their sort titles', async (t) => {
  const table: [title: string, language: string | null, sorted: string | null][] = [
    ['The Sandman', null, 'Sandman, The'],
    ['the sandman', 'en-GB', 'sandman, the'],
    ['A', 'en', null],
    ['A.D. 2000', 'en', null],
    ['An Archdemon’s Dilemma', 'en', 'Archdemon’s Dilemma, An'],
    ['Theory of Everything', 'en', null],
    ['The', 'en', null],
    ['The …', 'en', null],
    ['Saga', null, null],
    ['Die Hard', 'en', null],
    ['Die Känguru-Chroniken', 'de', 'Känguru-Chroniken, Die'],
    ['Die Känguru-Chroniken', 'ger', 'Känguru-Chroniken, Die'],
    ["L'Incal", 'fr', "Incal, L'"],
    ['L’Incal', 'fr-FR', 'Incal, L’'],
    ['Les Cités obscures', 'fr', 'Cités obscures, Les'],
    ['El Eternauta', 'es', 'Eternauta, El'],
    ['De avonturen van Nero', 'nl', 'avonturen van Nero, De'],
    ['…And Justice for All', 'en', 'And Justice for All'],
    ['"The Quoted"', 'en', 'Quoted", The'],
    ['#1 Hit', 'en', '1 Hit'],
    ['’Salem’s Lot', 'en', 'Salem’s Lot'],
    ["'The Boys'", 'en', "Boys', The"],
    ["'t Was Zondag", 'nl', "Was Zondag, 't"],
    ["'…'", 'en', null],
    ['¿Quién?', 'es', 'Quién?'],
    ['100 Bullets', 'en', null],
    ['A 100 Bullets', 'en', '100 Bullets, A'],
    ['Une vie', 'fra', 'vie, Une'],
    ['Un’altra vita', 'it', 'altra vita, Un’'],
    ['Los Surcos', 'es-MX', 'Surcos, Los'],
    ['Het gouden ei', 'dut', 'gouden ei, Het'],
    [`The ${'x'.repeat(496)}`, 'en', 'x'.repeat(496)],
    ['!!!', 'en', null],
    ['', 'en', null],
    ['進撃の巨人', 'ja', null],
    ['The 進撃', 'ja', null],
    ['The Boys', 'xx', null],
  ]
  for (const [title, language, sorted] of table) t.equal(sortTitleOf(title, language), sorted, `${title} (${language})`)
})

t.test('a sort title loses only signs before the first letter', async () => {
  const language = fc.constantFrom('en', 'de', 'fr', 'it', 'hu', null)
  const letters = (text: string) => [...text.replace(/[^\p{L}\p{N}]/gu, '')].sort().join('')
  assertInTime(
    fc.property(fc.string({ unit: 'grapheme' }), fc.constantFrom('', 'The ', 'a ', "L'", 'Die '), language, (rest, article, code) => {
      const title = article + rest
      const sorted = sortTitleOf(title, code)
      return sorted === null || (sorted !== '' && letters(sorted) === letters(title))
    }),
  )
})

t.test('a sort title follows the title until a source gives another one', async (t) => {
  const record = (more: Partial<MetadataRecord>): MetadataRecord => ({
    values: { title: 'The Boys' },
    sources: {},
    locks: new Set(),
    ...more,
  })
  t.equal(withSortTitle(record({})).values.titleSort, 'Boys, The')
  t.equal(
    withSortTitle(record({ values: { title: 'Saga', titleSort: 'Boys, The' }, sources: { titleSort: 'file_name' } })).values.titleSort,
    undefined,
  )
  for (const source of ['user', 'plugin', 'embedded'] as const) {
    const own = record({ values: { title: 'The Boys', titleSort: 'Own' }, sources: { titleSort: source } })
    t.same(withSortTitle(own), own, source)
  }
  const locked = record({ locks: new Set(['titleSort']) })
  t.same(withSortTitle(locked), locked, 'a lock on a missing sort title keeps it missing')
  t.equal(withSortTitle(record({ values: { title: 'Die Zeit', language: 'de' } })).values.titleSort, 'Zeit, Die')
})
