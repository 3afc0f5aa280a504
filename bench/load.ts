import { connect } from 'node:net'
import { performance } from 'node:perf_hooks'

export interface Load {
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
  bytesPerSecond: number
  /** Responses with another status than 200. */
  failures: number
  /** What is known of the first ones: status and address. */
  failed: string[]
}

/** Enough to see what they have in common. */
const FAILED_MAX = 5

/** What was counted, before it is summarized. */
export interface LoadCounts {
  latenciesMs: number[]
  seconds: number
  bytes: number
  failures: number
  failed: string[]
}

interface LoadOptions {
  port: number
  paths: readonly string[]
  headers: Record<string, string>
  /** Sent as JSON by POST; without it the requests are GET. */
  body?: unknown
  connections: number
  seconds: number
}

/**
 * Sends requests over `connections` keep-alive sockets for `seconds`, one at a time on each. Raw sockets, because a full
 * HTTP client would cost more than the server under test; it reads status and Content-Length and counts the rest.
 */
export async function loadHttp(options: LoadOptions): Promise<Load> {
  return summaryOf([await countLoad(options)])
}

export async function countLoad(options: LoadOptions): Promise<LoadCounts> {
  const { port, paths, headers, connections, seconds } = options
  const body = options.body === undefined ? '' : JSON.stringify(options.body)
  const method = options.body === undefined ? 'GET' : 'POST'
  const bodyLines = options.body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
  const headerLines = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  const latencies: number[] = []
  let bytes = 0
  let failures = 0
  const failed: string[] = []
  let next = 0
  const startedAt = performance.now()
  const endsAt = startedAt + seconds * 1000

  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      await new Promise<void>((resolve, reject) => {
        let head = ''
        let remaining = -1
        let sentAt = 0
        let path = ''
        const send = () => {
          if (performance.now() >= endsAt) {
            socket.end()
            resolve()
            return
          }
          path = paths[next++ % paths.length] as string
          sentAt = performance.now()
          socket.write(`${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${headerLines}${bodyLines}\r\n${body}`)
        }
        const finish = () => {
          latencies.push(performance.now() - sentAt)
          remaining = -1
          head = ''
          send()
        }
        socket.on('connect', send)
        socket.on('error', reject)
        socket.on('close', resolve)
        socket.on('data', (chunk: Buffer) => {
          if (remaining >= 0) {
            bytes += chunk.length
            remaining -= chunk.length
            if (remaining <= 0) finish()
            return
          }
          const end = chunk.indexOf('\r\n\r\n')
          head += chunk.toString('latin1', 0, end < 0 ? chunk.length : end)
          if (end < 0) return
          if (!head.startsWith('HTTP/1.1 200')) {
            failures += 1
            if (failed.length < FAILED_MAX) failed.push(`${head.slice('HTTP/1.1 '.length, head.indexOf('\r\n'))} ${method} ${path}`)
          }
          const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
          const arrived = chunk.length - end - 4
          bytes += arrived
          remaining = length - arrived
          if (remaining <= 0) finish()
        })
      })
    }),
  )
  return { latenciesMs: latencies, seconds: (performance.now() - startedAt) / 1000, bytes, failures, failed }
}

/** Of clients that ran at the same time. */
export function summaryOf(counts: readonly LoadCounts[]): Load {
  const latencies = counts.flatMap(({ latenciesMs }) => latenciesMs).sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  const perSecond = (amount: (one: LoadCounts) => number) => counts.reduce((sum, one) => sum + amount(one) / one.seconds, 0)
  return {
    requestsPerSecond: perSecond(({ latenciesMs }) => latenciesMs.length),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    bytesPerSecond: perSecond(({ bytes }) => bytes),
    failures: counts.reduce((sum, { failures }) => sum + failures, 0),
    failed: counts.flatMap(({ failed }) => failed).slice(0, FAILED_MAX),
  }
}

export const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
