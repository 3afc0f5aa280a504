import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/** The options of `fetch` for a JSON body. */
export function jsonRequest(json: string): IncomingMessage {
  const bytes = Buffer.from(json)
  const headers = { 'content-type': 'application/json', 'content-length': String(bytes.length) }
  return Object.assign(Readable.from([bytes]), { headers }) as unknown as IncomingMessage
}
