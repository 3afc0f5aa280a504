import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { BOOK_FIELDS, bookLockName } from '#core/fields/book-metadata.ts'
import { AUTHOR_ROLES, type Author, type Field, type MetadataRecord, SOURCES, type Source } from '#core/fields/field.ts'
import { LIST_LENGTH_MAX } from '#core/fields/limits.ts'
import { SERIES_FIELDS } from '#core/fields/series-metadata.ts'
import { applyPatch, joinNames } from '#core/metadata/apply-patch.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const NOTHING: MetadataRecord = { values: {}, sources: {}, locks: new Set() }
const fields: readonly Field[] = BOOK_FIELDS

const ROLES: ReadonlySet<string> = new Set(fields.filter(({ role }) => role !== undefined).map(({ name }) => name))

const apply = (current: MetadataRecord, patch: Record<string, unknown>, source: Source) => applyPatch(fields, current, patch, source)

/** Names from a small set, so that patches overlap. */
const author = fc.record({ name: fc.constantFrom('Ann', 'Bob', 'Cho'), role: fc.constantFrom(...AUTHOR_ROLES) })
const names = fc.constantFrom('Ann', 'Ann, Bob', 'Cho')
const valuesOf = (field: Field): fc.Arbitrary<unknown> =>
  field.name === 'authors' ? fc.array(author, { maxLength: 4 }) : field.role ? names : fc.constantFrom('one', 'two', 3)
const patch = fc
  .subarray([...fields])
  .chain((chosen) => fc.record(Object.fromEntries(chosen.map((field) => [field.name, fc.option(valuesOf(field))]))))
const machine = fc.constantFrom<Source>('plugin', 'embedded', 'file_name')
const step = fc.record({ patch, source: fc.constantFrom(...SOURCES) })
/** Any state that people and machines can create, with any locks. */
const record = fc
  .record({ steps: fc.array(step, { maxLength: 4 }), locks: fc.subarray(fields.map(({ name }) => name)) })
  .map(({ steps, locks }) => {
    const reached = steps.reduce((current, { patch, source }) => apply(current, patch, source).next, NOTHING)
    return { ...reached, locks: new Set(locks) }
  })

/** Every field of this record as an unchanged form sends it. */
const echo = (current: MetadataRecord) => Object.fromEntries(fields.map((field) => [field.name, shown(current, field)]))

/** Whether this value contains anything. */
function isNews(before: MetadataRecord, name: string, value: unknown): boolean {
  const { next, outcomes } = apply(before, { [name]: value }, 'user')
  return outcomes[0]?.result !== 'unchanged' || !isDeepStrictEqual(next, before)
}

/** The value of a field in the API. */
function shown(current: MetadataRecord, field: Field): unknown {
  const authors = (current.values.authors ?? []) as Author[]
  return field.role ? joinNames(authors, field.role) : (current.values[field.name] ?? null)
}

t.test('only a person changes a locked field', async () => {
  assertInTime(
    fc.property(record, patch, machine, (before, patch, source) => {
      const { next } = apply(before, patch, source)
      for (const field of fields) {
        const locked = before.locks.has(field.name) || (field.role !== undefined && before.locks.has('authors'))
        if (locked && shown(next, field) !== shown(before, field) && !isDeepStrictEqual(shown(next, field), shown(before, field)))
          throw new Error(`${field.name} was locked and changed`)
      }
      if (!sameSet(next.locks, before.locks)) throw new Error('a machine changed a lock')
    }),
    { numRuns: 300 },
  )
})

t.test('a weaker source never changes what a stronger one gave', async () => {
  assertInTime(
    fc.property(record, patch, machine, (before, patch, source) => {
      const { next } = apply(before, patch, source)
      for (const field of fields) {
        const standing = before.sources[field.name]
        if (field.name === 'authors' || standing === undefined || SOURCES.indexOf(standing) >= SOURCES.indexOf(source)) continue
        if (JSON.stringify(shown(next, field)) !== JSON.stringify(shown(before, field)) || next.sources[field.name] !== standing)
          throw new Error(`${source} changed ${field.name} of ${standing}`)
      }
    }),
    { numRuns: 500 },
  )
})

t.test('applying a change twice has the effect of applying it once', async () => {
  assertInTime(
    fc.property(record, patch, fc.constantFrom(...SOURCES), (before, given, source) => {
      // A list and strings that contradict it change each other when both are sent again.
      const patch = given.authors === undefined ? given : Object.fromEntries(Object.entries(given).filter(([name]) => !ROLES.has(name)))
      const once = apply(before, patch, source).next
      const twice = apply(once, patch, source).next
      if (!isDeepStrictEqual(twice, once)) throw new Error(JSON.stringify([once, twice]))
    }),
    { numRuns: 300 },
  )
})

t.test('a person sets exactly the members of the patch', async () => {
  assertInTime(
    fc.property(record, patch, (before, patch) => {
      const { next, outcomes } = apply(before, patch, 'user')
      if (outcomes.length !== Object.keys(patch).length) throw new Error('a member without an outcome')
      for (const field of fields) {
        // Tested separately below.
        if ('authors' in patch && field.role !== undefined) continue
        if (field.name in patch) {
          const value = patch[field.name]
          const empty = value === null || (Array.isArray(value) && value.length === 0)
          if (!empty && isNews(before, field.name, value) && !next.locks.has(field.name))
            throw new Error(`${field.name} was set and not locked`)
          if (empty && next.locks.has(field.name) !== before.locks.has(field.name))
            throw new Error(`null changed the lock of ${field.name}`)
          if (field.name !== 'authors' && (shown(next, field) ?? null) !== (value ?? null))
            throw new Error(`${field.name} is not what was said`)
        } else if (!field.role && field.name !== 'authors' && shown(next, field) !== shown(before, field)) {
          throw new Error(`${field.name} was not named and changed`)
        }
      }
    }),
    { numRuns: 500 },
  )
})

t.test('unchanged members of a patch change neither value nor source nor lock', async (t) => {
  assertInTime(
    fc.property(record, (before) => {
      const { next, outcomes } = apply(before, echo(before), 'user')
      if (!isDeepStrictEqual(next, before)) throw new Error(JSON.stringify([before, next]))
      if (outcomes.some(({ result }) => result !== 'unchanged')) throw new Error(JSON.stringify(outcomes))
    }),
    { numRuns: 300 },
  )
  assertInTime(
    fc.property(record, patch, (before, patch) => {
      const news = Object.fromEntries(Object.entries(patch).filter(([name, value]) => isNews(before, name, value)))
      // An empty string beside a list of people changes nothing either, whatever the current value is.
      const said = Array.isArray(patch.authors)
        ? Object.fromEntries(Object.entries(news).filter(([name, value]) => !ROLES.has(name) || value !== null))
        : news
      const [whole, part] = [apply(before, patch, 'user').next, apply(before, said, 'user').next]
      if (!isDeepStrictEqual(whole, part)) throw new Error(JSON.stringify({ before, patch, said, whole, part }))
    }),
    { numRuns: 500 },
  )
  assertInTime(
    fc.property(
      record,
      fc.constantFrom(...fields.filter(({ role, name }) => role === undefined && name !== 'authors')),
      (before, field) => {
        const { next } = apply(before, { ...echo(before), [field.name]: 'corrected' }, 'user')
        const others = (of: MetadataRecord) => {
          const { [field.name]: _, ...sources } = of.sources
          return { sources, locks: [...of.locks].filter((name) => name !== field.name).sort() }
        }
        if (!isDeepStrictEqual(others(next), others(before))) throw new Error(`correcting ${field.name} changed another field`)
        if (next.sources[field.name] !== 'user' || !next.locks.has(field.name)) throw new Error(`${field.name} is not the person's`)
      },
    ),
    { numRuns: 300 },
  )
  const text = apply(NOTHING, { summary: 'One\r\nTwo\n', awards: [{ name: 'Prize', won: true }] }, 'embedded').next
  const form = { summary: 'One\nTwo', awards: [{ name: 'Prize', won: true, category: null, year: null }] }
  t.same(apply(text, form, 'user').next, text, 'nor line ends and members without a value in the form of browsers')
})

t.test('an empty people string beside a list of people is ignored', async (t) => {
  assertInTime(
    fc.property(record, fc.array(author, { maxLength: 4 }), fc.subarray([...ROLES]), (before, authors, roles) => {
      const empty = Object.fromEntries(roles.map((name, index) => [name, index % 2 === 0 ? null : '']))
      const [alone, beside] = [apply(before, { authors }, 'user').next, apply(before, { ...empty, authors }, 'user').next]
      if (!isDeepStrictEqual(alone, beside)) throw new Error(JSON.stringify({ alone, beside }))
    }),
    { numRuns: 300 },
  )
  const authors = [{ name: 'Tia', role: 'translator' }]
  t.same(apply(NOTHING, { authors, translator: null }, 'user').next.values.authors, authors, 'a translator stays')
  const other = [{ name: 'Uma', role: 'translator' }]
  const before = apply(NOTHING, { authors }, 'embedded').next
  t.same(apply(before, { authors: other, translator: 'Tia' }, 'user').next.values.authors, other, 'nor does the current one')
  t.same(apply(before, { authors, translator: 'Uma' }, 'user').next.values.authors, other, 'a different one overrides the current list')
  t.notOk('authors' in apply(before, { authors: null, translator: null }, 'user').next.values)
})

t.test('people strings and the list of people are views of one list', async (t) => {
  const first = apply(
    NOTHING,
    {
      authors: [
        { name: 'Ann', role: 'writer' },
        { name: 'Bob', role: 'inker' },
        { name: 'Ann', role: 'writer' },
      ],
    },
    'embedded',
  ).next
  t.strictSame(
    first.values.authors,
    [
      { name: 'Ann', role: 'writer' },
      { name: 'Bob', role: 'inker' },
    ],
    'the same person is there once',
  )
  const named = apply(first, { writer: 'Cho, Dee' }, 'user').next
  t.strictSame(named.values.authors, [
    { name: 'Cho', role: 'writer' },
    { name: 'Dee', role: 'writer' },
    { name: 'Bob', role: 'inker' },
  ])
  t.ok(named.locks.has('writer') && !named.locks.has('authors'))
  const rescanned = apply(
    named,
    {
      authors: [
        { name: 'Ann', role: 'writer' },
        { name: 'Eve', role: 'inker' },
      ],
    },
    'embedded',
  )
  t.equal(joinNames(rescanned.next.values.authors as Author[], 'writer'), 'Cho, Dee')
  t.equal(joinNames(rescanned.next.values.authors as Author[], 'inker'), 'Eve')
  const sorted = apply(NOTHING, { authors: [{ name: 'Alan Moore', role: 'writer', sortName: 'Moore, Alan' }] }, 'user').next
  const more = apply(sorted, { writer: 'Alan Moore, Bob' }, 'user').next
  t.strictSame((more.values.authors as Author[])[0]?.sortName, 'Moore, Alan', 'a person who is named again keeps the sort name')
  t.notOk('authors' in apply(named, { authors: null }, 'user').next.values)
})

t.test('a people string that is sent back unchanged changes nothing', async (t) => {
  const authors = [
    { name: 'King, Jr.', role: 'writer', sortName: 'King' },
    { name: 'Ann', role: 'inker' },
  ]
  const before = apply(NOTHING, { authors }, 'embedded').next
  const { next, outcomes } = apply(before, { writer: joinNames(before.values.authors as Author[], 'writer') }, 'user')
  t.same(outcomes, [{ field: 'writer', result: 'unchanged' }])
  t.same(next.values.authors, authors)
  t.same(apply(NOTHING, { authors, writer: 'King, Jr.' }, 'user').next.values.authors, authors, 'nor beside its own list')
  const changed = apply(before, { writer: 'King, Jr., Bob' }, 'user').next.values.authors as Author[]
  t.same(
    changed.filter(({ role }) => role === 'writer').map(({ name }) => name),
    ['King, Jr.', 'Bob'],
    'a known name stays one person',
  )
})

t.test('a cleared field may be filled again unless it is locked', async (t) => {
  const set = apply(NOTHING, { summary: 'mine', publisher: 'mine' }, 'user').next
  const cleared = apply({ ...set, locks: new Set(['summary']) }, { summary: null, publisher: null }, 'user').next
  const { next, outcomes } = apply(cleared, { summary: 'theirs', publisher: 'theirs' }, 'embedded')
  t.match(next.values, { publisher: 'theirs' })
  t.notOk('summary' in next.values)
  t.strictSame(outcomes, [
    { field: 'publisher', result: 'set' },
    { field: 'summary', result: 'locked' },
  ])
})

t.test('a machine clears only what it gave', async (t) => {
  const plugin = apply(NOTHING, { summary: 'p' }, 'plugin').next
  t.equal(apply(plugin, { summary: null }, 'embedded').next.values.summary, 'p')
  const embedded = apply(NOTHING, { summary: 'e' }, 'embedded').next
  t.equal(apply(embedded, { summary: null }, 'plugin').next.values.summary, 'e')
  t.notOk('summary' in apply(embedded, { summary: null }, 'embedded').next.values)
})

t.test('lists have a maximum length: a person gets an error, the list of a machine is cut', async (t) => {
  const people = (count: number, role = 'writer') =>
    Array.from({ length: count }, (_, index) => ({ name: `${index} ${'n'.repeat(90)}`, role }))
  t.throws(() => apply(NOTHING, { authors: people(500) }, 'user'), { code: 'invalid_value', details: [{ path: '/authors' }] })
  const filled = apply(NOTHING, { authors: people(500), subjects: people(400).map(({ name }) => name) }, 'plugin').next
  for (const name of ['authors', 'subjects']) {
    const length = JSON.stringify(filled.values[name]).length
    t.ok(length <= LIST_LENGTH_MAX && length > LIST_LENGTH_MAX - 200, `${name}: ${length}`)
  }
  t.same(apply(filled, { authors: people(500) }, 'plugin').outcomes, [{ field: 'authors', result: 'unchanged' }])
  const translators = people(40)
    .map(({ name }) => name)
    .join(', ')
  t.throws(() => apply(filled, { translator: translators }, 'user'), { code: 'invalid_value' }, 'nor role by role')
  t.equal(apply(filled, { translator: translators }, 'plugin').next.values.authors !== undefined, true)
  t.ok(JSON.stringify(apply(filled, { translator: translators }, 'plugin').next.values.authors).length <= LIST_LENGTH_MAX)
  t.equal(apply(filled, { publisher: 'Somebody' }, 'user').outcomes[0]?.result, 'set', 'unchanged lists do not matter')
})

t.test('each field has a lock and a column of its own', async (t) => {
  const locks = [...fields.map(({ name }) => bookLockName(name)), 'coverLock']
  t.equal(new Set(locks).size, locks.length, 'each field has a lock of its own')
  for (const list of [BOOK_FIELDS, SERIES_FIELDS] as readonly (readonly Field[])[]) {
    const columns = list.map(({ column }) => column).filter((column) => column !== null)
    t.equal(new Set(columns).size, columns.length)
  }
})

function sameSet(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((entry) => other.has(entry))
}

t.test('a known name with a comma stays one person when another name is added', async (t) => {
  const people = (names: string[]) => names.map((name) => ({ name, role: 'writer' }))
  const known: MetadataRecord = { values: { authors: people(['King, Jr.', 'King', 'Ann']) }, sources: {}, locks: new Set() }
  const written = (writer: string) => applyPatch(BOOK_FIELDS, known, { writer }, 'user').next.values['authors']
  t.same(written('King, Jr., New'), people(['King, Jr.', 'New']))
  t.same(written('New ,King, Jr. , King'), people(['New', 'King, Jr.', 'King']))
  t.same(written('King, Jr. Smith'), people(['King', 'Jr. Smith']))
  t.same(written('Moore, Gibbons,'), people(['Moore', 'Gibbons']))
})
