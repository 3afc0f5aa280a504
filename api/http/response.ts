import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** Runs in the thread pool. */
export const compress = promisify(gzip)

/** Compressing less than this does not make the packet shorter. */
export const GZIP_BYTES_MIN = 1024

/**
 * Sent with every response. Nothing that the server sends may run scripts or be framed by other sites: books contain SVG and HTML
 * from unknown authors, which a browser would otherwise run in the origin of the server.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox",
  'Referrer-Policy': 'no-referrer',
}

/** Sends a response without a body. */
export function sendNothing(response: ServerResponse, status: 204 | 304): void {
  response.writeHead(status)
  response.end()
}

/** Adds names to Vary and keeps those already present. */
export function appendVary(response: ServerResponse, ...names: readonly string[]): void {
  const present = response.getHeader('Vary')
  if (present === undefined) {
    response.setHeader('Vary', names.join(', '))
    return
  }
  const known = String(present).toLowerCase().split(/, */)
  const missing = names.filter((name) => !known.includes(name.toLowerCase()))
  if (missing.length > 0) response.setHeader('Vary', [present, ...missing].join(', '))
}

/** Whether an Accept-Encoding header allows gzip. */
export const takesGzip = (accepted: string | string[] | undefined): boolean => takesCoding(accepted, 'gzip')

/** Whether an Accept-Encoding header allows this coding (RFC 9110, 12.5.3): by name or by `*`, and not with weight zero. */
export function takesCoding(accepted: string | string[] | undefined, wanted: 'gzip' | 'br'): boolean {
  let any = false
  for (const part of String(accepted ?? '')
    .toLowerCase()
    .split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim())
    const refused = parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter))
    // RFC 9110, 8.4.1.3: the old name of gzip.
    if (coding === wanted || (wanted === 'gzip' && coding === 'x-gzip')) return !refused
    if (coding === '*') any = !refused
  }
  return any
}
