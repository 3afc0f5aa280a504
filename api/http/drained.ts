import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Resolves when more may be written, when nobody listens any more, or when the signal says that nothing more will be. */
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
