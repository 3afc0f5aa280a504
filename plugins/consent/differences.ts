import { isDeepStrictEqual } from 'node:util'
import { escapePointer } from '#core/foundation/json-pointer.ts'
import { hasHost } from '#plugins/consent/record.ts'

/** One difference of two records. */
export interface ConsentDifference {
  /** JSON pointer. An entry of a list has its host or its own text as its last part: /manifest/permissions/network/api.example.org. */
  path: string
  kind: 'added' | 'removed' | 'changed'
  /** Absent when it was added. */
  before?: unknown
  /** Absent when it was removed. */
  after?: unknown
}

/** The differences of two records, or of the same part of both, by path; none exactly when they have the same hash. */
export const differencesOf = (before: object, after: object): ConsentDifference[] =>
  [...compare(before, after, '')].sort((a, b) => (a.path < b.path ? -1 : 1))

function* compare(before: unknown, after: unknown, path: string): Generator<ConsentDifference> {
  if (isDeepStrictEqual(before, after)) return
  const [from, to] = [membersOf(before), membersOf(after)]
  const isSameKind = from !== null && to !== null && Array.isArray(before) === Array.isArray(after)
  const isReordered =
    Array.isArray(before) && from?.size === to?.size && [...(from ?? [])].every(([name, one]) => isDeepStrictEqual(one, to?.get(name)))
  if (!isSameKind || isReordered) {
    yield { path, kind: 'changed', before, after }
    return
  }
  for (const [name, one] of from)
    if (to.has(name)) yield* compare(one, to.get(name), `${path}/${escapePointer(name)}`)
    else yield { path: `${path}/${escapePointer(name)}`, kind: 'removed', before: one }
  for (const [name, one] of to) if (!from.has(name)) yield { path: `${path}/${escapePointer(name)}`, kind: 'added', after: one }
}

/** The members of an object, or of a list in which each has a name; null for everything else, which is compared whole. */
function membersOf(value: unknown): Map<string, unknown> | null {
  if (value === null || typeof value !== 'object') return null
  if (!Array.isArray(value)) return new Map(Object.entries(value))
  const named = new Map<string, unknown>()
  for (const one of value) {
    const name = typeof one === 'string' ? one : hasHost(one) ? one.host : null
    if (name === null || named.has(name)) return null
    named.set(name, one)
  }
  return named
}
