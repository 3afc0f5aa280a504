import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import zlib from 'node:zlib'
import { refuse } from '#plugins/network/request.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

const HEADER_LENGTH_MAX = 8_192
/** Longer than this no service means it. */
const RETRY_SECONDS_MAX = 86_400

export interface EgressResponse {
  status: number
  /** Of the last hop. */
  url: string
  headers: [name: string, value: string][]
  body: string
  /** How long a service that is busy (429 or 503) asks to wait, in whole seconds. */
  retryAfterSeconds?: number
  /** Whether nobody was asked, for the answer was still here. */
  cached?: true
}

/** How long a service that is busy asks to wait; null when it does not say. */
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
 * What an answer holds, counted before and after it was unpacked: an answer of a few lines may unpack to gigabytes, and one of gigabytes to nothing.
 * @param limits `host` is named in errors
 * @throws GuestError too_large or upstream, and whatever stops it where the signal does
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
    return refuse('upstream', `${host} packs its answer as ${encoding.slice(0, 40)}, which is not taken.`)
  const stream: Readable = unpacker ? response.pipe(unpacker) : response
  const stop = (error?: Error) => {
    stream.destroy(error)
    response.destroy()
  }
  const abort = () => stop(new Error('Aborted.'))
  const tooLarge = new GuestError('thrown', `${host} answers more than ${bytesMax} bytes.`, 'too_large')
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
    refuse('upstream', `The answer of ${host} could not be read to its end.`)
  } finally {
    signal.removeEventListener('abort', abort)
    stop()
  }
  return Buffer.concat(chunks)
}
