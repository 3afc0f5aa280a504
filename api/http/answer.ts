import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { KnownAnswer } from '#api/http/answer-memory.ts'
import { checkConditions } from '#api/http/conditional.ts'
import { drained } from '#api/http/drained.ts'
import { jsonChunks, shortJson } from '#api/http/json-chunks.ts'
import type { Refusal } from '#api/http/mount.ts'
import type { ErrorAnswer } from '#api/http/reply.ts'
import { appendVary, compress, GZIP_BYTES_MIN, sendNothing, takesGzip } from '#api/http/response.ts'
import { AppError } from '#core/foundation/errors.ts'

/** Longer answers are streamed while they are written, so that memory depends neither on their length nor on a slow client. */
const BUFFERED_BYTES_MAX = 1_048_576

export const JSON_TYPE = 'application/json; charset=utf-8'

/** A value as JSON: whole, or what has been written so far of a longer one. */
type EncodedJson = { whole: Buffer } | { whole: null; buffered: readonly Buffer[]; chunks: AsyncGenerator<Buffer> }

export async function encodeJson(value: unknown): Promise<EncodedJson> {
  const short = shortJson(value)
  if (short !== null) return { whole: short }
  const chunks = jsonChunks(value)
  const buffered: Buffer[] = []
  let length = 0
  while (length < BUFFERED_BYTES_MAX) {
    const { value: chunk, done } = await chunks.next()
    if (chunk) {
      buffered.push(chunk)
      length += chunk.length
    }
    if (done === true) return { whole: buffered.length === 1 ? buffered[0]! : Buffer.concat(buffered) }
  }
  return { whole: null, buffered, chunks }
}

/**
 * Sends a value as JSON, compressed if the client accepts gzip and it is worth it. An error before the first byte can still be answered;
 * a later one closes the connection, so that no client takes half an answer for a whole one.
 */
export async function sendJson(response: ServerResponse, status: number, value: unknown, mediaType = JSON_TYPE): Promise<void> {
  await sendEncoded(response, status, await encodeJson(value), mediaType)
}

/** Sends JSON that is for this request alone. */
export async function sendEncoded(response: ServerResponse, status: number, encoded: EncodedJson, mediaType = JSON_TYPE): Promise<void> {
  if (response.headersSent || response.destroyed) return
  if (!response.hasHeader('Cache-Control')) response.setHeader('Cache-Control', 'no-store')
  response.setHeader('Content-Type', mediaType)
  appendVary(response, 'Accept-Encoding')
  const accepts = takesGzip(response.req.headers['accept-encoding'])
  const packed = accepts && (encoded.whole === null || encoded.whole.length >= GZIP_BYTES_MIN)
  if (packed) response.setHeader('Content-Encoding', 'gzip')
  if (encoded.whole !== null) sendWhole(response, status, packed ? await compress(encoded.whole) : encoded.whole)
  else await sendWhileWritten(response, { status, buffered: encoded.buffered, chunks: encoded.chunks, packed })
}

/** A copy may be kept, by the client alone, and must be compared with the server's each time. */
const COMPARED = 'private, no-cache'

/**
 * Sends an answer that clients may keep: 304 if theirs is current. The caller sets the headers of the route.
 * @throws precondition_failed
 */
export async function sendKnown(response: ServerResponse, answer: KnownAnswer, vary: string): Promise<void> {
  if (response.headersSent || response.destroyed) return
  const { headers } = response.req
  const packed = answer.bytes.length >= GZIP_BYTES_MIN && takesGzip(headers['accept-encoding'])
  // A strong ETag identifies exact bytes (RFC 9110, 8.8.3), so the gzip form has its own.
  const etag = packed ? `${answer.etag}-gzip` : answer.etag
  response.setHeader('Cache-Control', COMPARED)
  response.setHeader('Vary', vary)
  response.setHeader('ETag', `"${etag}"`)
  const outcome = checkConditions(headers, { etag })
  if (outcome === 'failed') throw new AppError('precondition_failed')
  if (outcome === 'unmodified') return sendNothing(response, 304)
  response.setHeader('Content-Type', answer.mediaType)
  if (packed) {
    response.setHeader('Content-Encoding', 'gzip')
    answer.gzipped ??= compress(answer.bytes)
  }
  sendWhole(response, 200, packed && answer.gzipped ? await answer.gzipped : answer.bytes)
}

function sendWhole(response: ServerResponse, status: number, bytes: Buffer): void {
  if (response.headersSent || response.destroyed) return
  response.setHeader('Content-Length', bytes.length)
  response.writeHead(status)
  response.end(bytes)
}

/** Streams an answer of unknown length. Compresses in the thread pool and stops reading when the client has gone. */
async function sendWhileWritten(
  response: ServerResponse,
  { status, buffered, chunks, packed }: { status: number; buffered: readonly Buffer[]; chunks: AsyncGenerator<Buffer>; packed: boolean },
): Promise<void> {
  const gone = new AbortController()
  const packer = packed ? createGzip() : null
  const target: Writable = packer ?? response
  response.once('close', () => {
    gone.abort()
    packer?.destroy()
  })
  response.writeHead(status)
  packer?.on('error', () => response.destroy()).pipe(response)
  const write = async (chunk: Buffer) => {
    if (!gone.signal.aborted && !target.write(chunk)) await drained(target, gone.signal)
  }
  for (const chunk of buffered) await write(chunk)
  for await (const chunk of chunks) {
    await write(chunk)
    if (gone.signal.aborted) return
  }
  if (!gone.signal.aborted) target.end()
}

/** Sends what `answerOf` made of an error. @param refusal the same error in the form of a foreign protocol */
export async function sendError(response: ServerResponse, answer: ErrorAnswer, refusal: Refusal = answer): Promise<void> {
  if (answer.retryAfterSeconds !== undefined) response.setHeader('Retry-After', Math.max(1, Math.ceil(answer.retryAfterSeconds)))
  // Cache and download headers of the intended answer do not apply to an error.
  for (const name of ['ETag', 'Last-Modified', 'Cache-Control', 'Content-Disposition', 'Content-Encoding', 'Link', 'Location'])
    response.removeHeader(name)
  // Only a 416 (range not satisfiable) states the total length.
  if (answer.status !== 416) response.removeHeader('Content-Range')
  for (const [name, value] of Object.entries(refusal.headers ?? {})) response.setHeader(name, value)
  await sendJson(response, refusal.status, refusal.body, refusal.mediaType)
}
