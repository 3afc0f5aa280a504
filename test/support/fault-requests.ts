import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN, type RunningServer } from '#test/support/running-server.ts'

const ABANDONED_MS = 120_000
const HEALED_MS_MAX = 60_000

export interface Reply {
  address: string
  status: number
  retryAfter: string | null
  ms: number
}

type Asked = Pick<RunningServer, 'url' | 'headers'>

/** Sends a request and measures its response time; rejects after two minutes without a response. */
export async function ask(of: Asked, address: string, init: RequestInit = {}): Promise<Reply> {
  const began = performance.now()
  const headers = { ...of.headers, 'content-type': 'application/json' }
  const answer = await fetch(of.url + address, { ...init, headers, signal: AbortSignal.timeout(ABANDONED_MS) })
  await answer.arrayBuffer()
  return { address, status: answer.status, retryAfter: answer.headers.get('retry-after'), ms: performance.now() - began }
}

/** Changes a book, so that the database must write. */
export function write(of: Asked, bookId: string, summary = `written at ${Date.now()}`): Promise<Reply> {
  const body = JSON.stringify({ summary })
  return ask(of, `/api/v1/books/${bookId}/metadata`, { method: 'PATCH', body })
}

/** Lists, a search, a page, a sign-in and a change, as clients send them. */
export function sendAll(of: Asked, bookId: string): Promise<Reply>[] {
  return [
    ask(of, '/api/v1/books?pageSize=10'),
    ask(of, '/api/v1/libraries'),
    ask(of, '/api/v1/series/list', { method: 'POST', body: '{}' }),
    ask(of, `/api/v1/books/${bookId}`),
    ask(of, `/api/v1/books/${bookId}/pages/1`),
    ask(of, '/api/v1/auth/login', { method: 'POST', body: JSON.stringify(ADMIN) }),
    write(of, bookId),
  ]
}

/** True as soon as /health and all requests of {@link sendAll} succeed; false after a minute. */
export async function awaitRecovery(of: Asked, bookId: string): Promise<boolean> {
  for (const until = Date.now() + HEALED_MS_MAX; Date.now() < until; await sleep(250)) {
    if ((await ask(of, '/health')).status !== 200) continue
    const replies = await Promise.all(sendAll(of, bookId))
    if (replies.every(({ status }) => status < 300)) return true
  }
  return false
}

/** Success, or 503 with a retry time. */
export function isAnswer({ status, retryAfter }: Reply): boolean {
  return status < 300 || (status === 503 && Number(retryAfter) > 0)
}
