import { STATUS_CODES } from 'node:http'
import { requestId } from '#api/http/exchange.ts'
import { SECURITY_HEADERS } from '#api/http/response.ts'

/** In place of an error code: a client requested a tunnel. */
export const CONNECT = 'CONNECT'

const SOCKET_REFUSALS: Record<number, string> = {
  400: 'This is not a valid HTTP request.',
  405: 'This server does not open connections to other servers (CONNECT).',
  408: 'The request did not arrive in time.',
  431: 'The headers of the request are too large.',
}

/** The complete response to input that is not an HTTP request. */
export function socketRefusal(code: string | undefined, rateHeaders: [name: string, value: string][]): string {
  const status = code === 'HPE_HEADER_OVERFLOW' ? 431 : code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : code === CONNECT ? 405 : 400
  const id = requestId(undefined, false)
  const error = ({ 405: 'method_not_allowed', 408: 'request_timeout' } as Record<number, string>)[status] ?? 'invalid_request'
  const body = JSON.stringify({ error, message: SOCKET_REFUSALS[status], requestId: id })
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `X-Request-Id: ${id}`,
    ...[...rateHeaders, ...Object.entries(SECURITY_HEADERS)].map(([name, value]) => `${name}: ${value}`),
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    // RFC 9110, 15.5.6: a 405 lists the methods that are supported.
    ...(status === 405 ? ['Allow: GET, HEAD, POST, PUT, PATCH, DELETE'] : []),
    'Cache-Control: no-store',
    'Connection: close',
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
