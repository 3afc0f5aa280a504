import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** In the thread pool. */
export const compress = promisify(gzip)

/** Below this the packet is as long either way. */
export const GZIP_BYTES_MIN = 1024

/**
 * On every answer. Nothing we send may run scripts or be framed by others: books hold SVG and HTML made by strangers, which a browser
 * would otherwise run as ours.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox",
  'Referrer-Policy': 'no-referrer',
}

/** Sends an answer without a body. */
export function sendNothing(response: ServerResponse, status: 204 | 304): void {
  response.writeHead(status)
  response.end()
}

/** Adds names to Vary and keeps those that stand there. */
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
