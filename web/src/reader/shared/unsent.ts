/** A place that could not be sent, as it is kept on this device. */
export interface Unsent {
  sent: unknown
  basedOn: string | null
}

/** Whose place in which book: the next person at this device must not send it as theirs. */
export interface UnsentOf {
  userId: string | null
  bookId: string
}

const keyOf = ({ userId, bookId }: UnsentOf) => `carrel.unsent.${userId}.${bookId}`

/** Keys of places whose reader is open in this tab: it sends them itself, and a second request could be taken for another device. */
const held = new Set<string>()

/** For the reader of a book, while it is open. Returns what ends that. */
export function holdUnsent(of: UnsentOf): () => void {
  held.add(keyOf(of))
  return () => void held.delete(keyOf(of))
}

/** Keeps a place over the end of the page; null forgets it. Storage may be refused: then it is lost with the page. */
export function keepUnsent(of: UnsentOf, unsent: Unsent | null): void {
  try {
    if (unsent) localStorage.setItem(keyOf(of), JSON.stringify(unsent))
    else localStorage.removeItem(keyOf(of))
  } catch {}
}

/** The kept place of a user in a book; null without one, or for what no version of this program wrote. */
export function findUnsent(of: UnsentOf): Unsent | null {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(keyOf(of)) ?? 'null')
    return typeof value === 'object' && value !== null && 'sent' in value && 'basedOn' in value ? (value as Unsent) : null
  } catch {
    return null
  }
}

/** Sends a place. @returns whether the server has answered: what it refuses is not sent again */
export type SendUnsent = (of: UnsentOf, unsent: Unsent) => Promise<boolean>

/** Requests that are not answered yet, by key. */
const sending = new Map<string, Promise<boolean>>()

/** Sends the kept place of a book, if any, and forgets it once the server has answered. @returns false if it must be sent later */
export function sendKept(of: UnsentOf, send: SendUnsent): Promise<boolean> {
  const key = keyOf(of)
  // A second request could arrive after a reader has begun from what the first recorded, and would be taken for another device.
  const attempt = sending.get(key) ?? sendOnce(of, send).finally(() => sending.delete(key))
  sending.set(key, attempt)
  return attempt
}

async function sendOnce(of: UnsentOf, send: SendUnsent): Promise<boolean> {
  const unsent = findUnsent(of)
  if (!unsent) return true
  const isAnswered = await send(of, unsent)
  // A reader may have kept a later place meanwhile.
  if (isAnswered && JSON.stringify(findUnsent(of)) === JSON.stringify(unsent)) keepUnsent(of, null)
  return isAnswered
}

/**
 * Sends what is kept of the places of a user, one after the other, except of books that are open. It ends at the first that must be sent later.
 * @param isSameUser whether this user is still the one who is signed in
 */
export async function sendAllKept(userId: string, { send, isSameUser }: { send: SendUnsent; isSameUser(): boolean }): Promise<void> {
  for (const bookId of listKept(userId)) {
    const of = { userId, bookId }
    if (held.has(keyOf(of))) continue
    if (!isSameUser() || !(await sendKept(of, send))) return
  }
}

/** The books in which a place of a user is kept. */
function listKept(userId: string): string[] {
  const start = keyOf({ userId, bookId: '' })
  try {
    const keys = Array.from({ length: localStorage.length }, (_, at) => localStorage.key(at) ?? '')
    return keys.flatMap((key) => (key.startsWith(start) ? [key.slice(start.length)] : []))
  } catch {
    return []
  }
}
