import fc from 'fast-check'
import t from 'tap'
import { compileCondition } from '#core/conditions/condition.ts'
import type { Context } from '#core/conditions/context.ts'
import { RULE_DEPTH_MAX, RULE_OPERATORS, RULES_MAX } from '#core/conditions/operators.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const context = {
  type: 'book',
  bookId: 'b',
  pageCount: 120,
  customMetadata: { snake_case: 'kept', 'dotted.name': { 'deep.er': 5 }, list: [{ a: 1 }, { a: 2 }] },
  externalIds: {
    'plugin:anilist': { id: '4711', url: 'https://anilist.co/4711', hash: null },
    'plugin:org.example.ids': { id: 'X', url: null, hash: null },
  },
  metadata: {
    title: 'Die Straße',
    titleSort: null,
    summary: '',
    year: 1999,
    manga: false,
    genres: ['Drama', 'Science Fiction'],
    tags: [],
    authors: [
      { name: 'Ann Writer', role: 'writer' },
      { name: 'Bo Inker', role: 'inker' },
    ],
    totalPages: 0,
  },
  series: { type: 'series', bookCount: 3, externalIds: {}, metadata: { title: 'Home', totalVolumeCount: 12, status: 'ended' } },
} as unknown as Context

const passes = (field: string, operator: string, value?: unknown) =>
  compileCondition({ mode: 'all', rules: [{ field, operator, ...(value !== undefined && { value }) }] }).passes(context)

t.test('every operator on every kind of value', async (t) => {
  const table: [field: string, operator: string, value: unknown, passes: boolean][] = [
    ['metadata.title', 'equals', 'die straße', true],
    ['metadata.title', 'equals', 'Die', false],
    ['metadata.title', 'not_equals', 'Die', true],
    ['metadata.year', 'equals', 1999, true],
    ['metadata.year', 'equals', '1999', true],
    ['metadata.manga', 'equals', false, true],
    ['metadata.manga', 'equals', 'false', true],
    ['metadata.titleSort', 'equals', null, true],
    ['metadata.year', 'equals', null, false],
    ['metadata.genres', 'equals', ['science fiction', 'drama'], true],
    ['metadata.genres', 'equals', ['drama'], false],
    ['metadata.genres', 'equals', 'Drama', false],
    ['metadata.titleSort', 'is_null', undefined, true],
    ['metadata.summary', 'is_null', undefined, true],
    ['metadata.tags', 'is_null', undefined, true],
    ['metadata.nothing.at.all', 'is_null', undefined, true],
    ['metadata.totalPages', 'is_null', undefined, false],
    ['metadata.manga', 'is_not_null', undefined, true],
    ['metadata.year', 'gt', 1998, true],
    ['metadata.year', 'gt', '1999', false],
    ['metadata.year', 'gte', '1999', true],
    ['metadata.year', 'lt', 2000, true],
    ['metadata.year', 'lte', 1998, false],
    ['metadata.titleSort', 'lt', 5, false],
    ['metadata.title', 'gt', 5, false],
    ['metadata.title', 'gt', 'a', true],
    ['metadata.title', 'contains', 'STRAßE', true],
    ['metadata.genres', 'contains', 'drama', true],
    ['metadata.genres', 'contains', 'dram', false],
    ['metadata.genres', 'not_contains', 'dram', true],
    ['metadata.authors', 'contains', 'ann writer', true],
    ['metadata.titleSort', 'contains', 'x', false],
    ['metadata.titleSort', 'not_contains', 'x', true],
    ['metadata.title', 'starts_with', 'die', true],
    ['metadata.title', 'ends_with', 'die', false],
    ['metadata.genres', 'starts_with', 'sci', true],
    ['metadata.title', 'matches', '^Die\\s', true],
    ['metadata.title', 'matches', '^die\\s', false],
    ['metadata.title', 'matches', '(?i)^die\\s', true],
    ['metadata.year', 'matches', '^19', true],
    ['metadata.genres', 'matches', 'Fic', true],
    ['metadata.titleSort', 'matches', '.*', false],
    ['series.metadata.status', 'in', ['ended', 'hiatus'], true],
    ['series.metadata.status', 'in', ['ongoing'], false],
    ['series.metadata.status', 'not_in', ['ongoing'], true],
    ['metadata.genres', 'in', ['horror', 'drama'], true],
    ['metadata.year', 'in', ['1999'], true],
    ['metadata.titleSort', 'not_in', ['x'], true],
  ]
  for (const [field, operator, value, expected] of table)
    t.equal(passes(field, operator, value), expected, `${field} ${operator} ${JSON.stringify(value)}`)
  t.same([...new Set(table.map(([, operator]) => operator))].toSorted(), [...RULE_OPERATORS].toSorted(), 'all of them')
  t.equal(RULE_OPERATORS.length, 15)
})

t.test('paths of rules name members, entries and lengths', async (t) => {
  const table: [field: string, value: unknown][] = [
    ['pageCount', 120],
    ['page_count', 120],
    ['metadata.title_sort', null],
    ['series.book_count', 3],
    ['externalIds.count', 2],
    ['external_ids.count', 2],
    ['series.externalIds.count', 0],
    ['externalIds.plugin:anilist', '4711'],
    ['externalIds.plugin:anilist.id', '4711'],
    ['externalIds.plugin:anilist.url', 'https://anilist.co/4711'],
    ['externalIds.anilist', '4711'],
    ['externalIds.anilist.url', 'https://anilist.co/4711'],
    ['externalIds.org.example.ids.id', 'X'],
    ['externalIds.toString', null],
    ['externalIds.plugin:org.example.ids', 'X'],
    ['customMetadata.snake_case', 'kept'],
    ['custom_metadata.snake_case', 'kept'],
    ['customMetadata.snakeCase', null],
    ['customMetadata.dotted.name.deep.er', 5],
    ['metadata.authors.name', ['Ann Writer', 'Bo Inker']],
    ['metadata.authors.1.name', 'Bo Inker'],
    ['metadata.genres.0', 'Drama'],
    ['customMetadata.list.a', [1, 2]],
    ['metadata.title.length', null],
    ['constructor.name', null],
    ['__proto__', null],
    ['metadata.genres.push', []],
  ]
  for (const [field, value] of table) {
    const { rules } = compileCondition({ rules: [{ field, operator: 'is_null' }] }).explain(context)
    t.match(rules, [{ field, actual: value }], field)
  }
})

t.test('groups, and their explanations', async (t) => {
  const good = { field: 'metadata.year', operator: 'equals', value: 1999 }
  const bad = { field: 'metadata.title', operator: 'equals', value: 'x' }
  const of = (condition: unknown) => compileCondition(condition).explain(context)
  t.match(of({ mode: 'all', rules: [good, bad] }), {
    passed: false,
    rules: [
      { passed: true, actual: 1999 },
      { passed: false, actual: 'Die Straße', value: 'x' },
    ],
  })
  t.match(
    of({ mode: 'any', rules: [good, bad] }),
    { passed: true, rules: [{ passed: true }, { passed: false }] },
    'every rule is evaluated',
  )
  t.match(of({ mode: 'all', rules: [good, { mode: 'any', rules: [bad, { rules: [good] }] }] }), {
    passed: true,
    rules: [{ passed: true }, { mode: 'any', passed: true, rules: [{ passed: false }, { mode: 'all', passed: true }] }],
  })
  for (const empty of [{}, { mode: 'any' }, { mode: 'all', rules: [] }]) t.same(of(empty), { passed: true, rules: [] })
})

t.test('an error is reported with its path', async (t) => {
  const rule = { field: 'a', operator: 'equals', value: 1 }
  let deep: unknown = rule
  for (let depth = 0; depth < RULE_DEPTH_MAX; depth++) deep = { rules: [deep] }
  const table: [condition: unknown, path: string][] = [
    [null, ''],
    [[], ''],
    ['x', ''],
    [{ mode: 'none' }, '/mode'],
    [{ rules: {} }, '/rules'],
    [{ conditions: [] }, '/conditions'],
    [{ rules: [rule, { field: '', operator: 'equals', value: 1 }] }, '/rules/1/field'],
    [{ rules: [{ operator: 'equals', value: 1 }] }, '/rules/0/field'],
    [{ rules: [{ field: 'a', operator: 'is', value: 1 }] }, '/rules/0/operator'],
    [{ rules: [{ field: 'a', operator: 'equals' }] }, '/rules/0/value'],
    [{ rules: [{ field: 'a', operator: 'is_null', value: 1 }] }, '/rules/0/value'],
    [{ rules: [{ field: 'a', operator: 'in', value: 'x' }] }, '/rules/0/value'],
    [{ rules: [{ field: 'a', operator: 'gt', value: [1] }] }, '/rules/0/value'],
    [{ rules: [{ field: 'a', operator: 'equals', value: {} }] }, '/rules/0/value'],
    [{ rules: [{ field: 'a', operator: 'matches', value: '(' }] }, '/rules/0/value'],
    [{ rules: [{ field: 'a', operator: 'matches', value: '(?=x)' }] }, '/rules/0/value'],
    [{ rules: [{ field: 'a', operator: 'matches', value: 5 }] }, '/rules/0/value'],
    [{ rules: [{ field: 'a', operator: 'equals', value: 'x'.repeat(1_001) }] }, '/rules/0/value'],
    [{ rules: [{ ...rule, extra: 1 }] }, '/rules/0/extra'],
    [{ rules: Array.from({ length: RULES_MAX + 1 }, () => rule) }, `/rules/${RULES_MAX}`],
    [{ rules: [deep] }, '/rules/0/rules/0/rules/0/rules/0/rules/0/rules/0/rules/0/rules/0/rules/0/rules/0'],
  ]
  for (const [condition, path] of table)
    t.throws(
      () => compileCondition(condition, '/condition'),
      { code: 'invalid_value', details: [{ path: `/condition${path}` }] },
      JSON.stringify(condition)?.slice(0, 80),
    )
})

t.test('patterns are linear in time', onlyCost, async (t) => {
  const long = { metadata: { summary: 'a'.repeat(19_000) + 'b' } } as unknown as Context
  for (const pattern of ['^(a+)+$', '(a|aa)+$', '(.*a){12}$', '(x+x+)+y']) {
    const condition = compileCondition({ rules: [{ field: 'metadata.summary', operator: 'matches', value: pattern }] })
    const begun = threadCpuMs()
    t.equal(condition.passes(long), false, pattern)
    t.ok(threadCpuMs() - begun < 3_000, `${pattern} took ${Math.round(threadCpuMs() - begun)} ms`)
  }
})

t.test('negative operators are the opposites of the others, for any value', async () => {
  const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean())
  const actual = fc.oneof(scalar, fc.constant(null), fc.array(scalar, { maxLength: 4 }))
  assertInTime(
    fc.property(actual, scalar, fc.constantFrom('equals', 'contains'), (found, value, operator) => {
      const of = (name: string) =>
        compileCondition({ rules: [{ field: 'x', operator: name, value }] }).passes({ x: found } as unknown as Context)
      return of(operator) !== of(`not_${operator}`)
    }),
  )
})

t.test('conditions with too many steps are refused before evaluation', async (t) => {
  const long = {
    metadata: { summary: 'a'.repeat(20_000), tags: Array.from({ length: 500 }, () => 'b'.repeat(2_000)) },
  } as unknown as Context
  const rule = (value: string, field = 'metadata.summary') => ({ field, operator: 'matches', value })
  // To evaluate one of them would take hours.
  const refused = (rules: object[], context: Context, message: RegExp) =>
    t.throws(() => compileCondition({ rules }).explain(context), { code: 'invalid_value', message })
  refused([rule('(a?){700}b')], long, /would take \d+ steps over this context/)
  refused(
    Array.from({ length: 200 }, () => rule('[a-c]x')),
    long,
    /would take \d+ steps/,
  )
  refused([rule('[a-c]x', 'metadata.tags')], long, /would take \d+ steps/)
  refused([{ rules: [{ rules: Array.from({ length: 50 }, () => rule('(a?){100}')) }] }], {} as Context, /more than the limit of 10000/)
  t.ok(compileCondition({ rules: [rule('(?i)a+$')] }).passes(long), 'a typical one is not')
  const nested = { a: Array.from({ length: 30 }, () => Array.from({ length: 30 }, () => ['x'.repeat(150)])) } as unknown as Context
  const shown = compileCondition({ rules: Array.from({ length: 8 }, () => ({ field: 'a', operator: 'is_null' })) }).explain(nested)
  t.ok(JSON.stringify(shown).length < 100_000, 'and the explanation has a limit')
})

t.test('runs of marks in a value cost no more than other text', onlyCost, async (t) => {
  const marks = { metadata: { summary: '\u0315\u0300'.repeat(30_000) } } as unknown as Context
  const begun = threadCpuMs()
  t.notOk(compileCondition({ rules: [{ field: 'metadata.summary', operator: 'equals', value: 'x' }] }).passes(marks))
  t.ok(threadCpuMs() - begun < 2_000, 'they once took six seconds')
})
