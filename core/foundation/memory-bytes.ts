/** Of an object or array, and of each of its members. */
const OBJECT_BYTES = 32
const MEMBER_BYTES = 8
const STRING_BYTES = 24

/**
 * About how much memory a plain value takes, rather more than less: caches are bounded by it. Characters count as two bytes, which those beyond Latin-1 take.
 * The value is a tree, no deeper than the stack.
 */
export function memoryBytes(value: unknown): number {
  if (typeof value === 'string') return STRING_BYTES + 2 * value.length
  if (typeof value !== 'object' || value === null) return 0
  let sum = OBJECT_BYTES
  for (const member of Object.values(value)) sum += MEMBER_BYTES + memoryBytes(member)
  return sum
}
