import { api, ask } from '#api/client.ts'
import type { Progression } from '../records.ts'
import type { Answer, BasedOn } from '../shared/progress-recorder.ts'
import { answerOfRefusal } from '../shared/refusal.ts'
import type { Locator } from './text-locator.ts'

/** Where the user read on another device. */
export interface TextElsewhere {
  locator: Locator
  updatedAt: string
  /** As the device names itself. */
  device: string
}

const DEVICE_KEY = 'carrel.device'
const DEVICE_BYTES = 8

/** Names this browser to other devices; a new name each time where storage is refused. */
function findDevice(): { id: string; name: string } {
  let id = ''
  try {
    id = localStorage.getItem(DEVICE_KEY) ?? ''
  } catch {}
  if (id === '') {
    // Without randomUUID: browsers give it to secure addresses only.
    id = Array.from(crypto.getRandomValues(new Uint8Array(DEVICE_BYTES)), (byte) => byte.toString(16).padStart(2, '0')).join('')
    try {
      localStorage.setItem(DEVICE_KEY, id)
    } catch {}
  }
  return { id, name: 'Carrel' }
}

/** Records a place in a text. */
export async function sendLocator(
  bookId: string,
  locator: Locator,
  { basedOn, keepalive }: { basedOn: BasedOn; keepalive: boolean },
): Promise<Answer<TextElsewhere>> {
  try {
    const modified = new Date().toISOString()
    const body = { modified, device: findDevice(), locator, ...(basedOn !== undefined && { basedOn }) }
    const recorded = await ask(api.PUT('/api/v1/books/{bookId}/progression', { params: { path: { bookId } }, body, keepalive }))
    // Without `basedOn` the answer is empty; what follows is based on the time of this device then.
    return { kind: 'recorded', updatedAt: (recorded as { updatedAt?: string } | undefined)?.updatedAt ?? modified }
  } catch (error) {
    return answerOfRefusal(error, readElsewhere)
  }
}

function readElsewhere(details: unknown): TextElsewhere | null {
  const { progress, progression } = (details ?? {}) as { progress?: { updatedAt?: unknown } | null; progression?: Progression | null }
  return progression && typeof progress?.updatedAt === 'string'
    ? { locator: progression.locator, updatedAt: progress.updatedAt, device: progression.device.name }
    : null
}
