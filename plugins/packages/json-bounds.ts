/** What a JSON text of a stranger may be built of. */
export interface JsonBounds {
  /** Lists and objects within one another. */
  depthMax: number
  /** Values in all: each member of an object and each entry of a list. */
  valuesMax: number
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c

/**
 * Looks at a text before anything is built of it: a megabyte of brackets becomes 20 MB of objects, and takes a second where each is checked.
 * Each character is looked at once, and nothing is kept.
 * @returns what is beyond the bounds, in words that go on after what the text is; null where nothing is. Whether it is JSON is not asked.
 */
export function jsonExcess(text: string, { depthMax, valuesMax }: JsonBounds): string | null {
  let depth = 0
  let values = 1
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isQuoted) {
      if (code === BACKSLASH) at += 1
      else if (code === QUOTE) isQuoted = false
    } else if (code === QUOTE) isQuoted = true
    else if (code === COMMA) values += 1
    // "[" and "{", "]" and "}" differ in one bit.
    else if ((code | 0x20) === 0x7b) {
      depth += 1
      values += 1
      if (depth > depthMax) return `it is nested deeper than ${depthMax} levels`
    } else if ((code | 0x20) === 0x7d) depth -= 1
    if (values > valuesMax) return `it holds more than ${valuesMax} values`
  }
  return null
}
