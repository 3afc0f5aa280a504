/** A language with its script and region, such as `pt`, `pt-BR` and `zh-Hant-TW`: more of a tag says nothing to a reader app. */
const TAG = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?$/

/** What is written as the language of a book, as a tag of BCP 47; null where it is none, such as the name of a language. */
export function languageTag(text: string | null | undefined): string | null {
  try {
    const [tag = ''] = Intl.getCanonicalLocales((text ?? '').replaceAll('_', '-'))
    return TAG.test(tag) ? tag : (/^[a-z]{2,3}(?=-)/.exec(tag)?.[0] ?? null)
  } catch {
    return null
  }
}
