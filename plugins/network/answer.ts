import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import zlib from 'node:zlib'

import { GuestError, refuseGuest } from '#plugins/runtime/guest-error.ts'

const HEADER_LENGTH_MAX = 8_192
/** No service means a longer time. */
const RETRY_SECONDS_MAX = 86_400

export interface EgressResponse {
  status: number
  /** Of the last hop. */
  url: string
  headers: [name: string, value: string][]
  body: string
  /** How long a busy service (429 or 503) asks to wait, in whole seconds. */
  retryAfterSeconds?: number
  /** Whether the response comes from the cache. */
  cached?: true
}

/** How long a busy service asks to wait; null when it does not say. */
export function retryAfterMs({ statusCode, headers }: IncomingMessage): number | null {
  const given = headers['retry-after']?.trim()
  if ((statusCode !== 429 && statusCode !== 503) || given === undefined) return null
  const waitMs = /^\d{1,9}$/.test(given) ? Number(given) * 1000 : Date.parse(given) - Date.now()
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), RETRY_SECONDS_MAX * 1000)
}

export function headersOf({ headers }: IncomingMessage): [string, string][] {
  return Object.entries(headers)
    .filter(([name]) => name !== 'set-cookie')
    .map(
      ([name, value]) => [name, (Array.isArray(value) ? value.join(', ') : (value ?? '')).slice(0, HEADER_LENGTH_MAX)] as [string, string],
    )
}

/**
 * The body of a response, limited before and after decompression: a short response may decompress to gigabytes, and a response of gigabytes to nothing.
 * @param limits `host` appears in errors
 * @throws GuestError too_large or upstream, and the reason of the signal when it aborts
 */
export async function readBody(
  response: IncomingMessage,
  { method, host, bytesMax }: { method: string; host: string; bytesMax: number },
  signal: AbortSignal,
): Promise<Buffer> {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase() || 'identity'
  const isEmpty = method === 'HEAD' || response.statusCode === 204 || response.statusCode === 304
  if (isEmpty) return Buffer.alloc(0)
  const unpackers: Record<string, () => NodeJS.ReadWriteStream & Readable> = {
    gzip: zlib.createGunzip,
    'x-gzip': zlib.createGunzip,
    br: zlib.createBrotliDecompress,
  }
  const unpacker = Object.hasOwn(unpackers, encoding) ? unpackers[encoding]?.() : undefined
  if (unpacker === undefined && encoding !== 'identity')
    return refuseGuest('upstream', `${host} uses the content encoding ${encoding.slice(0, 40)}, which is not supported.`)
  const tooLarge = new GuestError('thrown', `The response of ${host} exceeds ${bytesMax} bytes.`, 'too_large')
  // Nobody waits for what is announced as too large.
  if (Number(response.headers['content-length']) > bytesMax) throw tooLarge
  const stream: Readable = unpacker ? response.pipe(unpacker) : response
  const stop = (error?: Error) => {
    stream.destroy(error)
    response.destroy()
  }
  const abort = () => stop(new Error('Aborted.'))
  signal.addEventListener('abort', abort, { once: true })
  if (unpacker) {
    let packed = 0
    response.on('error', stop)
    response.on('data', ({ length }: Buffer) => {
      packed += length
      if (packed > bytesMax) stop(tooLarge)
    })
  }
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > bytesMax) throw tooLarge
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof GuestError || signal.aborted) throw error
    refuseGuest('upstream', `The response of ${host} ended early or is damaged.`)
  } finally {
    signal.removeEventListener('abort', abort)
    stop()
  }
  return Buffer.concat(chunks)
}
