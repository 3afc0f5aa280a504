import { normalizeText } from '#core/foundation/text.ts'

/**
 * Ratings by the least age of readers, in years: the values of ComicInfo, then words of other programs and of publishers; where publishers differ, the
 * highest age. How they are written does not matter, see {@link plainOf}.
 */
const AGE_RATINGS: readonly (readonly [years: number, comicInfo: readonly string[], others: readonly string[]])[] = [
  [0, ['Everyone', 'G'], ['All', 'All Ages']],
  [3, ['Early Childhood'], []],
  [6, ['Kids to Adults'], []],
  [8, ['PG'], ['Parental Guidance']],
  [10, ['Everyone 10+'], []],
  [13, ['Teen'], ['T', 'Teens', 'PG-13']],
  [15, ['MA15+'], ['Parental Advisory']],
  [16, [], ['T+', 'Teen Plus', 'Older Teen']],
  [17, ['M', 'Mature 17+'], ['Mature', 'MA', 'R']],
  [
    18,
    ['Adults Only 18+', 'R18+', 'X18+'],
    ['Adult', 'Adults', 'Adults Only', 'Explicit', 'NC-17', 'X', 'XXX', 'Erotica', 'Pornographic', 'Hentai'],
  ],
]

/** Longer than any rating. */
const LENGTH_MAX = 100

/** Without case, spaces and punctuation, except between numbers; "Plus" is "+". */
const plainOf = (text: string): string =>
  normalizeText(text, LENGTH_MAX, 'NFKC')
    .toLowerCase()
    .replaceAll('plus', '+')
    .replace(/[^\p{L}\p{N}+]+/gu, '_')
    .replace(/(?<!\d)_|_(?!\d)/g, '')

const YEARS = new Map(AGE_RATINGS.flatMap(([years, ...words]) => words.flat().map((word) => [plainOf(word), years] as const)))

/** "Teen 13+", "15+ Only". */
const FROM_AGE = /^\D*?(\d{1,2})\+\D*$/
/** "16", "16.0", "+18", "ages 9-12", "FSK 12", "12 years and up". */
const AGE =
  /^(?:\+|aged?|ages|rated|from|fsk|usk|pegi|ab|pg|ma|r)*(\d{1,2})(?:(?:_|to)\d{1,2})?(?:years?|yrs?|and|or|up|over|older|only|jahren?|ans)*$/

/** The age of an age rating in years, 0 to 99; undefined for "Unknown", "Rating Pending" and words that the table does not have. */
export function ageRatingOf(text: string | undefined): number | undefined {
  if (text === undefined || text.length > LENGTH_MAX) return undefined
  const plain = plainOf(text)
  const known = YEARS.get(plain)
  if (known !== undefined) return known
  const age = (FROM_AGE.exec(plain) ?? AGE.exec(plain))?.[1]
  return age === undefined ? undefined : Number(age)
}

/** The table as Markdown, for docs/sharing.md; a test compares the two. */
export function renderAgeRatings(): string {
  const lines = AGE_RATINGS.map(([years, ...words]) => `| ${years} | ${words.map((some) => some.join(', ')).join(' | ')} |`)
  return `${['| Age | In ComicInfo | Also |', '|---|---|---|', ...lines].join('\n')}\n`
}
