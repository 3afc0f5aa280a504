import type { SeriesMetadata } from '../../../plugin-sdk/index.ts'
import { idOf, isRec, listOf, numberOf, type Rec, recsOf, SITE, textOf } from './graphql.ts'

/** A manga or a novel as AniList returns it. Any member may be null, and is read through the functions here. */

export const TITLE_LANGUAGES = ['english', 'romaji', 'native'] as const
export type TitleLanguage = (typeof TITLE_LANGUAGES)[number]

/** Entries of one list; longer lists are spam. */
const LIST_MAX = 50
const TITLE_LENGTH_MAX = 500
/** The longest descriptions have 5,000 characters. */
const DESCRIPTION_LENGTH_MAX = 20_000
/** Genres that are adult by definition. */
const ADULT_GENRES = new Set(['hentai'])

const cut = (text: string, length: number): string => text.slice(0, length).toWellFormed()

const texts = (value: unknown): string[] =>
  listOf(value)
    .map(textOf)
    .filter((text) => text !== null)
    .map((text) => cut(text, TITLE_LENGTH_MAX))

const titled = (media: Rec, language: string): string | null => {
  const title = textOf(isRec(media['title']) ? media['title'][language] : null)
  return title === null ? null : cut(title, TITLE_LENGTH_MAX)
}

/** The title in this language, or in the next best one; null for a work without titles. */
export const titleOf = (media: Rec, language: TitleLanguage): string | null =>
  titled(media, language) ??
  titled(media, 'english') ??
  titled(media, 'romaji') ??
  titled(media, 'userPreferred') ??
  titled(media, 'native')

export const countryOf = (media: Rec): string | null => {
  const country = textOf(media['countryOfOrigin'])
  return country !== null && /^[A-Z]{2}$/.test(country) ? country : null
}

/** Languages of the country's script and of its romanization. */
const LANGUAGES: Readonly<Record<string, readonly [native: string, romanized: string]>> = {
  JP: ['ja', 'ja-Latn'],
  KR: ['ko', 'ko-Latn'],
  CN: ['zh-Hans', 'zh-Latn'],
  TW: ['zh-Hant', 'zh-Latn'],
}

/** All titles, with the language of each where it is known, without duplicates. */
export function namesOf(media: Rec): { title: string; language: string | null; label: string | null }[] {
  const [native = null, romanized = null] = LANGUAGES[countryOf(media) ?? ''] ?? []
  const named = [
    { title: titled(media, 'english'), language: 'en', label: 'English' },
    { title: titled(media, 'romaji'), language: romanized, label: 'Romaji' },
    { title: titled(media, 'native'), language: native, label: 'Native' },
    ...texts(media['synonyms']).map((title) => ({ title, language: null, label: 'Synonym' })),
  ]
  const seen = new Set<string>()
  return named
    .filter((name): name is (typeof named)[number] & { title: string } => name.title !== null)
    .filter(({ title }) => !seen.has(title.toLowerCase()) && seen.add(title.toLowerCase()))
    .slice(0, LIST_MAX)
}

const STATUSES = {
  FINISHED: 'ended',
  RELEASING: 'ongoing',
  HIATUS: 'hiatus',
  CANCELLED: 'abandoned',
  NOT_YET_RELEASED: 'unknown',
} as const

export const statusOf = (media: Rec): NonNullable<SeriesMetadata['status']> | null =>
  STATUSES[media['status'] as keyof typeof STATUSES] ?? null

export const formatOf = (media: Rec): string | null => {
  const format = textOf(media['format'])
  return format !== null && /^[A-Z_]{1,30}$/.test(format) ? format : null
}

export const isAdult = (media: Rec): boolean => media['isAdult'] === true

export const genresOf = (media: Rec, withAdult: boolean): string[] =>
  texts(media['genres'])
    .filter((genre) => withAdult || !ADULT_GENRES.has(genre.toLowerCase()))
    .slice(0, LIST_MAX)

/** Tags with enough votes, the highest rank first. Spoiler tags are always left out. */
export function tagsOf(
  media: Rec,
  { withAdult, rankMin }: { withAdult: boolean; rankMin: number },
): { name: string; category: string | null; rank: number }[] {
  return recsOf(media['tags'])
    .filter((tag) => tag['isMediaSpoiler'] !== true && tag['isGeneralSpoiler'] !== true && (withAdult || tag['isAdult'] !== true))
    .map((tag) => ({ name: textOf(tag['name']), category: textOf(tag['category']), rank: numberOf(tag['rank']) ?? 0 }))
    .filter((tag): tag is { name: string; category: string | null; rank: number } => tag.name !== null && tag.rank >= rankMin)
    .map((tag) => ({ ...tag, name: cut(tag.name, 200), category: tag.category === null ? null : cut(tag.category, 100) }))
    .sort((a, b) => b.rank - a.rank)
    .slice(0, LIST_MAX)
}

const isWeb = (value: unknown): value is string => typeof value === 'string' && /^https:\/\/[^\s\\]{1,1900}$/.test(value)

/** Null for AniList's placeholder picture. */
export function coverOf(media: Rec): string | null {
  const cover = isRec(media['coverImage']) ? media['coverImage'] : {}
  return [cover['extraLarge'], cover['large']].filter(isWeb).find((url) => !/\/default\.\w{1,5}$/.test(url)) ?? null
}

export const pageOf = (media: Rec): string | null => {
  const [url, id] = [media['siteUrl'], idOf(media['id'])]
  return isWeb(url) && url.startsWith(`${SITE}/`) ? url : id === null ? null : `${SITE}/manga/${id}`
}

export const linksOf = (media: Rec): { label: string; url: string }[] =>
  recsOf(media['externalLinks'])
    .flatMap(({ site, url }) => (isWeb(url) ? [{ label: cut(textOf(site) ?? 'Link', 100), url }] : []))
    .slice(0, LIST_MAX)

/** Identifiers at other services, by the names of the services. */
export function idsOf(media: Rec): Record<string, string> {
  const myAnimeList = idOf(media['idMal'])
  return myAnimeList === null ? {} : { myanimelist: String(myAnimeList) }
}

export function yearOf(media: Rec): number | null {
  const year = numberOf(isRec(media['startDate']) ? media['startDate']['year'] : null)
  return year !== null && Number.isInteger(year) && year >= 1_000 && year <= 2_999 ? year : null
}

/** From 0 to 100. The average is weighted by the number of votes; with few votes there is only the mean. */
export const scoreOf = (media: Rec): number | null => {
  const score = numberOf(media['averageScore']) ?? numberOf(media['meanScore'])
  return score !== null && score > 0 && score <= 100 ? score : null
}

/** A count, where known: 0 means that nobody has entered one. */
export const countOf = (value: unknown): number | null => {
  const count = numberOf(value)
  return count !== null && Number.isInteger(count) && count > 0 ? count : null
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  eacute: 'é',
  times: '×',
  middot: '·',
  deg: '°',
}

function decode(whole: string, name: string): string {
  if (!name.startsWith('#')) return ENTITIES[name.toLowerCase()] ?? whole
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
  return code >= 0x20 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : ''
}

/** Removes spoilers, which AniList marks with `~!` and `!~`. */
function withoutSpoilers(text: string): string {
  let [shown, rest] = ['', text]
  for (;;) {
    const from = rest.indexOf('~!')
    if (from === -1) return shown + rest
    const to = rest.indexOf('!~', from + 2)
    shown += rest.slice(0, from)
    // An unclosed spoiler hides the rest.
    if (to === -1) return shown
    rest = rest.slice(to + 2)
  }
}

/** The description as plain text, without tags, spoilers and source notes. Null where nothing is left. */
export function descriptionOf(media: Rec): string | null {
  const written = textOf(media['description'])
  if (written === null) return null
  const lines = withoutSpoilers(written.slice(0, DESCRIPTION_LENGTH_MAX).replace(/\r\n?/g, '\n'))
    .replace(/<(?:br|p|\/p)\b[^<>]{0,100}>/gi, '\n')
    .replace(/<\/?[a-z][^<>]{0,500}>/gi, '')
    .replace(/\[([^\][\n]{1,200})\]\([^()\s]{1,500}\)/g, '$1')
    .replace(/[*_]{2,3}/g, '')
    .replace(/&(#x[\da-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, decode)
    .split('\n')
    .map((line) =>
      line
        .replace(/[([]\s{0,3}source\b[^()[\]]{0,200}[)\]]/gi, '')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    .filter((line) => !/^source\s?:/i.test(line))
  const plain = lines
    .join('\n')
    .replace(/\n{2,}/g, '\n\n')
    .trim()
    .toWellFormed()
  return plain === '' ? null : plain
}
