import type { ServerResponse } from 'node:http'
import { BrokenTransfer } from '#api/http/broken-transfer.ts'
import { allowsRange, checkConditions, readByteRange } from '#api/http/conditional.ts'
import { drained } from '#api/http/drained.ts'
import type { ContentReply, OpenedContent } from '#api/http/reply.ts'
import { appendVary, sendNothing, takesGzip } from '#api/http/response.ts'
import { AppError } from '#core/foundation/errors.ts'

/**
 * Sends the whole content, as gzip if the client accepts it, or a range of it. Resolves when everything is sent or the client has disconnected.
 * @throws precondition_failed, range_not_satisfiable, errors of `open`, BrokenTransfer
 */
export async function sendContent(response: ServerResponse, reply: ContentReply): Promise<void> {
  const { headers, method } = response.req
  // Only GET has ranges (RFC 9110, 14.2).
  const wantsPart = method === 'GET' && headers.range !== undefined
  const asGzip = reply.gzipBytes !== null && !wantsPart && takesGzip(headers['accept-encoding'])
  const condition = checkConditions(headers, { etag: etagOf(reply, asGzip) })
  if (condition === 'failed') throw new AppError('precondition_failed')
  if (condition === 'unmodified' || method === 'HEAD') {
    setHeaders(response, reply, asGzip)
    if (condition === 'unmodified') return sendNothing(response, 304)
    response.setHeader('Content-Length', asGzip ? (reply.gzipBytes as number) : reply.bytes)
    response.writeHead(200)
    response.end()
    return
  }
  // Headers are set after opening: an error must not carry the ETag and lifetime of the content.
  const content = await reply.open({ asGzip })
  try {
    if (!response.destroyed) await sendOpened(response, { reply, content, wantsPart })
  } finally {
    content.close()
  }
}

// A strong ETag identifies exact bytes (RFC 9110, 8.8.3), so the gzip form has its own.
const etagOf = ({ etag }: ContentReply, isGzip: boolean) => (isGzip ? `${etag}-gzip` : etag)

function setHeaders(response: ServerResponse, reply: ContentReply, isGzip: boolean): void {
  if (reply.gzipBytes !== null) appendVary(response, 'Accept-Encoding')
  response.setHeader('Cache-Control', reply.cacheControl)
  response.setHeader('ETag', `"${etagOf(reply, isGzip)}"`)
  response.setHeader('Accept-Ranges', 'bytes')
  for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value)
  response.setHeader('Content-Type', reply.mediaType)
  if (isGzip) response.setHeader('Content-Encoding', 'gzip')
}

async function sendOpened(
  response: ServerResponse,
  { reply, content, wantsPart }: { reply: ContentReply; content: OpenedContent; wantsPart: boolean },
): Promise<void> {
  const { headers } = response.req
  const part = wantsPart && allowsRange(headers, { etag: reply.etag }) ? readByteRange(headers.range, content.bytes) : null
  setHeaders(response, reply, content.isGzip)
  if (part === 'unsatisfiable') {
    response.setHeader('Content-Range', `bytes */${content.bytes}`)
    throw new AppError('range_not_satisfiable', `The content has ${content.bytes} bytes; the range is outside of it.`)
  }
  if (part) response.setHeader('Content-Range', `bytes ${part.start}-${part.end}/${content.bytes}`)
  const start = part?.start ?? 0
  const end = part ? part.end + 1 : content.bytes
  response.setHeader('Content-Length', end - start)
  response.writeHead(part ? 206 : 200)
  if (content.whole) {
    response.end(part ? content.whole.subarray(start, end) : content.whole)
    await sent(response)
    return
  }
  await sendParts(response, content.read({ start, end }))
  response.end()
}

async function sendParts(response: ServerResponse, parts: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const chunk of parts) {
      if (response.destroyed) return
      if (!response.write(chunk)) await drained(response)
    }
  } catch (cause) {
    throw new BrokenTransfer('The content could not be read to its end.', { cause })
  }
}

/** The content stays in memory until the client has received it. */
function sent(response: ServerResponse): Promise<void> | undefined {
  if (response.writableFinished || response.destroyed) return
  return new Promise((resolve) => {
    response.once('finish', resolve)
    response.once('close', resolve)
  })
}
