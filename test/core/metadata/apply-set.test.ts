import t, { type Test } from 'tap'
import { GIVERS, type Giver } from '#core/fields/field.ts'
import { ALTERNATE_TITLES_MAX } from '#core/fields/limits.ts'
import { applySet, type SetChange } from '#core/metadata/apply-set.ts'
import { keyedEntries, type MetadataSet, SET_RULES, SETS, type SetEntries, type SetName } from '#core/metadata/metadata-set.ts'
import { NAMES_MAX } from '#core/metadata/name.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'

const ID = '5f0c3c8e-0000-4000-8000-000000000000'
const by = (giver: Giver, kind: 'book' | 'series' = 'series') => ({ kind, id: ID, giver })

function setOf<Name extends SetName>(name: Name, given: Partial<Record<Giver, readonly SetEntries[Name][]>>): MetadataSet<Name> {
  const entries = GIVERS.flatMap((giver) =>
    [...keyedEntries(name, given[giver] ?? [])].map(([key, value]) => [key, { value, giver }] as const),
  )
  return { entries: new Map(entries), removed: [] }
}
const giversOf = ({ entries }: MetadataSet) => Object.fromEntries([...entries].map(([key, { giver }]) => [key, giver]))

/** Several values of each entry, by its number and version. */
const SAMPLES: { readonly [Name in SetName]: (number: number, version: number) => SetEntries[Name] } = {
  genres: (number) => `Genre ${number}`,
  tags: (number) => `Tag ${number}`,
  alternateTitles: (number) => ({ label: 'ja', title: `Title ${number}` }),
  externalIds: (number, version) => ({ source: `service${number}`, externalId: `${version}` }),
  externalLinks: (number, version) => ({ source: `site${number}`, url: `https://example.org/${version}` }),
  externalRatings: (number, version) => ({ source: `service${number}`, rating: version }),
}

/** A sequence of numbers that is the same in every run. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function changeAtRandom<Name extends SetName>(name: Name, random: (below: number) => number): SetChange<Name> {
  const some = () => Array.from({ length: random(4) }, () => SAMPLES[name](random(6), random(3)))
  const keys = some().map((entry) => SET_RULES[name].keyOf(entry))
  return { add: some(), remove: random(3) === 0 ? 'others' : keys }
}

/** Runs a check many times for each set of each kind; the check returns the violation that it found. */
function eachSet(t: Test, check: (name: SetName, kind: 'book' | 'series', random: (below: number) => number) => string[]): void {
  for (const kind of ['book', 'series'] as const) {
    for (const name of SETS[kind]) {
      const random = randomOf(name.length * (kind === 'book' ? 7 : 11))
      const wrong = Array.from({ length: 300 }, () => check(name, kind, random)).flat()
      t.same(wrong, [], `${name} of a ${kind}`)
    }
  }
}

const shown = (entry: unknown) => JSON.stringify(entry)

t.test('no machine changes or removes entries of a stronger source or a person, in any order of changes', async (t) => {
  eachSet(t, (name, kind, random) => {
    const wrong: string[] = []
    let set = setOf(name, {})
    for (let step = 0; step < 8; step++) {
      const giver = GIVERS[random(3)] as Giver
      const { next } = applySet(name, set, changeAtRandom(name, random), by(giver, kind))
      if (giver !== 'user') {
        for (const [key, entry] of set.entries) {
          const isStronger = GIVERS.indexOf(entry.giver) < GIVERS.indexOf(giver)
          if (isStronger && shown(next.entries.get(key)) !== shown(entry)) wrong.push(`${giver} changed ${shown(entry)} of ${entry.giver}`)
        }
        for (const key of set.removed) if (next.entries.has(key) && !set.entries.has(key)) wrong.push(`${giver} brought back ${key}`)
        if (next.removed.join() !== set.removed.join()) wrong.push(`${giver} changed what a person took away`)
        for (const [key, entry] of next.entries)
          if (entry.giver === 'user' && shown(set.entries.get(key)) !== shown(entry)) wrong.push(`${giver} gave ${key} for a person`)
      }
      set = next
    }
    return wrong
  })
})

t.test('applying a change twice has the effect of applying it once', async (t) => {
  eachSet(t, (name, kind, random) => {
    const start = setOf(name, { user: [SAMPLES[name](0, 0)], plugin: [SAMPLES[name](1, 0)], embedded: [SAMPLES[name](2, 0)] })
    const giver = GIVERS[random(3)] as Giver
    const change = changeAtRandom(name, random)
    const once = applySet(name, start, change, by(giver, kind))
    const twice = applySet(name, once.next, change, by(giver, kind))
    const keys = [once, twice].map(({ next }) => [...next.entries.keys()].sort().join())
    const isSame = keys[0] === keys[1] && (giver === 'user' || twice.result === 'unchanged' || twice.result === 'outranked')
    return isSame ? [] : [`${giver}: ${shown(change)} made ${keys[0]} and then ${keys[1]}`]
  })
})

t.test('a person may remove any entry, and is the source of every entry that they add', async (t) => {
  eachSet(t, (name, kind, random) => {
    const start = setOf(name, { plugin: [SAMPLES[name](0, 0), SAMPLES[name](1, 0)], embedded: [SAMPLES[name](2, 0)] })
    const change = { add: [SAMPLES[name](random(4), random(3))], remove: 'others' as const }
    const { next } = applySet(name, start, change, by('user', kind))
    const all = [...next.entries.values()]
    const isRight = all.length === 1 && all[0]?.giver === 'user' && shown(all[0]?.value) === shown(change.add[0])
    return isRight ? [] : [`${shown(change)} made ${shown(all)}`]
  })
})

t.test('a tag that a person removed from a book is not added again until the person adds it', async (t) => {
  const start = setOf('tags', { plugin: ['Dark', 'Swords'], embedded: ['Horror'] })
  const taken = applySet('tags', start, { remove: ['swords', 'horror', 'unknown'] }, by('user', 'book')).next
  t.same(taken.removed, ['swords', 'horror'])
  const again = applySet('tags', taken, { add: ['Swords', 'New'], remove: 'others' }, by('plugin', 'book'))
  t.same(giversOf(again.next), { new: 'plugin' })
  t.equal(
    applySet('tags', taken, { add: ['Swords', 'Dark'] }, by('plugin', 'book')).result,
    'outranked',
    'the outcome says that a person prevents it',
  )
  const back = applySet('tags', again.next, { add: ['SWORDS'] }, by('user', 'book')).next
  t.same([back.removed, giversOf(back)], [['horror'], { new: 'plugin', swords: 'user' }])
})

t.test('no machine adds an entry again that a person removed or corrected, in any set, until a person adds it', async (t) => {
  const given = { genres: 'Swords', tags: 'Swords', alternateTitles: { label: 'ja', title: 'Berserk' } } as const
  const services = {
    ...{ externalIds: { source: 'one', externalId: '1' }, externalLinks: { source: 'one', url: 'https://example.org/1' } },
    externalRatings: { source: 'one', rating: 10 },
  } as const
  for (const kind of ['series', 'book'] as const) {
    for (const name of SETS[kind]) {
      const add = [{ ...given, ...services }[name] as never]
      const [key = ''] = keyedEntries(name, add).keys()
      const full = applySet(name, setOf(name, {}), { add }, by('plugin', kind)).next
      const removed = applySet(name, full, { remove: [key] }, by('user', kind)).next
      for (const machine of ['plugin', 'embedded'] as const) {
        const { result, next } = applySet(name, removed, { add }, by(machine, kind))
        t.same([result, next.entries.size], ['outranked', 0], `${kind} ${name}`)
      }
      const back = applySet(name, removed, { add }, by('user', kind)).next
      t.same(back.removed, [], `${name}: given again`)
    }
  }
  const title = { label: 'ja', title: 'Berserk' }
  const full = setOf('alternateTitles', { plugin: [title] })
  const edit = { key: '["ja","Berserk"]', value: { label: 'ja', title: 'Berserker' } }
  const edited = applySet('alternateTitles', full, { edit }, by('user')).next
  const again = applySet('alternateTitles', edited, { add: [{ label: 'en', title: 'BERSERK' }, title] }, by('plugin')).next
  t.same(giversOf(again), { '["ja","Berserker"]': 'user' }, 'a corrected title')
})

t.test('removing an identifier excludes its value, not other identifiers of the same service', async (t) => {
  const id = (externalId: string) => ({ source: 'one', externalId })
  const wrong = setOf('externalIds', { plugin: [id('1')] })
  const corrected = applySet('externalIds', wrong, { add: [id('2')] }, by('user')).next
  const removed = applySet('externalIds', corrected, { remove: ['one'] }, by('user')).next
  for (const externalId of ['1', '2'])
    t.equal(applySet('externalIds', removed, { add: [id(externalId)] }, by('plugin')).result, 'outranked')
  t.equal(applySet('externalIds', removed, { add: [id('3')] }, by('plugin')).result, 'set')
})

t.test('names of people replace those of machines in a full set, and people stay their source', async (t) => {
  const names = (first: number, count: number) => Array.from({ length: count }, (_, index) => `Tag ${first + index}`)
  const machines = [
    ['embedded', names(0, 100)],
    ['plugin', names(50, 150)],
  ] as const
  let set = setOf('tags', {})
  for (const [giver, add] of machines) set = applySet('tags', set, { add }, by(giver)).next
  t.match(giversOf(set), { 'tag 0': 'embedded', 'tag 50': 'plugin', 'tag 199': 'plugin' }, 'the stronger of two machines has given it')
  const weaker = applySet('tags', set, { add: ['Tag 199', 'One more'] }, by('embedded'))
  t.equal(weaker.result, 'unchanged', 'a machine fills the remaining room')
  const mine = ['Tag 50', 'Mine', ...names(300, 60)]
  set = applySet('tags', set, { add: mine }, by('user')).next
  t.equal(set.entries.size, NAMES_MAX)
  const count = (giver: string) => Object.values(giversOf(set)).filter((one) => one === giver).length
  t.same(
    [count('user'), count('embedded'), count('plugin')],
    [mine.length, 0, NAMES_MAX - mine.length],
    'names from files are removed first',
  )
  t.same(
    applySet('tags', set, { remove: ['mine', 'tag 199'] }, by('embedded')).result,
    'unchanged',
    'a file replaces only what a file gave',
  )
  const full = applySet('tags', set, { add: names(1_000, NAMES_MAX - mine.length) }, by('user')).next
  t.same(Object.values(giversOf(full)), Array(NAMES_MAX).fill('user'))
  t.throws(() => applySet('tags', full, { add: ['One more'] }, by('user')), { code: 'invalid_value', message: ID })
  t.equal(applySet('tags', full, { add: ['Mine'] }, by('user')).result, 'unchanged', 'existing names count once')
})

t.test('sets of services have a maximum too, and no entry replaces another one', async (t) => {
  const links = Array.from({ length: SET_RULES.externalLinks.most }, (_, number) => SAMPLES.externalLinks(number, 0))
  const full = setOf('externalLinks', { plugin: links })
  const more = { add: [SAMPLES.externalLinks(1_000, 0)] }
  t.throws(() => applySet('externalLinks', full, more, by('user')), { code: 'invalid_value', message: /links to other services already/ })
  t.equal(applySet('externalLinks', full, more, by('plugin')).result, 'unchanged')
  const changed = applySet('externalLinks', full, { add: [SAMPLES.externalLinks(0, 1)] }, by('user'))
  t.match(changed.next.entries.get('site0'), { value: { url: 'https://example.org/1' }, giver: 'user' })
})

t.test('a machine does not add a title that exists under another label; an edited title keeps its row', async (t) => {
  const start = {
    entries: new Map([['["ja","One"]', { value: { label: 'ja', title: 'One' }, giver: 'plugin' as const, id: ID }]]),
    removed: [],
  }
  const same = { add: [{ label: 'Romaji', title: 'ONE' }] }
  t.equal(applySet('alternateTitles', start, same, by('plugin')).result, 'unchanged')
  t.equal(applySet('alternateTitles', start, same, by('user')).next.entries.size, 2)
  const edit = { key: '["ja","One"]', value: { label: 'ja', title: 'Uno' } }
  const edited = applySet('alternateTitles', start, { edit }, by('user')).next
  t.same([...edited.entries], [['["ja","Uno"]', { value: { label: 'ja', title: 'Uno' }, giver: 'user', id: ID }]])
  const unknown = applySet('alternateTitles', start, { edit: { ...edit, key: 'x' } }, by('user'))
  t.equal(unknown.result, 'unchanged')
})

const titlesOf = (count: number, start = 0) =>
  Array.from({ length: count }, (_entry, index) => ({ label: 'Synonym', title: `Título ${start + index} ${'größer '.repeat(100)}` }))

function mergeMany(t: Test, count: number): void {
  const known = (count: number) => setOf('alternateTitles', { user: titlesOf(count) })
  const titles = (count: number, add: SetEntries['alternateTitles'][]) =>
    [...applySet('alternateTitles', known(count), { add }, by('plugin')).next.entries.values()].map(({ value }) => value)
  t.equal(titles(10, titlesOf(count, 5)).length, ALTERNATE_TITLES_MAX)
  t.same(titles(10, titlesOf(count, 5)).slice(0, 10), titlesOf(10), 'existing entries stay')
  t.equal(titles(count, titlesOf(count, count)).length, count, 'existing entries above the maximum stay')
  const names = titlesOf(count).map(({ title }) => title)
  const genres = (user: string[], add: string[]) =>
    applySet('genres', setOf('genres', { user }), { add, remove: 'others' }, by('plugin')).next.entries.size
  t.equal(genres(names, [...names].reverse()), count, 'entries of people stay, however many there are')
  t.equal(genres([], names), NAMES_MAX)
}

t.test('of many given titles and names, new ones fit the limit and existing ones stay', async (t) => mergeMany(t, 500))

t.test('titles, genres and tags are merged in linear time, however many are given', onlyCost, async (t) => {
  const begun = threadCpuMs()
  mergeMany(t, 5_000)
  const ms = threadCpuMs() - begun
  t.comment(`${Math.round(ms)} ms`)
  // Comparing each with each would be 25 million comparisons of two texts of 700 characters.
  t.ok(ms < 5_000)
})
