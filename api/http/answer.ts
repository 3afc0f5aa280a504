import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGzip, gzip } from 'node:zlib'
import type { ErrorAnswer } from '#api/errors.ts'
import { drained } from '#api/http/drained.ts'
import { jsonChunks } from '#api/http/json-chunks.ts'

const compress = promisify(gzip)

/** Below this the packet is as long either way. */
const GZIP_BYTES_MIN = 1024

/**
 * On every answer. Nothing we send may run scripts or be framed by others: books hold SVG and HTML made by strangers, which a browser
 * would otherwise run as ours.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox",
  'Referrer-Policy': 'no-referrer',
}

/** Sends a value as JSON, compressed when the client takes that and it is worth it. */
export async function sendJson(response: ServerResponse, status: number, value: unknown): Promise<void> {
  const chunks = await jsonChunks(value)
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  if (!response.hasHeader('Cache-Control')) response.setHeader('Cache-Control', 'no-store')
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
  appendVary(response, 'Accept-Encoding')
  const packed = length >= GZIP_BYTES_MIN && takesGzip(response.req.headers['accept-encoding'])
  // Of what comes in many chunks nobody waits for the last before the first is sent.
  if (packed && chunks.length > 1) {
    if (!response.headersSent && !response.destroyed) await sendPacked(response, status, chunks)
    return
  }
  const body = packed ? [await compress(chunks[0]!)] : chunks
  if (response.headersSent || response.destroyed) return
  if (packed) response.setHeader('Content-Encoding', 'gzip')
  response.setHeader('Content-Length', packed ? body[0]!.length : length)
  response.writeHead(status)
  for (const chunk of body.slice(0, -1)) if (!response.write(chunk)) await drained(response)
  response.end(body.at(-1))
}

/** Compresses in the thread pool, chunk by chunk; how long that will be is known at the end. */
async function sendPacked(response: ServerResponse, status: number, chunks: readonly Buffer[]): Promise<void> {
  response.setHeader('Content-Encoding', 'gzip')
  response.writeHead(status)
  await pipeline(Readable.from(chunks), createGzip(), response).catch((error: NodeJS.ErrnoException) => {
    // The client has left.
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  })
}

/** Sends an answer without a body. */
export function sendNothing(response: ServerResponse, status: 204 | 304): void {
  response.writeHead(status)
  response.end()
}

/** Sends what `answerOf` made of an error. */
export async function sendError(response: ServerResponse, answer: ErrorAnswer): Promise<void> {
  if (answer.retryAfterSeconds !== undefined) response.setHeader('Retry-After', Math.max(1, Math.ceil(answer.retryAfterSeconds)))
  // What the answer would have been cached or attached as does not hold for its failure.
  for (const name of ['ETag', 'Last-Modified', 'Cache-Control', 'Content-Disposition', 'Content-Encoding', 'Link'])
    response.removeHeader(name)
  // Only a refused range says how long the thing is.
  if (answer.status !== 416) response.removeHeader('Content-Range')
  await sendJson(response, answer.status, answer.body)
}

/** Adds a name to Vary and keeps those that stand there. */
export function appendVary(response: ServerResponse, name: string): void {
  const present = String(response.getHeader('Vary') ?? '')
  if (present === '') response.setHeader('Vary', name)
  else if (!present.toLowerCase().split(/, */).includes(name.toLowerCase())) response.setHeader('Vary', `${present}, ${name}`)
}

/** Whether an Accept-Encoding header takes gzip (RFC 9110, 12.5.3): named or by `*`, and not with a weight of zero. */
export function takesGzip(accepted: string | string[] | undefined): boolean {
  let any = false
  for (const part of String(accepted ?? '')
    .toLowerCase()
    .split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim())
    const refused = parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter))
    if (coding === 'gzip' || coding === 'x-gzip') return !refused
    if (coding === '*') any = !refused
  }
  return any
}
