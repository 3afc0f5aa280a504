import dns from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import net from 'node:net'
import os from 'node:os'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import zlib from 'node:zlib'
import ipaddr from 'ipaddr.js'
import { checkAddress, type EgressRule, type Hop, readRequest, redirectOf, refuse } from '#plugins/egress-request.ts'
import { openCallerSlots, openHostTurns } from '#plugins/egress-turns.ts'
import { GuestError } from '#plugins/guest-error.ts'

export interface EgressPolicy {
  /** Which plugin asks: plugins share the rates of hosts evenly. */
  caller: string
  rules: readonly EgressRule[]
  /** Told to every service, so that its people know whom to ask. */
  userAgent: string
  /** Added by the server to requests for this one host; plugins never see it. */
  credential?: { host: string; header: string; value: string } | undefined
}

export interface EgressResponse {
  status: number
  /** Of the last hop. */
  url: string
  headers: [name: string, value: string][]
  body: string
}

/** How requests leave the house; another way in tests. */
export interface EgressWay {
  /** All addresses of a host, none where there is no such host. Stops looking when the signal says so. */
  resolve(host: string, signal: AbortSignal): Promise<string[]>
  /** Whether an address may be talked to. */
  permits(address: string): boolean
  request: typeof https.request
  port: number
}

export interface Egress {
  /** @throws GuestError whose `own` is permission, invalid_argument, rate_limited, timeout, too_large, upstream or closed */
  fetch(given: unknown, policy: EgressPolicy, signal: AbortSignal): Promise<EgressResponse>
}

/** Of a response, packed and unpacked alike: an answer of a few lines may unpack to gigabytes, and one of gigabytes to nothing. */
const RESPONSE_BYTES_MAX = 5 * 1024 * 1024
const HEADER_LENGTH_MAX = 8_192
const REDIRECTS_MAX = 5
const DEADLINE_MS_MAX = 15_000
/** What must be left for the answer when a service asks to come again later. */
const RETRY_ROOM_MS = 500
/** Names and addresses that a resolver gives; more is no host but an attack. */
const ADDRESSES_MAX = 50
/** Every name server is asked twice; a name whose servers say nothing is given up long before the deadline. */
const NAME_QUERY = { timeout: 2_000, tries: 2 }
const CONNECTION: https.RequestOptions & Pick<net.TcpSocketConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'> = {
  autoSelectFamily: true,
  // Before the next of several addresses is tried; 250 unless said, too little for far countries.
  autoSelectFamilyAttemptTimeout: 1_000,
  // Neither connections nor proxies are shared, nor is anything believed that the environment says about certificates.
  agent: false,
  rejectUnauthorized: true,
  insecureHTTPParser: false,
  maxHeaderSize: 64 * 1024,
}

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/** Addresses of the public internet alone: neither this machine nor its networks, nor what reaches them in another spelling. */
export function isPublicAddress(address: string): boolean {
  // What names a zone is of one link; what is spelled unusually is not from a resolver.
  if (net.isIP(address) === 0 || address.includes('%')) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  // The library calls everything unicast that is not special; of IPv6 only one eighth has been given out.
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST)
}

/** A server with a public address would otherwise be reachable from within. */
function isOwnAddress(address: string): boolean {
  const wanted = ipaddr.parse(address).toNormalizedString()
  const own = Object.values(os.networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return own.some((one) => ipaddr.isValid(one.address) && ipaddr.parse(one.address).toNormalizedString() === wanted)
}

/**
 * Asks name servers, and not the system (`lookup`), which has two threads for that and no way to stop: names that never resolve would hold up
 * every connection of the server that needs a name. It would also try `host.local.domain` for `host`.
 * @param servers in place of those of the system
 */
export async function resolveName(host: string, signal: AbortSignal, servers?: readonly string[]): Promise<string[]> {
  const resolver = new dns.Resolver(NAME_QUERY)
  if (servers) resolver.setServers(servers)
  const stop = () => resolver.cancel()
  signal.addEventListener('abort', stop, { once: true })
  try {
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const OUTSIDE: EgressWay = {
  resolve: (host, signal) => resolveName(host, signal),
  permits: (address) => isPublicAddress(address) && !isOwnAddress(address),
  request: https.request,
  port: 443,
}

export function openEgress(way: EgressWay = OUTSIDE): Egress {
  const turns = openHostTurns()
  const slots = openCallerSlots()

  async function ask(hop: Hop, policy: EgressPolicy, deadline: number, signal: AbortSignal): Promise<IncomingMessage> {
    const { host, rules } = checkAddress(hop, policy.rules)
    const { caller, credential } = policy
    // Whoever may talk to all below a name would otherwise have a rate for each of as many names as come to mind.
    const wide = rules.every((rule) => rule.host !== host) ? rules[0]?.host : undefined
    if (wide !== undefined) await turns.take({ host: wide, caller, deadline, signal })
    await turns.take({ host, caller, deadline, signal })
    const addresses = await unlessAborted(way.resolve(host, signal), signal).catch(() => {
      signal.throwIfAborted()
      return []
    })
    if (addresses.length === 0 || addresses.length > ADDRESSES_MAX) refuse('upstream', `There is no host ${host}.`)
    // One private address among public ones is how a name is turned against the house that resolves it.
    if (!addresses.every((address) => way.permits(address)))
      refuse('permission', `${host} leads to an address that is not on the public internet.`)
    const headers: Record<string, string> = { ...hop.headers, 'user-agent': policy.userAgent, 'accept-encoding': 'gzip, br' }
    if (credential && credential.host === host && !hop.strayed) headers[credential.header.toLowerCase()] = credential.value
    if (hop.body !== undefined) headers['content-length'] = String(Buffer.byteLength(hop.body))
    signal.throwIfAborted()
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const request = way.request(
        {
          host,
          port: way.port,
          path: `${hop.url.pathname}${hop.url.search}`,
          method: hop.method,
          headers,
          signal,
          // The addresses that were looked at are those that are talked to, whatever the name says by then.
          lookup: (_host, options, callback) => {
            const all = addresses.map((address) => ({ address, family: net.isIP(address) }))
            const [first] = all as [{ address: string; family: number }]
            if (options.all) (callback as (error: null, all: object[]) => void)(null, all)
            else callback(null, first.address, first.family)
          },
          ...CONNECTION,
        },
        resolve,
      )
      request.on('error', reject)
      request.on('close', () => reject(new Error('The connection was closed without an answer.')))
      request.end(hop.body)
    })
  }

  async function follow(first: Hop, policy: EgressPolicy, deadline: number, signal: AbortSignal): Promise<EgressResponse> {
    let hop = first
    let redirects = 0
    let hasWaited = false
    for (;;) {
      const response = await ask(hop, policy, deadline, signal)
      try {
        const status = response.statusCode ?? 0
        const next = redirectOf(status, response.headers.location, hop)
        const waitMs = hasWaited ? null : retryAfterMs(response)
        if (next !== null) {
          if (++redirects > REDIRECTS_MAX) refuse('upstream', `${first.url.host} redirects more than ${REDIRECTS_MAX} times.`)
          hop = next
        } else if (waitMs !== null && performance.now() + waitMs + RETRY_ROOM_MS < deadline) {
          hasWaited = true
          response.destroy()
          await sleep(waitMs, undefined, { signal })
        } else {
          const body = await readBody(response, hop, signal)
          return { status, url: hop.url.href, headers: headersOf(response), body }
        }
      } finally {
        response.destroy()
      }
    }
  }

  return {
    async fetch(given, policy, outer) {
      const { hop, timeoutMs } = readRequest(given)
      // What is refused anyway need not wait for it.
      const { host } = checkAddress(hop, policy.rules)
      const deadlineMs = Math.min(timeoutMs ?? DEADLINE_MS_MAX, DEADLINE_MS_MAX)
      const deadline = performance.now() + deadlineMs
      const ended = new AbortController()
      const end = () => ended.abort()
      const timer = setTimeout(end, deadlineMs)
      outer.addEventListener('abort', end, { once: true })
      if (outer.aborted) end()
      let leave = () => {}
      try {
        leave = await slots.enter(policy.caller, ended.signal)
        return await follow(hop, policy, deadline, ended.signal)
      } catch (error) {
        if (outer.aborted) refuse('closed', 'The call has ended.')
        if (error instanceof GuestError) throw error
        if (ended.signal.aborted) refuse('timeout', `${host} did not answer within ${Math.round(deadlineMs)} ms.`)
        return refuse('upstream', `${host} could not be reached.`)
      } finally {
        leave()
        clearTimeout(timer)
        outer.removeEventListener('abort', end)
        // Whatever is still open of it.
        end()
      }
    },
  }
}

function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Error('Aborted.'))
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** How long a service that is busy asks to wait; null when it does not say. */
function retryAfterMs({ statusCode, headers }: IncomingMessage): number | null {
  const given = headers['retry-after']?.trim()
  if ((statusCode !== 429 && statusCode !== 503) || given === undefined) return null
  const waitMs = /^\d{1,9}$/.test(given) ? Number(given) * 1000 : Date.parse(given) - Date.now()
  return Number.isNaN(waitMs) ? null : Math.max(waitMs, 0)
}

function headersOf(response: IncomingMessage): [string, string][] {
  return Object.entries(response.headers)
    .filter(([name]) => name !== 'set-cookie')
    .map(
      ([name, value]) => [name, (Array.isArray(value) ? value.join(', ') : (value ?? '')).slice(0, HEADER_LENGTH_MAX)] as [string, string],
    )
}

/** The text of an answer, counted before and after it was unpacked. */
async function readBody(response: IncomingMessage, { url, method }: Hop, signal: AbortSignal): Promise<string> {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase() || 'identity'
  const isEmpty = method === 'HEAD' || response.statusCode === 204 || response.statusCode === 304
  if (isEmpty) return ''
  const unpackers: Record<string, () => NodeJS.ReadWriteStream & Readable> = {
    gzip: zlib.createGunzip,
    'x-gzip': zlib.createGunzip,
    br: zlib.createBrotliDecompress,
  }
  const unpacker = Object.hasOwn(unpackers, encoding) ? unpackers[encoding]?.() : undefined
  if (unpacker === undefined && encoding !== 'identity')
    return refuse('upstream', `${url.host} packs its answer as ${encoding.slice(0, 40)}, which is not taken.`)
  const stream: Readable = unpacker ? response.pipe(unpacker) : response
  const stop = (error?: Error) => {
    stream.destroy(error)
    response.destroy()
  }
  const abort = () => stop(new Error('Aborted.'))
  const tooLarge = new GuestError('thrown', `${url.host} answers more than ${RESPONSE_BYTES_MAX} bytes.`, 'too_large')
  signal.addEventListener('abort', abort, { once: true })
  if (unpacker) {
    let packed = 0
    response.on('error', stop)
    response.on('data', ({ length }: Buffer) => {
      packed += length
      if (packed > RESPONSE_BYTES_MAX) stop(tooLarge)
    })
  }
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > RESPONSE_BYTES_MAX) throw tooLarge
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof GuestError || signal.aborted) throw error
    refuse('upstream', `The answer of ${url.host} could not be read to its end.`)
  } finally {
    signal.removeEventListener('abort', abort)
    stop()
  }
  return Buffer.concat(chunks).toString('utf8')
}
