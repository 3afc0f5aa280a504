import { useEffect } from 'react'
import { findUserId } from '#api/session.ts'
import { sendLocator } from './epub/text-progress.ts'
import { sendPage } from './pages/page-progress.ts'
import type { Progression } from './records.ts'
import { sendAllKept, sendKept, type Unsent, type UnsentOf } from './shared/unsent.ts'
import { useReturn } from './shared/use-return.ts'

/** Sends a place that an earlier reader could not send. A later one, of another device, holds without a question: this one was left long ago. */
async function send({ bookId }: UnsentOf, { sent, basedOn }: Unsent): Promise<boolean> {
  const request = { basedOn, keepalive: false }
  const { page, isCompleted, href } = (sent ?? {}) as { page?: unknown; isCompleted?: unknown; href?: unknown }
  let answer: { kind: string } = { kind: 'refused' }
  if (typeof page === 'number') answer = await sendPage(bookId, { page, isCompleted: isCompleted === true }, request)
  else if (typeof href === 'string') answer = await sendLocator(bookId, sent as Progression['locator'], request)
  return answer.kind !== 'later'
}

/** Sends what is kept of the place in a book, before it is opened. */
export const sendUnsent = (bookId: string): Promise<boolean> => sendKept({ userId: findUserId(), bookId }, send)

async function sendAll(): Promise<void> {
  const userId = findUserId()
  if (userId !== null) await sendAllKept(userId, { send, isSameUser: () => findUserId() === userId })
}

let walk = Promise.resolve()

/** One after the other: an attempt that began without a server ends by itself, and the next one finds what it left. */
function sendAllUnsent(): void {
  walk = walk.then(sendAll, sendAll)
}

/** Sends the places that are kept on this device: for a user who is signed in, at the start of the page, and each time when the server is back. */
export function useUnsent(userId: string | null): void {
  useEffect(() => {
    if (userId !== null) sendAllUnsent()
  }, [userId])
  useReturn(sendAllUnsent)
}
