import type { MetadataRecord } from '#core/fields/field.ts'
import { languageTag } from '#core/fields/language-tag.ts'
import { NAME_LENGTH_MAX } from '#core/fields/limits.ts'

const NORWEGIAN = ['en', 'ei', 'et', 'den', 'det', 'de']
/**
 * Articles that sorting ignores at the beginning of a title, by language: only separate words, or those that end with an apostrophe. An article that is a
 * common word in another language ("Die" in English) counts only in its own.
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
  no: NORWEGIAN,
  nb: NORWEGIAN,
  nn: NORWEGIAN,
  ca: ['el', 'la', 'els', 'les', 'l’', "l'", 'un', 'una'],
  hu: ['a', 'az', 'egy'],
}
/**
 * The text by which a title is sorted, "Sandman, The" for "The Sandman"; null if that is the title itself.
 * @param language BCP 47; English if it is unknown, because most file names and most foreign editions use it
 */
export function sortTitleOf(title: string, language: string | null | undefined): string | null {
  const [code = ''] = (language == null ? 'en' : languageTag(language))?.split('-') ?? []
  const articles = ARTICLES[code] ?? []
  // Quotes, brackets and dots before the first letter do not count.
  const bare = title.replace(/^[^\p{L}\p{N}'’]+/u, '')
  // An apostrophe may begin an article (’t); otherwise it does not count either.
  const unquoted = bare.replace(/^['’][^\p{L}\p{N}]*/u, '')
  for (const text of new Set([bare, unquoted])) {
    const sorted = withoutArticle(text, articles)
    if (sorted !== null) return sorted
  }
  return unquoted === title || unquoted === '' ? null : unquoted
}

/** "Sandman, The"; null if the title does not begin with an article. */
function withoutArticle(title: string, articles: readonly string[]): string | null {
  const lower = title.toLowerCase()
  for (const article of articles) {
    const elided = /['’]$/.test(article)
    if (!lower.startsWith(elided ? article : `${article} `)) continue
    const rest = title.slice(article.length).trimStart()
    // If no letter or digit follows "A" or "The", the article is the whole title.
    if (!/[\p{L}\p{N}]/u.test(rest)) continue
    const sorted = `${rest}, ${title.slice(0, article.length)}`
    // In the longest titles there is no room for the article at the end.
    return sorted.length > NAME_LENGTH_MAX ? rest : sorted
  }
  return null
}

/** Derives the sort title of a series from its title and language, unless it is locked or a source gave another one. */
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
