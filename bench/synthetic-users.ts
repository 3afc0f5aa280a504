/**
 * A synthetic library and users with known preferences: series and users are generated from the same hidden themes, with noise, and the next
 * series of a user depends on preferences, on quality, on popularity, and on chance. Nothing here depends on how recommendations are made.
 */
import type { LibraryEntry } from '../plugin-sdk/types.ts'

export interface SyntheticUser {
  /** The series that the user has read, in order, without those held out. */
  read: { index: number; share: number; rating: number | null; day: number }[]
  heldOut: number[]
  /** The user's own preference, by series: no recommendation can be better. */
  taste: Float64Array
  /** The preference together with the popularity; the user chooses by this and chance. */
  draw: Float64Array
}

export interface SyntheticLibrary {
  /** As a user sees them who has read nothing yet. */
  entries: LibraryEntry[]
  users: SyntheticUser[]
}

const THEMES = 14
const GENRES = 22
const TAGS = 140
const WORDS = 4_000
const BACKGROUND_WORDS = 1_500
const WORDS_PER_SUMMARY = 60
const HELD_OUT = 8
const FIRST_DAY = Date.UTC(2024, 0, 1)
const DAY_MS = 86_400_000

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function openChance(seed: number) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (end: number) => Math.floor(next() * end)
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
  const gumbel = () => -Math.log(-Math.log(next() * 0.999_999 + 5e-7))
  /** Small numbers are more frequent, like common names and words. */
  const skewed = (end: number, power = 2) => Math.floor(next() ** power * end)
  /** Shares with a sum of 1, most of it in a few of them. */
  const shares = (count: number, spread: number) => {
    const raw = Array.from({ length: count }, () => Math.exp(normal() * spread))
    const sum = raw.reduce((total, one) => total + one, 0)
    return raw.map((one) => one / sum)
  }
  const choose = (weights: readonly number[]) => {
    let left = next() * weights.reduce((total, one) => total + one, 0)
    for (const [index, weight] of weights.entries()) {
      left -= weight
      if (left <= 0) return index
    }
    return weights.length - 1
  }
  return { next, whole, normal, gumbel, skewed, shares, choose }
}
type Chance = ReturnType<typeof openChance>

const SYLLABLES = 'ka lo mi ren tar vel dor shi ban que nor fal zu pel gra hin os mur tek wal'.split(' ')
/** One word per number. */
const wordOf = (number: number): string => {
  let word = ''
  let left = number + SYLLABLES.length ** 2
  while (left > 0) {
    word += SYLLABLES[left % SYLLABLES.length]
    left = Math.floor(left / SYLLABLES.length)
  }
  return word
}
const idOf = (number: number, chance: Chance) =>
  `${chance
    .whole(2 ** 32)
    .toString(16)
    .padStart(8, '0')}-0000-4000-8000-${number.toString(16).padStart(12, '0')}`

interface HiddenSeries {
  themes: number[]
  quality: number
  fame: number
}

function makeSeries(count: number, chance: Chance): { entries: LibraryEntry[]; hidden: HiddenSeries[] } {
  const genresOf = Array.from({ length: THEMES }, () => chance.shares(GENRES, 2.4))
  const tagsOf = Array.from({ length: THEMES }, () => chance.shares(TAGS, 2.6))
  // Every theme has its own words in its own order.
  const wordsOf = Array.from({ length: THEMES }, () =>
    Array.from({ length: 250 }, () => BACKGROUND_WORDS + chance.whole(WORDS - BACKGROUND_WORDS)),
  )
  const people = Array.from({ length: Math.ceil(count / 3) }, (_, number) => ({
    name: `${wordOf(number)} ${wordOf(number * 7 + 13)}`,
    themes: chance.shares(THEMES, 2.8),
    skill: chance.normal(),
  }))
  const hidden: HiddenSeries[] = []
  const entries: LibraryEntry[] = []
  for (let index = 0; index < count; index++) {
    const person = people[chance.skewed(people.length, 1.4)]!
    const own = chance.shares(THEMES, 2.8)
    const themes = person.themes.map((share, theme) => 0.55 * share + 0.45 * own[theme]!)
    const quality = 0.5 * person.skill + chance.normal()
    const fame = 0.4 * quality + chance.normal()
    hidden.push({ themes, quality, fame })
    const names = (of: number[][], prefix: string, many: number, noise: number, end: number) => [
      ...new Set(
        Array.from(
          { length: many },
          () => `${prefix} ${wordOf(chance.next() < noise ? chance.whole(end) : chance.choose(of[chance.choose(themes)]!))}`,
        ),
      ),
    ]
    const words = Array.from({ length: WORDS_PER_SUMMARY }, () =>
      wordOf(chance.next() < 0.65 ? chance.skewed(BACKGROUND_WORDS) : wordsOf[chance.choose(themes)]![chance.skewed(250)]!),
    )
    const entry: LibraryEntry = {
      seriesId: idOf(index, chance),
      title: `${wordOf(chance.whole(WORDS))} ${wordOf(wordsOf[chance.choose(themes)]![chance.skewed(250)]!)} ${index}`,
      alternateTitles: [],
      year: 1960 + chance.whole(65),
      genres: names(genresOf, 'Genre', 1 + chance.whole(3), 0.15, GENRES),
      tags: names(tagsOf, 'Tag', chance.whole(7), 0.25, TAGS),
      authors: [person.name, ...(chance.next() < 0.3 ? [people[chance.whole(people.length)]!.name] : [])],
      // Some series of real libraries have no summary.
      summary: chance.next() < 0.15 ? null : words.join(' '),
      language: chance.next() < 0.9 ? 'en' : 'de',
      status: 'ongoing',
      addedAt: new Date(FIRST_DAY + chance.whole(500) * DAY_MS).toISOString(),
      bookCount: 1 + chance.skewed(12),
      communityRating: chance.next() < 0.5 ? Math.min(Math.max(Math.round(65 + 10 * quality + 6 * chance.normal()), 5), 99) : null,
      rating: null,
      booksRead: 0,
      booksStarted: 0,
      lastReadAt: null,
      readers: 0,
    }
    entries.push(entry)
  }
  return { entries, hidden }
}

/** One user: preferences for a few themes, and a share of chance and of popularity. */
function makeUser(hidden: readonly HiddenSeries[], entries: readonly LibraryEntry[], chance: Chance): SyntheticUser {
  const wants = chance.shares(THEMES, 2.2)
  const average = 1 / THEMES
  const taste = new Float64Array(hidden.length)
  const draw = new Float64Array(hidden.length)
  const appeal = new Float64Array(hidden.length)
  const followsCrowd = 0.4 + 1.6 * chance.next()
  for (const [index, { themes, quality, fame }] of hidden.entries()) {
    const match = themes.reduce((sum, share, theme) => sum + share * (wants[theme]! - average), 0)
    taste[index] = 30 * match + 0.5 * quality
    draw[index] = taste[index]! + followsCrowd * fame
    appeal[index] = draw[index]! + chance.gumbel()
  }
  const many = 14 + chance.whole(50)
  const chosen = [...appeal.keys()].sort((a, b) => appeal[b]! - appeal[a]!).slice(0, many)
  // The order is random, so those held out are no worse than the others.
  const order = chosen.map((index) => ({ index, at: chance.next() })).sort((a, b) => a.at - b.at)
  const liked = [...taste].sort((a, b) => a - b)[Math.floor(taste.length * 0.8)]!
  const read = order.map(({ index }, position) => {
    const likes = taste[index]! - liked + 0.7 * chance.normal()
    const share = likes > -0.5 ? 1 : chance.next() < 0.5 ? 0 : 0.3
    const rating = chance.next() < 0.35 ? Math.min(Math.max(Math.round(68 + 14 * likes + 8 * chance.normal()), 5), 100) : null
    return { index, share: entries[index]!.bookCount === 1 && share === 0.3 ? 1 : share, rating, day: position * 9 }
  })
  return { read: read.slice(0, -HELD_OUT), heldOut: read.slice(-HELD_OUT).map(({ index }) => index), taste, draw }
}

export function makeLibrary(seriesCount: number, userCount: number, seed: number): SyntheticLibrary {
  const chance = openChance(seed)
  const { entries, hidden } = makeSeries(seriesCount, chance)
  const users = Array.from({ length: userCount }, () => makeUser(hidden, entries, chance))
  // The popularity is counted without the series held out, or it would reveal them.
  const crowd = new Uint32Array(seriesCount)
  for (const { read } of users) for (const { index } of read) crowd[index]! += 1
  for (const [index, entry] of entries.entries()) entry.readers = crowd[index]! >= 3 ? crowd[index]! : 0
  return { entries, users }
}

/** The library as a user sees it after reading the first of their series. */
export function entriesFor(
  library: SyntheticLibrary,
  user: Pick<SyntheticUser, 'read'>,
  firstOnly = Number.POSITIVE_INFINITY,
): LibraryEntry[] {
  const entries = [...library.entries]
  for (const { index, share, rating, day } of user.read.slice(0, firstOnly)) {
    const entry = entries[index]!
    entries[index] = {
      ...entry,
      rating,
      booksRead: Math.floor((entry.bookCount ?? 0) * share),
      booksStarted: Math.max(1, Math.ceil((entry.bookCount ?? 0) * share)),
      lastReadAt: new Date(FIRST_DAY + (500 + day) * DAY_MS).toISOString(),
    }
  }
  return entries
}
