/** Whether a value that was read from JSON is an object: neither a list nor null. */
export const isObject = <Member = unknown>(value: unknown): value is Record<string, Member> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
