import { apply, isArray, objectToString, slice, stringify, textOr, toText } from './built-ins.ts'
import type { Call } from './call.ts'
import { limits } from './channel.ts'
import { tell } from './host-calls.ts'

/** Of a key, a message, a path or a value: enough to find it. */
const TEXT_LENGTH_MAX = 200

/** A part of a value that does not arrive at the server: where it is, as a JSON pointer, and what it is. */
interface Loss {
  path: string
  kind: string
}

/**
 * What of a value does not arrive, for the author of traced code: members of a message to the server.
 * @param of the function of `ctx`
 * @param name the key or the message of its call
 */
export function describeLoss(of: string, name: unknown, loss: Loss | null): object | null {
  if (loss === null) return null
  const brief = (text: unknown) => slice(textOr(text, ''), 0, TEXT_LENGTH_MAX)
  return { lost: brief(loss.kind), of, name: brief(name), path: brief(loss.path) }
}

/** Tells it without a line of the log. */
export function tellLoss(call: Call, of: string, name: unknown, loss: Loss | null): void {
  const said = describeLoss(of, name, loss)
  if (said === null) return
  call.lines += 1
  if (call.lines <= limits.logLines) tell(call, 'log', said)
}

/** The first part of a value that JSON does not keep. Null when there is none, and for a value that JSON refuses as a whole. */
export function lossIn(value: unknown): Loss | null {
  // The objects from the value down to the part, and their paths, from 1.
  const holders: unknown[] = []
  const paths: string[] = []
  let depth = 0
  let found: Loss | null = null
  try {
    stringify(value, function (this: unknown, name: string, part: unknown) {
      if (found !== null) return undefined
      while (depth > 0 && holders[depth] !== this) depth -= 1
      const path = depth === 0 ? '' : `${paths[depth]}/${name}`
      const kind = lostKind(part)
      if (kind !== null) found = { path, kind }
      if (part !== null && typeof part === 'object') {
        depth += 1
        holders[depth] = part
        paths[depth] = path
      }
      return part
    })
  } catch {
    return null
  }
  return found
}

/** What a value is that JSON drops, or keeps as null or an empty object. An absent value is meant to be absent. */
function lostKind(part: unknown): string | null {
  if (typeof part === 'function' || typeof part === 'symbol') return typeof part
  if (typeof part === 'number') return part - part === 0 ? null : toText(part)
  if (part === null || typeof part !== 'object' || isArray(part)) return null
  // Such as "[object Map]".
  const kind = slice(apply(objectToString, part, []), 8, -1)
  return kind === 'Error' || (kind !== 'Object' && stringify(part) === '{}') ? kind : null
}

/** A value in place of a number, for its author. */
export function briefOf(value: unknown): string {
  if (typeof value === 'string') return `"${slice(value, 0, TEXT_LENGTH_MAX)}"`
  return typeof value === 'number' ? toText(value) : `of type ${typeof value}`
}
