import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { drained } from '#api/http/drained.ts'
import type { ErrorAnswer } from '#api/http/errors.ts'
import { jsonChunks } from '#api/http/json-chunks.ts'
import type { Refusal } from '#api/http/mount.ts'
import { appendVary, compress, GZIP_BYTES_MIN, takesGzip } from '#api/http/response.ts'

/** Longer answers are sent while they are written, so that neither their length nor a client that reads slowly decides how much memory they take. */
const HELD_BYTES_MAX = 1_048_576

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Sends a value as JSON, compressed when the client takes that and it is worth it. What fails before the first bytes are sent can still be answered;
 * later the connection is broken off, so that nobody takes half an answer for a whole one.
 */
export async function sendJson(response: ServerResponse, status: number, value: unknown, mediaType = JSON_TYPE): Promise<void> {
  const chunks = jsonChunks(value)
  const held: Buffer[] = []
  let length = 0
  let isWhole = false
  while (!isWhole && length < HELD_BYTES_MAX) {
    const { value: chunk, done } = await chunks.next()
    isWhole = done === true
    if (!chunk) continue
    held.push(chunk)
    length += chunk.length
  }
  if (response.headersSent || response.destroyed) return
  if (!response.hasHeader('Cache-Control')) response.setHeader('Cache-Control', 'no-store')
  response.setHeader('Content-Type', mediaType)
  appendVary(response, 'Accept-Encoding')
  const packed = length >= GZIP_BYTES_MIN && takesGzip(response.req.headers['accept-encoding'])
  if (packed) response.setHeader('Content-Encoding', 'gzip')
  if (isWhole && !(packed && held.length > 1)) {
    const bytes = held.length === 1 ? held[0]! : Buffer.concat(held)
    sendWhole(response, status, packed ? await compress(bytes) : bytes)
  } else await sendWhileWritten(response, { status, held, chunks, packed })
}

function sendWhole(response: ServerResponse, status: number, bytes: Buffer): void {
  if (response.headersSent || response.destroyed) return
  response.setHeader('Content-Length', bytes.length)
  response.writeHead(status)
  response.end(bytes)
}

/** How long it will be is known at the end. Compresses in the thread pool; what nobody takes any more is not read any further. */
async function sendWhileWritten(
  response: ServerResponse,
  { status, held, chunks, packed }: { status: number; held: readonly Buffer[]; chunks: AsyncGenerator<Buffer>; packed: boolean },
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
  for (const chunk of held) await write(chunk)
  for await (const chunk of chunks) {
    await write(chunk)
    if (gone.signal.aborted) return
  }
  if (!gone.signal.aborted) target.end()
}

/** Sends what `answerOf` made of an error. @param refusal the same as a foreign protocol writes it */
export async function sendError(response: ServerResponse, answer: ErrorAnswer, refusal: Refusal = answer): Promise<void> {
  if (answer.retryAfterSeconds !== undefined) response.setHeader('Retry-After', Math.max(1, Math.ceil(answer.retryAfterSeconds)))
  // What the answer would have been cached or attached as does not hold for its failure.
  for (const name of ['ETag', 'Last-Modified', 'Cache-Control', 'Content-Disposition', 'Content-Encoding', 'Link', 'Location'])
    response.removeHeader(name)
  // Only a refused range says how long the thing is.
  if (answer.status !== 416) response.removeHeader('Content-Range')
  for (const [name, value] of Object.entries(refusal.headers ?? {})) response.setHeader(name, value)
  await sendJson(response, refusal.status, refusal.body, refusal.mediaType)
}
