import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Resolves when the stream accepts more, when it is closed, or when the signal aborts. */
export async function drained(target: Writable, signal?: AbortSignal): Promise<void> {
  const gone = new AbortController()
  const leave = () => gone.abort()
  target.once('close', leave)
  signal?.addEventListener('abort', leave)
  try {
    if (!target.destroyed && !signal?.aborted) await once(target, 'drain', { signal: gone.signal })
  } catch (error) {
    if (!gone.signal.aborted) throw error
  } finally {
    target.off('close', leave)
    signal?.removeEventListener('abort', leave)
  }
}
