import type { RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { EgressResponse } from '#plugins/network/answer.ts'
import type { EgressPolicy } from '#plugins/network/egress.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import { type Loopback, openLoopback } from '#test/support/plugins.ts'

/** The policy of a plugin in these tests. */
export const POLICY: EgressPolicy = {
  caller: 'org.example.one',
  rules: [
    { host: 'api.example.org', methods: ['GET', 'HEAD', 'POST', 'PUT'] },
    { host: 'other.example.org', methods: ['GET', 'POST'] },
    { host: '*.wide.example.org', methods: ['GET'] },
    { host: 'xn--bcher-kva.example', methods: ['GET'] },
  ],
  userAgent: 'Carrel (plugin org.example.one 1.0.0)',
}
export const forever = () => new AbortController().signal

/** The error that a guest receives; checks that it reveals no more than it should. */
export async function refusal(work: Promise<unknown>): Promise<{ own: string | null; message: string }> {
  const error = await work.then(
    (value) => new Error(`It was answered: ${String(JSON.stringify(value)).slice(0, 200)}`),
    (error: unknown) => error,
  )
  if (!(error instanceof GuestError) || error.code !== 'thrown') throw error
  // A guest may see an address that it sent itself.
  const own = error.message.replace(/^\S+ (is an IP address, not a name|is not https)/, '')
  if (/127\.0\.0|10\.0\.0\.|node:|\.ts\b|[A-Z]{3,}_[A-Z]|ECONN|ESERV|secret/.test(own) || own.length > 1_000)
    throw new Error(`This says too much: ${error.message}`)
  return { own: error.own, message: error.message }
}

export async function openTestEgress(
  t: Test,
  answer: RequestListener = (_request, response) => response.end('fine'),
  change: Partial<Loopback> = {},
) {
  const way = { ...(await openLoopback(t, answer)), ...change }
  const egress = new HttpsEgress(way)
  const fetch = (given: unknown, policy: Partial<EgressPolicy> = {}, signal: AbortSignal = forever()): Promise<EgressResponse> =>
    egress.fetch(typeof given === 'string' ? { url: given } : given, { ...POLICY, ...policy }, signal)
  /** Waits until all connections are closed, which takes a moment on both sides. */
  const closed = async () => {
    for (let times = 0; way.open() > 0 && times < 100; times++) await sleep(10)
    return way.open() === 0
  }
  return { way, egress, fetch, closed }
}
