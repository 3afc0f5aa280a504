/** Whether a value that was read from JSON is an object: neither a list nor null. */
export const isObject = <Member = unknown>(value: unknown): value is Record<string, Member> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value of a JSON text; undefined for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The object that a JSON text is; null for anything else. */
export function parseObject<Member = unknown>(text: string): Record<string, Member> | null {
  const value = parseJson(text)
  return isObject<Member>(value) ? value : null
}
