import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { findReadableBooks, type ReadableBook } from '#core/book/page-query.ts'

/**
 * Looks books up with the rights that hold at that moment. Rights are never remembered: every answer comes from a statement that
 * began after it was asked for. While one statement of a caller is under way, what the caller asks for meanwhile waits and then
 * shares the next one: sixteen pages asked at once cost two or three statements instead of sixteen (each is as dear as half the
 * reading of a page).
 */
export interface BookLookup {
  /** The book when the caller may see it, else null. */
  find(caller: Caller, bookId: string): Promise<ReadableBook | null>
}

type Found = Map<string, ReadableBook>

interface Batch {
  ids: Set<string>
  found: Promise<Found>
}

export function openBookLookup(database: Knex): BookLookup {
  /** Per user: the statement under way, and the one that waits for it. */
  const running = new Map<string, Promise<unknown>>()
  const waiting = new Map<string, Batch>()

  function send(caller: Caller, ids: Set<string>): Promise<Found> {
    const found = findReadableBooks(database, caller, [...ids])
    const ended = found
      .catch(() => {})
      .then(() => {
        if (running.get(caller.userId) === ended) running.delete(caller.userId)
      })
    running.set(caller.userId, ended)
    return found
  }

  function nextBatch(caller: Caller, before: Promise<unknown>): Batch {
    const ids = new Set<string>()
    const found = before.then(() => {
      waiting.delete(caller.userId)
      return send(caller, ids)
    })
    const batch = { ids, found }
    waiting.set(caller.userId, batch)
    return batch
  }

  return {
    async find(caller, askedId) {
      // As the database writes it; a client may have written it in capitals.
      const bookId = askedId.toLowerCase()
      const before = running.get(caller.userId)
      if (!before) return (await send(caller, new Set([bookId]))).get(bookId) ?? null
      const batch = waiting.get(caller.userId) ?? nextBatch(caller, before)
      batch.ids.add(bookId)
      return (await batch.found).get(bookId) ?? null
    },
  }
}
