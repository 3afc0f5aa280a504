import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

/** Resolves when more may be written, when nobody listens any more, or when the signal says that nothing more will be. */
export async function drained(response: ServerResponse, signal?: AbortSignal): Promise<void> {
  const gone = new AbortController()
  const leave = () => gone.abort()
  response.once('close', leave)
  signal?.addEventListener('abort', leave)
  try {
    if (!response.destroyed && !signal?.aborted) await once(response, 'drain', { signal: gone.signal })
  } catch (error) {
    if (!gone.signal.aborted) throw error
  } finally {
    response.off('close', leave)
    signal?.removeEventListener('abort', leave)
  }
}
