import t from 'tap'
import type { Kind } from '#core/fields/record-kind.ts'
import { applyChange, applySets, changedMembers, isSameContent, isSameLocks, type MetadataState } from '#core/metadata/apply-change.ts'
import { type MetadataSets, SET_RULES, SETS, type SetName } from '#core/metadata/metadata-set.ts'

const emptyState = (kind: Kind, locks: readonly string[] = []): MetadataState => ({
  ...{ id: 'one', values: {}, sources: {}, locks: new Set(locks) },
  sets: Object.fromEntries(SETS[kind].map((name) => [name, { entries: new Map(), removed: [] }])) as MetadataSets,
})
const ENTRY: Record<SetName, unknown> = {
  ...{ genres: 'Drama', tags: 'Dark', alternateTitles: { label: 'ja', title: 'ナナ' }, externalIds: { source: 'one', externalId: '1' } },
  ...{ externalLinks: { source: 'one', url: 'https://one.example.org' }, externalRatings: { source: 'one', rating: 10 } },
}
const all = (kind: Kind) => Object.fromEntries(SETS[kind].map((name) => [name, { add: [ENTRY[name]] }])) as object

t.test('one change contains fields and sets, with a separate outcome for each', async (t) => {
  const change = { values: { year: 1989, publisher: 'House' }, sets: { tags: { add: ['Dark'] }, genres: { add: ['Drama'] } } }
  const { next, outcomes } = applyChange('series', emptyState('series', ['publisher', 'tags']), change, 'plugin')
  t.same(Object.fromEntries(outcomes.map(({ field, result }) => [field, result])), {
    year: 'set',
    publisher: 'locked',
    tags: 'locked',
    genres: 'set',
  })
  t.same(next.values, { year: 1989 })
  t.same([...(next.sets.tags?.entries.keys() ?? []), ...(next.sets.genres?.entries.keys() ?? [])], ['drama'])
  t.same(changedMembers(emptyState('series'), next).toSorted(), ['genres', 'year'])
})

t.test('a lock protects a set from every machine, but not from a person', async (t) => {
  for (const kind of ['book', 'series'] as const) {
    const locks = SETS[kind].flatMap((name) => SET_RULES[name].lock[kind] ?? [])
    for (const giver of ['plugin', 'embedded', 'user'] as const) {
      const { next, outcomes } = applySets(kind, emptyState(kind, locks), all(kind), giver)
      for (const name of SETS[kind]) {
        const isKept = giver !== 'user' && SET_RULES[name].lock[kind] !== null
        t.equal(next.sets[name]?.entries.size, isKept ? 0 : 1, `${name} of a ${kind} by ${giver}`)
        t.equal(outcomes.find(({ field }) => field === name)?.result, isKept ? 'locked' : 'set')
      }
    }
  }
})

t.test('a person who changes genres or tags also locks them if there is a lock; sending them back unchanged changes nothing', async (t) => {
  const locksOf = (kind: Kind, sets: object, state = emptyState(kind)) => [...applySets(kind, state, sets, 'user').next.locks].sort()
  t.same(locksOf('series', all('series')), ['genres', 'tags'])
  t.same(locksOf('book', all('book')), ['genre'])
  const given = applySets('series', emptyState('series'), all('series'), 'plugin').next
  const asShown = { genres: { add: ['drama'], remove: 'others' }, tags: { add: ['DARK'], remove: 'others' } }
  t.same(locksOf('series', asShown, given), [])
  t.equal(
    applySets('series', given, { genres: { add: ['drama'], remove: 'others' } }, 'user').next.sets.genres?.entries.get('drama')?.giver,
    'plugin',
  )
  t.same(locksOf('series', { genres: { add: [], remove: 'others' } }, given), ['genres'])
})

t.test('a file name changes no sets, and a set that was not read cannot be changed', async (t) => {
  const { next } = applyChange('book', emptyState('book'), { values: { number: 1 }, sets: { tags: { add: ['Dark'] } } }, 'file_name')
  t.same([next.values, next.sets.tags?.entries.size], [{ number: 1 }, 0])
  const unread = { ...emptyState('book'), sets: {} }
  t.throws(() => applySets('book', unread, { tags: { add: ['Dark'] } }, 'user'), /were not read/)
})

t.test('for values whose order is kept, the order of members counts', async (t) => {
  const stateOf = (text: string) => ({ ...emptyState('book'), values: { customMetadata: JSON.parse(text) } })
  t.equal(isSameContent('book', stateOf('{"a":1,"b":2}'), stateOf('{"a":1,"b":2}')), true)
  t.equal(isSameContent('book', stateOf('{"a":1,"b":2}'), stateOf('{"b":2,"a":1}')), false)
  t.equal(isSameLocks({ locks: new Set(['a']) }, { locks: new Set(['b']) }), false)
})

t.test('a machine that gives an impossible date sets only its possible members', async (t) => {
  const dateOf = (given: object, source: 'plugin' | 'embedded', stands: Record<string, number> = {}, by: 'user' | 'embedded' = 'user') => {
    const sources = Object.fromEntries(Object.keys(stands).map((name) => [name, by]))
    const state: MetadataState = { id: 'one', values: stands, sources, locks: new Set(), sets: {} }
    const { year, month, day } = applyChange('book', state, { values: given }, source).next.values as Record<string, number>
    return [year, month, day]
  }
  t.same(dateOf({ year: 2019, month: 2, day: 31 }, 'plugin'), [2019, 2, undefined])
  t.same(dateOf({ year: 2019 }, 'plugin', { year: 2020, month: 2, day: 29 }, 'embedded'), [2020, 2, 29])
  t.same(dateOf({ month: 2 }, 'plugin', { day: 31 }), [undefined, undefined, 31])
  t.same(dateOf({ day: 31 }, 'plugin', { month: 2 }), [undefined, 2, undefined])
  t.same(dateOf({ month: 4, day: null }, 'embedded', { month: 3, day: 31 }, 'embedded'), [undefined, 4, undefined])
})
