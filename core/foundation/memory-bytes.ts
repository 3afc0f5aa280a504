/** The size of an object or array without its members. */
const OBJECT_BYTES = 32
const MEMBER_BYTES = 8
const STRING_BYTES = 24

/**
 * Estimates how much memory a plain value takes, rather too high than too low, because it limits caches. A character counts as two bytes, the size
 * of those beyond Latin-1. The value must be a tree that is no deeper than the stack.
 */
export function memoryBytes(value: unknown): number {
  if (typeof value === 'string') return STRING_BYTES + 2 * value.length
  if (typeof value !== 'object' || value === null) return 0
  // The whole memory of which it may be a part.
  if (ArrayBuffer.isView(value)) return OBJECT_BYTES + value.buffer.byteLength
  const members = value instanceof Map ? [...value].flat() : value instanceof Set ? [...value] : Object.values(value)
  let sum = OBJECT_BYTES
  for (const member of members) sum += MEMBER_BYTES + memoryBytes(member)
  return sum
}
