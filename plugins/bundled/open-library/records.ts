/**
 * Records of Open Library, as its documentation has them, and as they are: written by many hands over many years, so nothing is sure to be there or to
 * be what it should be. Every member is read through the functions here.
 */

export type Rec = Record<string, unknown>

export const isRec = (value: unknown): value is Rec => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A text with something in it; null for anything else. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value.trim() : null)

/** Texts of a list, or the one that stands in its place. */
export function textsOf(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value]
  return list.map(textOf).filter((text) => text !== null)
}

export const numberOf = (value: unknown): number | null => {
  const number = typeof value === 'string' && /^\s*\d{1,9}\s*$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

/** Long texts are a text, or an object that says of which type its `value` is. */
export const longTextOf = (value: unknown): string | null => textOf(isRec(value) ? value['value'] : value)

/** `/works/OL1W` of a record that stands for another: as `{ key }`, or as the key itself. */
export const keyOf = (value: unknown): string | null => textOf(isRec(value) ? value['key'] : value)

/** `OL1W` of `/works/OL1W`; null when it is none of the kind. */
export const idOf = (value: unknown, kind: 'A' | 'M' | 'W'): string | null =>
  new RegExp(`^(?:/?(?:works|books|authors)/)?(OL\\d{1,15}${kind})$`).exec(keyOf(value) ?? '')?.[1] ?? null

/** The first cover that is one; -1 stands where one was taken away. */
export function coverOf(...records: (Rec | null)[]): string | null {
  for (const record of records) {
    const covers = Array.isArray(record?.['covers']) ? record['covers'] : [record?.['cover_i']]
    const cover = covers.map(numberOf).find((id) => id !== null && Number.isInteger(id) && id > 0)
    if (cover !== undefined) return `https://covers.openlibrary.org/b/id/${cover}-L.jpg`
  }
  return null
}

/** A description without what people put below it: a rule and where it was copied from, and links written as in Markdown. */
export function summaryOf(...records: (Rec | null)[]): string | null {
  for (const record of records) {
    const text = longTextOf(record?.['description']) ?? longTextOf(record?.['first_sentence'])
    if (text === null) continue
    const [body = ''] = text.replace(/\r\n?/g, '\n').split(/\n-{4,}|\n\[1\]:|\n\(?\[source\]/i)
    const plain = body
      .replace(/\(?\[([^\][\n]{1,200})\](?:\[\d{1,3}\]|\([^()\s]{1,500}\))\)?/g, (_, shown: string) =>
        /^source$/i.test(shown) ? '' : shown,
      )
      .replace(/[*_]{2}/g, '')
      .trim()
    if (plain !== '') return plain
  }
  return null
}

/** The same words in other letters are the same subject. */
export function distinct(texts: readonly string[]): string[] {
  const seen = new Map<string, string>()
  for (const text of texts) if (!seen.has(text.toLowerCase())) seen.set(text.toLowerCase(), text)
  return [...seen.values()]
}
