/**
 * Records of Open Library. Many people wrote them over many years, so any member may be missing or have another type than documented.
 * Every member is read through the functions here.
 */

export type Rec = Record<string, unknown>

export const isRec = (value: unknown): value is Rec => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A text that is not blank; null for anything else. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value.trim() : null)

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** The texts of a list, or a single text in its place. */
export function textsOf(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value]
  return list.map(textOf).filter((text) => text !== null)
}

export const numberOf = (value: unknown): number | null => {
  const number = typeof value === 'string' && /^\s*\d{1,9}\s*$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

/** A long text is a text, or an object with a `value`. */
export const longTextOf = (value: unknown): string | null => textOf(isRec(value) ? value['value'] : value)

/** The key of a referenced record, such as `/works/OL1W`: written as `{ key }` or as the key itself. */
export const keyOf = (value: unknown): string | null => textOf(isRec(value) ? value['key'] : value)

/** `OL1W` of `/works/OL1W`; null when the key is of another kind. */
export const idOf = (value: unknown, kind: 'A' | 'M' | 'W'): string | null =>
  new RegExp(`^(?:/?(?:works|books|authors)/)?(OL\\d{1,15}${kind})$`).exec(keyOf(value) ?? '')?.[1] ?? null

/** The first valid cover; -1 means that a cover was removed. */
export function coverOf(...records: (Rec | null)[]): string | null {
  for (const record of records) {
    const covers = Array.isArray(record?.['covers']) ? record['covers'] : [record?.['cover_i']]
    const cover = covers.map(numberOf).find((id) => id !== null && Number.isInteger(id) && id > 0)
    if (cover !== undefined) return `https://covers.openlibrary.org/b/id/${cover}-L.jpg`
  }
  return null
}

/** A description without the notes below a rule (such as its source) and without Markdown links. */
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

/** Removes duplicates that differ only in case. */
export function distinct(texts: readonly string[]): string[] {
  const seen = new Map<string, string>()
  for (const text of texts) if (!seen.has(text.toLowerCase())) seen.set(text.toLowerCase(), text)
  return [...seen.values()]
}
