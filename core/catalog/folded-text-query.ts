/** Patterns of the operators that look for a part of a text, which is their binding. The others compare the whole. */
const PATTERNS: Record<string, string | undefined> = {
  contains: `'%' || carrel_pattern(?) || '%'`,
  doesNotContain: `'%' || carrel_pattern(?) || '%'`,
  beginsWith: `carrel_pattern(?) || '%'`,
  endsWith: `'%' || carrel_pattern(?)`,
}

/** A folded text compared with a value. LIKE for a whole text too: the index of its parts finds both. */
export const compareFolded = (folded: string, operator: string, value: string): { sql: string; bindings: unknown[] } => {
  const pattern = PATTERNS[operator]
  return { sql: `${folded} LIKE ${pattern ?? 'carrel_pattern(?)'}`, bindings: [pattern === undefined ? value.trim() : value] }
}

/** Whether an operator looks for a part of a text. */
export const asksForPart = (operator: string): boolean => PATTERNS[operator] !== undefined
