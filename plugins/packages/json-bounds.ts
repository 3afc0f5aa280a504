/** Limits for untrusted JSON. */
interface JsonBounds {
  /** Nesting depth of arrays and objects. */
  depthMax: number
  /** Total number of values: each member of an object and each item of an array. */
  valuesMax: number
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c

/**
 * Scans a text before it is parsed: a megabyte of brackets becomes 20 MB of objects, and takes a second to check against a schema.
 * Reads each character once and stores nothing.
 * @returns what exceeds the limits, as a clause that completes a sentence; null when nothing does. Does not check whether the text is JSON
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
    if (values > valuesMax) return `it contains more than ${valuesMax} values`
  }
  return null
}
