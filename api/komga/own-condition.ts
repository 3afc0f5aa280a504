import type { Caller } from '#core/account/caller.ts'
import { type CompiledCondition, compileFilter } from '#core/catalog/filter-query.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'

/** A condition in the grammar of our own lists; `compileFilter` checks it as it checks those of clients. */
export type OwnCondition = Record<string, unknown>

export type FilterTarget = 'books' | 'series'

/** What a client sent for a condition, or for the operand of one: a JSON pointer. */
const sentFor = new WeakMap<object, string>()

/** A copy that remembers what the client sent for it. @param path of a member of the body, or of a query parameter */
export function sentAs(path: string, condition: OwnCondition): OwnCondition {
  const copy = { ...condition }
  sentFor.set(copy, path)
  return copy
}

export function refuseAt(path: string, message: string): never {
  refuse('invalid_request', `The member ${path.slice(1)} ${message}.`, { details: [{ path, message }] })
}

/**
 * As {@link compileFilter}, but errors name what the client sent: it does not know our grammar.
 * @throws invalid_request, forbidden
 */
export function compileSent(condition: OwnCondition, target: FilterTarget, caller: Caller): CompiledCondition {
  try {
    return compileFilter(condition, target, caller)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, details } = error
    if (code === 'forbidden')
      refuse(code, `A filter of this request requires the permission ${(details as { permission: string }).permission}.`, { details })
    if (code !== 'invalid_request') throw error
    const [{ path, message }] = details as [{ path: string; message: string }]
    refuseAt(sentPath(condition, path), message)
  }
}

/** What the client sent for the object that holds the refused member, or for the nearest object around it. */
function sentPath(condition: OwnCondition, refused: string): string {
  let node: unknown = { condition }
  let sent = '/condition'
  for (const name of refused.split('/').slice(1)) {
    sent = sentFor.get(node as object) ?? sent
    node = (node as OwnCondition)[name]
  }
  return sent
}
