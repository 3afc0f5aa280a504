import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Giver } from '#core/fields/field.ts'
import { applyChange, type MetadataChange, type MetadataState } from '#core/metadata/apply-change.ts'
import { type GivenEntry, keyedEntries, type MetadataSets, SETS, type SetEntries, type SetName } from '#core/metadata/metadata-set.ts'
import { differenceOf, undoDifference } from '#core/metadata/undo-change.ts'

const EMPTY = Object.fromEntries(SETS.series.map((name) => [name, { entries: new Map(), removed: [] }])) as MetadataSets

/** A series after several sources changed it one after the other. */
function stateOf(...changes: [MetadataChange, Giver][]): MetadataState {
  const empty: MetadataState = { id: 'one', values: {}, sources: {}, locks: new Set(), sets: EMPTY }
  return changes.reduce((state, [change, giver]) => applyChange('series', state, change, giver).next, empty)
}
const unlocked = (state: MetadataState): MetadataState => ({ ...state, locks: new Set() })
const givenIn = ({ sets }: MetadataState, name: SetName) =>
  Object.fromEntries([...(sets[name]?.entries ?? [])].map(([key, { giver }]) => [key, giver]))

const GIVEN: { readonly [Name in SetName]: readonly [SetEntries[Name], SetEntries[Name]] } = {
  genres: ['Action', 'Drama'],
  tags: ['Swords', 'Dark'],
  alternateTitles: [
    { label: 'ja', title: 'ベルセルク' },
    { label: 'de', title: 'Berserker' },
  ],
  externalIds: [
    { source: 'one', externalId: '1' },
    { source: 'two', externalId: '2' },
  ],
  externalLinks: [
    { source: 'one', url: 'https://one.example.org' },
    { source: 'two', url: 'https://two.example.org' },
  ],
  externalRatings: [
    { source: 'one', rating: 10 },
    { source: 'two', rating: 20 },
  ],
}
/** A change of every set by a plugin, which replaces what machines gave. */
const pluginSays = (which: 0 | 1, remove?: 'others') =>
  ({
    sets: Object.fromEntries(SETS.series.map((name) => [name, { add: [GIVEN[name][which]], ...(remove && { remove }) }])),
  }) as MetadataChange

t.test('undo restores what was not changed since', async (t) => {
  const before = stateOf(
    [{ values: { year: 1989, publisher: 'House' }, sets: { tags: { add: ['Kept', 'Swords'] }, genres: { add: ['Old'] } } }, 'embedded'],
    [pluginSays(1), 'plugin'],
  )
  const after = changed(before, { ...pluginSays(0, 'others'), values: { year: 1990, authors: [{ name: 'Miura', role: 'author' }] } })
  const kept = JSON.parse(JSON.stringify(differenceOf('series', before, after)))
  const { next, undone, left } = undoDifference('series', after, kept)
  t.same(left, [])
  t.same(undone.toSorted(), ['authors', 'year', ...SETS.series].toSorted())
  t.same([next.values, next.sources], [before.values, before.sources])
  for (const name of SETS.series) t.same(givenIn(next, name), givenIn(before, name), name)
  t.same(differenceOf('series', after, after), { values: {}, sets: {} })
})

function changed(state: MetadataState, change: MetadataChange, giver: Giver = 'plugin'): MetadataState {
  return applyChange('series', state, change, giver).next
}

t.test('entries that a person added, confirmed, changed or removed since stay, entry by entry', async (t) => {
  for (const name of SETS.series) {
    const before = stateOf()
    const [one, two] = GIVEN[name] as readonly [never, never]
    const applied = changed(before, { sets: { [name]: { add: [one, two] } } })
    const difference = differenceOf('series', before, applied)
    const [firstKey = '', secondKey = ''] = keyedEntries(name, GIVEN[name] as never).keys()

    const confirmed = unlocked(changed(applied, { sets: { [name]: { add: [one] } } }, 'user'))
    const partly = undoDifference('series', confirmed, difference)
    t.same(givenIn(partly.next, name), { [firstKey]: 'user' }, `${name}: what the person confirmed`)
    t.match(partly, { undone: [], left: [{ field: name, reason: /the rest was restored/ }] })

    const more = GIVEN[name].length === 2 ? ({ genres: 'Mine', tags: 'Mine' } as Record<string, unknown>)[name] : undefined
    if (more !== undefined) {
      const added = unlocked(changed(applied, { sets: { [name]: { add: [more as never] } } }, 'user'))
      const undone = undoDifference('series', added, difference)
      t.same(givenIn(undone.next, name), { mine: 'user' }, 'an entry that the person added does not prevent the undo of the rest')
      t.same(undone.left, [])
    }

    const taken = unlocked(changed(applied, { sets: { [name]: { remove: [firstKey, secondKey] } } }, 'user'))
    const nothing = undoDifference('series', taken, difference)
    t.same(givenIn(nothing.next, name), {})
    t.match(nothing.left, [{ field: name, reason: 'It was changed since.' }])
  }
})

t.test('fields that were locked since stay', async (t) => {
  const before = stateOf()
  const after = { ...changed(before, { ...pluginSays(0), values: { year: 1990 } }), locks: new Set(['year', 'tags', 'alternateTitles']) }
  const { next, undone, left } = undoDifference('series', after, differenceOf('series', before, after))
  t.same(undone.toSorted(), ['externalIds', 'externalLinks', 'externalRatings', 'genres'])
  t.same(
    left.map(({ field, reason }) => [field, reason]),
    ['year', 'tags', 'alternateTitles'].map((field) => [field, 'It was locked since.']),
  )
  t.equal(next.values['year'], 1990)
})

t.test('entries that a plugin replaced are restored, as far as there is room', async (t) => {
  const names = Array.from({ length: 200 }, (_, index) => `Tag ${index}`)
  const before = stateOf([{ sets: { tags: { add: names } } }, 'embedded'])
  const after = changed(before, { sets: { tags: { add: ['Swords'], remove: 'others' } } })
  t.same(givenIn(after, 'tags'), { swords: 'plugin' })
  const since = unlocked(changed(after, { sets: { tags: { add: ['Mine'] } } }, 'user'))
  const { next } = undoDifference('series', since, differenceOf('series', before, after))
  const entries = [...(next.sets.tags?.entries.values() ?? [])] as GivenEntry[]
  t.equal(entries.length, 200)
  t.equal(entries.filter(({ giver }) => giver === 'user').length, 1)
})

/** A sequence of numbers that is the same in every run. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function changeAtRandom(random: (below: number) => number): MetadataChange {
  const some = <Value>(list: readonly Value[]) => list.filter(() => random(2) === 0)
  const fields = some([
    ['year', 1980 + random(3)] as const,
    ['summary', `Text ${random(3)}`] as const,
    ['publisher', `House ${random(2)}`] as const,
  ])
  const people = some(['Ada', 'Bea', 'Cay']).map((name) => ({ name, role: 'author' }))
  const add: { readonly [Name in SetName]: unknown } = {
    genres: some(['One', 'Two', 'Three', 'Four']),
    tags: some(['One', 'Two', 'Three', 'Four']),
    alternateTitles: some(['One', 'Two', 'Three']).map((title) => ({ label: random(2) === 0 ? 'ja' : 'de', title })),
    externalIds: some(['one', 'two']).map((source) => ({ source, externalId: `${random(3)}` })),
    externalLinks: some(['one', 'two']).map((source) => ({ source, url: `https://example.org/${random(3)}` })),
    externalRatings: some(['one', 'two']).map((source) => ({ source, rating: random(3) })),
  }
  const sets = some(SETS.series).map((name) => [name, { add: add[name], ...(random(2) === 0 && { remove: 'others' }) }])
  return {
    values: { ...Object.fromEntries(fields), ...(people.length > 0 && { authors: people }) },
    sets: Object.fromEntries(sets),
  } as MetadataChange
}

const contentOf = (state: MetadataState) => ({
  values: state.values,
  sources: state.sources,
  sets: SETS.series.map((name) =>
    [...(state.sets[name]?.entries ?? [])]
      .map(([key, { value, giver }]) => ({ key, value, giver }))
      .sort((a, b) => (a.key < b.key ? -1 : 1)),
  ),
})

/** Several applications, undone in some order in the way of the store. */
function applyAndUndo(start: MetadataState, changes: readonly MetadataChange[], order: readonly number[]): MetadataState {
  let state = start
  const applied = new Map<number, ReturnType<typeof differenceOf>>()
  for (const [index, change] of changes.entries()) {
    const next = changed(state, change)
    applied.set(index, JSON.parse(JSON.stringify(differenceOf('series', state, next))))
    state = next
  }
  for (const index of order) {
    const later = [...applied].filter(([other]) => other > index)
    const undone = undoDifference(
      'series',
      state,
      applied.get(index) as never,
      later.map(([, difference]) => difference),
    )
    state = undone.next
    applied.delete(index)
    for (const [at, [other]] of later.entries()) applied.set(other, JSON.parse(JSON.stringify(undone.later[at])))
  }
  return state
}

t.test('undoing several applications in any order restores the record', async (t) => {
  const wrong: string[] = []
  for (let seed = 1; seed <= 400; seed++) {
    const random = randomOf(seed)
    const start = unlocked(
      stateOf([changeAtRandom(random), 'embedded'], [changeAtRandom(random), 'user'], [changeAtRandom(random), 'plugin']),
    )
    const changes = Array.from({ length: 2 + random(4) }, () => changeAtRandom(random))
    const order = changes.map((_, index) => index).sort(() => random(3) - 1)
    const end = applyAndUndo(start, changes, order)
    if (!isDeepStrictEqual(contentOf(end), contentOf(start))) wrong.push(`seed ${seed}, order ${order.join()}`)
  }
  t.same(wrong, [])
})

t.test('undoing a later application does not restore an undone one', async (t) => {
  const start = stateOf([{ values: { year: 1989 } }, 'embedded'])
  const [one, two] = [{ values: { year: 1990 } }, { values: { year: 1991 } }]
  t.match(applyAndUndo(start, [one, two], [0]).values, { year: 1991 })
  t.match(applyAndUndo(start, [one, two], [0, 1]), { values: { year: 1989 }, sources: { year: 'embedded' } })
  t.match(applyAndUndo(start, [one, two, one], [0]).values, { year: 1990 }, 'the last one gave it too')
})

t.test('undo adds nothing to a set that people have replaced since, and no entry that they removed since', async (t) => {
  for (const name of SETS.series) {
    const [one, two] = GIVEN[name] as readonly [never, never]
    const before = stateOf([{ sets: { [name]: { add: [one] } } }, 'embedded'])
    const applied = changed(before, { sets: { [name]: { add: [two], remove: 'others' } } })
    const difference = differenceOf('series', before, applied)
    const replaced = unlocked(changed(applied, { sets: { [name]: { add: [], remove: 'others' } } }, 'user'))
    const { next, left } = undoDifference('series', replaced, difference)
    t.same([givenIn(next, name), left], [{}, [{ field: name, reason: 'It was changed since.' }]], name)
    const again = changed(replaced, { sets: { [name]: { add: [two] } } })
    t.same(givenIn(again, name), {}, `${name}: a plugin adds nothing again`)
  }
})
