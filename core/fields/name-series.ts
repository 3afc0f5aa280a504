import type { NameNumbers } from '#core/fields/name-numbers.ts'
import { folderWords, wordsBefore } from '#core/fields/name-words.ts'
import { FILE_NAME_LENGTH_MAX, type PlainName, YEAR_MARK } from '#core/fields/plain-name.ts'
import { normalizeText } from '#core/foundation/text.ts'

const isSpaced = (word: string) => /^[\p{Script=Latin}\p{Script=Cyrillic}]/u.test(word)
const SPACED = folderWords('side').filter(isSpaced).join('|')
const ATTACHED = folderWords('side')
  .filter((word) => !isSpaced(word))
  .join('|')
/** "SP01", "Love Hina - Special", "Batman Annual 2019", "番外編": at the beginning it is a title, as in "Special Exits". */
const SPECIAL_NUMBER = /(?<![\p{L}\d])(?:sp|ova|hs) ?\d{1,4}(?![\p{L}\d])/iu
const SPECIALS = [SPECIAL_NUMBER, new RegExp(`(?<=[^ ] )(?:${SPACED})(?!\\p{L})`, 'iu'), new RegExp(ATTACHED, 'u')]

const MAY_BE_SPECIAL = new RegExp(`${SPACED}|${ATTACHED}|(?:sp|ova|hs) ?\\d`, 'iu')

/** Whether a name may be that of a special: a quick test before it is read. */
export const mayBeSpecial = (name: string): boolean => MAY_BE_SPECIAL.test(normalizeText(name, FILE_NAME_LENGTH_MAX).replace(/[_.]+/g, ' '))

/** What may follow the series before its numbers: kinds of books, specials, parts, years. */
const TAILS = [
  new RegExp(
    ` (?:${wordsBefore('issue')
      .map((word) => word.replace('.', '\\.'))
      .join('|')})$`,
    'iu',
  ),
  / ?全 ?\d{1,4} ?[巻卷冊册권話话화]$/u,
  / (?:tpb|gn|hc|ogn|c2c|digital|scans?|webrip|one-?shot|omake|extras?|bonus)$/iu,
  new RegExp(`(?: [-–—]|:) (?:\\d{1,3} )?(?:${SPACED})$`, 'iu'),
  new RegExp(`(?:${ATTACHED})$`, 'u'),
  /(?: [-–—]|,)? (?:part|pt\.?|teil|partie|parte|часть|season|saison|staffel) \d{1,3}$/iu,
  /[第제]? ?\d{1,3}(?:部|부|季|기)$/u,
]
/** Beside another year in brackets it is a word of the name, as in "Archie 1955 01 (2019)". */
const YEAR_TAIL = /(?<=[^ ]) (?:[-–—] )?(?:19[3-9]\d|20[0-3]\d)年?$/u
/** Ebooks have their author in front: "Harrison, Kim - Dates from Hell - Hollows Vol 2.5". */
const AUTHOR = /^\p{Lu}[\p{L}'’ -]{1,30}, \p{Lu}[\p{L}. '’-]{0,30} - (?=\p{L})/u
const TITLE_BEFORE_SERIES = /^.* - (?=\p{L}{2})/u
const KINDS = /^bd fr(?: - |-| )/i
const EDGES = new Set([' ', '-', '–', '—', ',', ':', ';', '#', '+', '=', '|', '(', '[', '{', YEAR_MARK])
/** What groups at the beginning hold besides names. */
const TAGS = /^(?:(?:一般|成年)?コミック|漫[画畫]|comics?|manga|raw|自炊|만화)$/iu

/** Where a name says that its book is not one of the numbered ones; null for the others. */
export function specialAt({ free, groups }: PlainName): number | null {
  const found = SPECIALS.flatMap((form) => [
    form.exec(free)?.index ?? [],
    groups.flatMap(({ text, at }) => (form.test(`. ${text}`) ? at : [])),
  ]).flat()
  return found.length === 0 ? null : Math.min(...found)
}

/** The series in a name: what stands before its numbers, the year and the brackets. Null when nothing does. */
export function seriesInName({ free, groups }: PlainName, numbers: NameNumbers): string | null {
  if (numbers.series !== null) return cleaned(numbers.series, TAILS)
  const start = Math.max(0, free.search(/[^ \u0001]/))
  const year = free.indexOf(YEAR_MARK, start)
  const special = SPECIAL_NUMBER.exec(free)?.index
  const group = groups.find(({ at }) => at > start)?.at
  const end = [numbers.at, year === -1 ? null : year, special].filter((at) => typeof at === 'number')
  const tails = groups.some(({ text }) => /(?:19|20)\d\d/.test(text)) ? TAILS : [...TAILS, YEAR_TAIL]
  const named = /^[ \d.]*$/.test(free) ? null : cleaned(free.slice(start, end.length > 0 ? Math.min(...end) : group), tails)
  return named ?? seriesInGroups({ free, groups }, numbers)
}

/** 「進撃の巨人」第1巻 and [銀河英雄伝説][Vol_01]: the name itself is in brackets. */
function seriesInGroups({ free, groups }: Pick<PlainName, 'free' | 'groups'>, { at }: NameNumbers): string | null {
  const isName = /[\p{L}\d]/u.test(free) ? /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{2}/u : /\p{L}{2}/u
  const isOnlyNumbers = free.length - (at ?? free.length) < 8
  const named = groups.find((group) => group.at <= (at ?? 0) && isName.test(group.text) && !TAGS.test(group.text))
  return named && isOnlyNumbers ? cleaned(named.text, TAILS) : null
}

function cleaned(before: string, tails: readonly RegExp[]): string | null {
  // Of "Akira.v01" and "Akira-v01" the last character is no part of the name; in "Neko. - Vol. 1" and "-ナルト- 1" it is.
  const text = untailed(tails, trimEnd(before.replace(/\.$|(?<=\p{L}{3})\. ?$/u, '')))
    .replace(/^[ \-–—:,]{1,20}(?=[^-])/u, '')
    .replace(KINDS, '')
  const series = AUTHOR.test(text) ? text.replace(AUTHOR, '').replace(TITLE_BEFORE_SERIES, '') : text
  return /[\p{L}\p{N}]/u.test(series) ? series : null
}

/** Each tail once: a name may end with several. */
function untailed(tails: readonly RegExp[], text: string): string {
  let rest = text
  for (let left = tails.length; left > 0; left--) {
    const next = trimEnd(tails.reduce((name, tail) => (/[\p{L}\p{N}]/u.test(name.replace(tail, '')) ? name.replace(tail, '') : name), rest))
    if (next === rest) break
    rest = next
  }
  return rest
}

/** The last dash of "NARUTO -ナルト-" belongs to the name. */
function trimEnd(text: string): string {
  const isClosed = /(?:^| )-[^ -]/.test(text)
  let end = text.length
  while (end > 0 && EDGES.has(text[end - 1] as string) && !(isClosed && /^[^ -]-$/.test(text.slice(end - 2, end)))) end--
  return text.slice(0, end)
}
