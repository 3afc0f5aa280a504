import type { MetadataRecord } from '#core/metadata/field.ts'
import { NAME_LENGTH_MAX } from '#core/metadata/limits.ts'

/**
 * Articles that a title of this language is not looked for under. Only those that stand at the beginning of titles as a word of their own, or
 * end with an apostrophe; where one is a common word of its own too ("Die" in English), it counts in its language alone.
 */
const ARTICLES: Readonly<Record<string, readonly string[]>> = {
  en: ['the', 'a', 'an'],
  de: ['der', 'die', 'das', 'ein', 'eine'],
  fr: ['le', 'la', 'les', 'l’', "l'", 'un', 'une', 'des'],
  es: ['el', 'la', 'los', 'las', 'un', 'una', 'unos', 'unas'],
  it: ['il', 'lo', 'la', 'i', 'gli', 'le', 'l’', "l'", 'un', 'uno', 'una', 'un’', "un'"],
  pt: ['o', 'a', 'os', 'as', 'um', 'uma', 'uns', 'umas'],
  nl: ['de', 'het', 'een', '’t', "'t"],
  sv: ['en', 'ett', 'den', 'det', 'de'],
  da: ['en', 'et', 'den', 'det', 'de'],
  no: ['en', 'ei', 'et', 'den', 'det', 'de'],
  ca: ['el', 'la', 'els', 'les', 'l’', "l'", 'un', 'una'],
  hu: ['a', 'az', 'egy'],
}
/** Languages whose code has more than one form. */
const SAME_LANGUAGE: Readonly<Record<string, string>> = {
  nb: 'no',
  nn: 'no',
  eng: 'en',
  ger: 'de',
  deu: 'de',
  fre: 'fr',
  fra: 'fr',
  spa: 'es',
  ita: 'it',
  por: 'pt',
  dut: 'nl',
  nld: 'nl',
  swe: 'sv',
  dan: 'da',
  nor: 'no',
  nob: 'no',
  nno: 'no',
  cat: 'ca',
  hun: 'hu',
}

/**
 * What a title is sorted by, "Sandman, The" for "The Sandman"; null when that is the title itself.
 * @param language BCP 47; English where it is unknown, the language that most file names and most foreign editions use
 */
export function sortTitleOf(title: string, language: string | null | undefined): string | null {
  const code = (language ?? 'en').toLowerCase().split(/[-_]/, 1)[0] as string
  const articles = ARTICLES[SAME_LANGUAGE[code] ?? code] ?? []
  // Quotes, brackets and dots before the first letter are no reason to stand elsewhere.
  const bare = title.replace(/^[^\p{L}\p{N}'’]+/u, '')
  // An apostrophe may begin an article (’t); otherwise it is such a sign too.
  const unquoted = bare.replace(/^['’][^\p{L}\p{N}]*/u, '')
  for (const text of new Set([bare, unquoted])) {
    const sorted = withoutArticle(text, articles)
    if (sorted !== null) return sorted
  }
  return unquoted === title || unquoted === '' ? null : unquoted
}

/** "Sandman, The"; null where no article stands first. */
function withoutArticle(title: string, articles: readonly string[]): string | null {
  const lower = title.toLowerCase()
  for (const article of articles) {
    const elided = /['’]$/.test(article)
    if (!lower.startsWith(elided ? article : `${article} `)) continue
    const rest = title.slice(article.length).trimStart()
    // "A" or "The" alone, or before nothing but a sign, is the whole title.
    if (!/[\p{L}\p{N}]/u.test(rest)) continue
    const sorted = `${rest}, ${title.slice(0, article.length)}`
    // The longest titles have no room for the comma.
    return sorted.length > NAME_LENGTH_MAX ? rest : sorted
  }
  return null
}

/** A series whose sort title follows its title and language, where neither a lock nor somebody's own sort title stands against it. */
export function withSortTitle<Record extends MetadataRecord>(record: Record): Record {
  const { values, sources, locks } = record
  const isOwn = values.titleSort !== undefined && sources.titleSort !== 'file_name'
  if (isOwn || locks.has('titleSort') || typeof values.title !== 'string') return record
  const titleSort = sortTitleOf(values.title, typeof values.language === 'string' ? values.language : null)
  const { titleSort: _, ...otherValues } = values
  const { titleSort: __, ...otherSources } = sources
  if (titleSort === null) return { ...record, values: otherValues, sources: otherSources }
  return { ...record, values: { ...otherValues, titleSort }, sources: { ...otherSources, titleSort: 'file_name' } }
}
