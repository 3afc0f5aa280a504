import type { FileHandle } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { BrokenTransfer } from '#api/http/broken-transfer.ts'
import { allowsRange, checkConditions, readByteRange, type Validators } from '#api/http/conditional.ts'
import { drained } from '#api/http/drained.ts'
import type { EventsReply, StreamReply } from '#api/http/reply.ts'
import { appendVary, compress, GZIP_BYTES_MIN, sendNothing, takesGzip } from '#api/http/response.ts'
import { sendArchive } from '#api/http/send-archive.ts'
import { sendContent } from '#api/http/send-content.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { AppError } from '#core/foundation/errors.ts'
import { closeInside, OutsideError, openInside, openOwnFile } from '#core/foundation/open-inside.ts'

/** Up to this size one read and one write are seven times faster than a stream, and 100 at once still fit into memory. */
const WHOLE_BYTES_MAX = 2 * 1_048_576
/** Larger chunks gain little more, and every slow client holds one in memory. */
const CHUNK_BYTES = 262_144

/** Runs in the thread pool. */
const unpack = promisify(gunzip)

/**
 * Sends the reply of a stream route: conditional requests, ranges of files, HEAD. Resolves when everything is sent or the client
 * has disconnected; the file is closed then.
 * @throws not_found, unavailable (the file cannot be opened), precondition_failed, range_not_satisfiable
 */
export async function sendStream(response: ServerResponse, reply: Exclude<StreamReply, EventsReply>): Promise<void> {
  if (reply.kind === 'bytes') await sendBytes(response, reply)
  else if (reply.kind === 'redirect') sendRedirect(response, reply.location)
  else if (reply.kind === 'made') await sendMade(response, reply)
  else if (reply.kind === 'packed') await sendPacked(response, reply)
  else if (reply.kind === 'content') await sendContent(response, reply)
  else if (reply.kind === 'archive') {
    response.setHeader('Cache-Control', reply.cacheControl)
    response.setHeader('Content-Disposition', attachment(reply.attachmentName))
    await sendArchive(response, reply.files)
  } else await sendFile(response, reply)
}

async function sendMade(response: ServerResponse, { make, ...rest }: Extract<StreamReply, { kind: 'made' }>): Promise<void> {
  // Headers are set after making it: an error must not carry the ETag and lifetime of a picture.
  const isWanted = checkConditions(response.req.headers, rest) === 'send'
  const { bytes, mediaType, release }: Awaited<ReturnType<typeof make>> = isWanted ? await make() : NOTHING_MADE
  // The close event of a response comes after its last byte has left, or after its socket has closed. It has come already if `destroyed`.
  if (response.destroyed) return release?.()
  if (release) response.once('close', release)
  await sendBytes(response, { ...rest, kind: 'bytes', bytes, mediaType })
}

/** Never sent: the conditions end in 304 or 412. */
const NOTHING_MADE = { bytes: new Uint8Array(0), mediaType: 'application/octet-stream' }

async function sendPacked(response: ServerResponse, { gzipped, ...rest }: Extract<StreamReply, { kind: 'packed' }>): Promise<void> {
  const { headers } = response.req
  const asGzip = takesGzip(headers['accept-encoding'])
  const isWanted = checkConditions(headers, { etag: asGzip ? packedEtag(rest.etag) : rest.etag }) === 'send'
  const packed = isWanted ? await gzipped() : NOTHING_MADE.bytes
  const bytes = isWanted && !asGzip ? await unpack(packed) : packed
  if (!response.destroyed) await sendBytes(response, { ...rest, kind: 'bytes', bytes, gzipped: packed })
}

function sendRedirect(response: ServerResponse, location: string): void {
  response.setHeader('Location', location)
  response.setHeader('Content-Length', 0)
  response.writeHead(302)
  response.end()
}

async function sendBytes(response: ServerResponse, reply: Extract<StreamReply, { kind: 'bytes' }>): Promise<void> {
  const packed = takesGzip(response.req.headers['accept-encoding']) && (reply.gzipped !== undefined || isWorthPacking(reply))
  const validators = packed && reply.etag !== undefined ? { ...reply, etag: packedEtag(reply.etag) } : reply
  if (reply.gzipped || reply.compress) appendVary(response, 'Accept-Encoding')
  setValidators(response, reply.cacheControl, validators)
  if (endsByCondition(response, validators, reply.headers)) return
  const bytes = packed ? (reply.gzipped ?? (await compress(reply.bytes))) : reply.bytes
  if (response.destroyed) return
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value)
  if (packed) response.setHeader('Content-Encoding', 'gzip')
  response.setHeader('Content-Type', reply.mediaType)
  response.setHeader('Content-Length', bytes.byteLength)
  response.writeHead(reply.status ?? 200)
  response.end(bytes)
}

/** A strong ETag identifies exact bytes (RFC 9110, 8.8.3), so the gzip form has its own. */
const packedEtag = (etag: string): string => `${etag}-gzip`

const isWorthPacking = ({ compress, bytes }: Extract<StreamReply, { kind: 'bytes' }>) =>
  compress === true && bytes.byteLength >= GZIP_BYTES_MIN

async function sendFile(response: ServerResponse, reply: Extract<StreamReply, { kind: 'file' }>): Promise<void> {
  const file = await openFile(reply)
  try {
    const stat = () => file.stat()
    const facts = await (reply.inside === undefined ? stat() : askDisk(reply.inside, stat).catch(refuseForNow))
    if (!facts.isFile()) throw new AppError('not_found', 'This file no longer exists.')
    const { headers, method } = response.req
    const validators = { etag: reply.etag, lastModified: facts.mtime }
    setValidators(response, reply.cacheControl, validators)
    if (endsByCondition(response, validators)) return
    // Only GET has ranges (RFC 9110, 14.2).
    const range = method === 'GET' && allowsRange(headers, validators) ? readByteRange(headers.range, facts.size) : null
    response.setHeader('Accept-Ranges', 'bytes')
    if (range === 'unsatisfiable') {
      response.setHeader('Content-Range', `bytes */${facts.size}`)
      throw new AppError('range_not_satisfiable', `The file has ${facts.size} bytes; the range is outside of it.`)
    }
    const part = range ?? { start: 0, end: facts.size - 1 }
    if (range) response.setHeader('Content-Range', `bytes ${part.start}-${part.end}/${facts.size}`)
    if (reply.attachmentName !== undefined) response.setHeader('Content-Disposition', attachment(reply.attachmentName))
    response.setHeader('Content-Type', reply.mediaType)
    const length = part.end - part.start + 1
    response.setHeader('Content-Length', length)
    if (method === 'HEAD' || length === 0) {
      response.writeHead(200)
      response.end()
    } else {
      await sendPart(response, file, { start: part.start, length, status: range ? 206 : 200, root: reply.inside })
    }
  } finally {
    await (reply.inside === undefined ? file.close() : closeInside(reply.inside, file))
  }
}

async function sendPart(
  response: ServerResponse,
  file: FileHandle,
  part: { start: number; length: number; status: number; root: string | undefined },
): Promise<void> {
  const chunkBytes = part.length <= WHOLE_BYTES_MAX ? part.length : CHUNK_BYTES
  let sent = 0
  while (sent < part.length && !response.destroyed) {
    const chunk = Buffer.allocUnsafeSlow(Math.min(chunkBytes, part.length - sent))
    const at = part.start + sent
    const reading = () => file.read(chunk, 0, chunk.length, at)
    const { bytesRead } = await (part.root === undefined ? reading() : askDisk(part.root, reading))
    if (bytesRead === 0) {
      // The file became shorter. Before the headers are sent, an error response is still possible.
      if (response.headersSent) throw new BrokenTransfer('A file became shorter while it was sent.')
      throw new AppError('unavailable', 'The file changed while it was read. Try again.')
    }
    if (response.destroyed) return
    if (!response.headersSent) response.writeHead(part.status)
    sent += bytesRead
    if (!response.write(chunk.subarray(0, bytesRead)) && sent < part.length) await drained(response)
  }
  response.end()
}

async function openFile({
  path,
  inside,
  linkTargets,
}: {
  path: string
  inside?: string
  linkTargets?: readonly string[]
}): Promise<FileHandle> {
  try {
    return await (inside === undefined ? openOwnFile(path) : openInside({ root: inside, path, linkTargets }))
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : ''
    if (cause instanceof OutsideError || code === 'ENOENT' || code === 'ENOTDIR') {
      throw new AppError('not_found', 'This file no longer exists.', { cause })
    }
    return refuseForNow(cause)
  }
}

const refuseForNow = (cause: unknown): never => {
  throw new AppError('unavailable', 'This file cannot be read at the moment.', { cause })
}

function setValidators(response: ServerResponse, cacheControl: string, { etag, lastModified }: Validators): void {
  response.setHeader('Cache-Control', cacheControl)
  if (etag !== undefined) response.setHeader('ETag', `"${etag}"`)
  if (lastModified !== undefined) response.setHeader('Last-Modified', lastModified.toUTCString())
}

/**
 * Whether the client's copy is current; sends 304 then. @param headers those of the full response: browsers replace what they keep with the headers of
 * the 304 (RFC 9111, 3.2), so that it must not carry the policy of other responses. @throws precondition_failed
 */
function endsByCondition(response: ServerResponse, validators: Validators, headers: Record<string, string> = {}): boolean {
  const outcome = checkConditions(response.req.headers, validators)
  if (outcome === 'failed') throw new AppError('precondition_failed')
  if (outcome === 'unmodified') {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    sendNothing(response, 304)
  }
  return outcome === 'unmodified'
}

/** Content-Disposition of a download (RFC 6266): an ASCII name for old clients and the real one in UTF-8 (RFC 8187). */
export function attachment(name: string): string {
  const clean = name.toWellFormed().replace(/[\u0000-\u001f\u007f/\\]/g, '_')
  const ascii = clean.replace(/[^\x20-\x7e]|["%]/g, '_')
  const encoded = encodeURIComponent(clean).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
