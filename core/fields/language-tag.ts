/** A language with its script and region, such as `pt`, `pt-BR` and `zh-Hant-TW`: clients do not use further subtags. */
const TAG = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?$/

/** Converts the language of a book to a BCP 47 tag; null if the text is not a tag, such as the name of a language. */
export function languageTag(text: string | null | undefined): string | null {
  // Most records have none, and an error is slow to make.
  if (!text) return null
  try {
    const [tag = ''] = Intl.getCanonicalLocales(text.replaceAll('_', '-'))
    return TAG.test(tag) ? tag : (/^[a-z]{2,3}(?=-)/.exec(tag)?.[0] ?? null)
  } catch {
    return null
  }
}
