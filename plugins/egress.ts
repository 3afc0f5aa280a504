import dns from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import net from 'node:net'
import type { Readable } from 'node:stream'
import zlib from 'node:zlib'
import ipaddr from 'ipaddr.js'
import { GuestError } from '#plugins/guest-error.ts'

/** A host that a plugin may talk to: by its name, or everything below one with `*.` in front. */
export interface EgressRule {
  host: string
  methods: readonly string[]
}

export interface EgressPolicy {
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
  /** All addresses of a host. */
  resolve(host: string): Promise<string[]>
  /** Whether an address may be talked to. */
  permits(address: string): boolean
  request: typeof https.request
  port: number
}

export interface Egress {
  /** @throws GuestError whose `own` is permission, invalid_argument, timeout, too_large or upstream */
  fetch(given: unknown, policy: EgressPolicy, signal: AbortSignal): Promise<EgressResponse>
}

const URL_LENGTH_MAX = 4_000
const BODY_BYTES_MAX = 1024 * 1024
/** Of a response, after it was decompressed: an answer of a few lines may unpack to gigabytes. */
const RESPONSE_BYTES_MAX = 5 * 1024 * 1024
const HEADERS_MAX = 50
const HEADER_LENGTH_MAX = 8_192
const REDIRECTS_MAX = 5
const DEADLINE_MS_MAX = 15_000
/** Names and addresses that a resolver gives; more is no host but an attack. */
const ADDRESSES_MAX = 50
/** Requests a second and at once to one host, by all plugins and users together: services bar whoever asks more. */
const HOST_RATE = { perSecond: 5, burst: 10 }
const HOSTS_MAX = 1_000

/** What only the server may say: where a request goes, how it is framed, and who asks. */
const FORBIDDEN_HEADERS =
  /^(host|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|expect|cookie|cookie2|user-agent|accept-encoding|proxy-.*|sec-.*|via|forwarded|x-forwarded-.*)$/i
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/

const refuse = (code: string, message: string): never => {
  throw new GuestError('thrown', message, code)
}

/** Addresses of the public internet alone: neither this machine nor its networks, nor what reaches them in another spelling. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  return ipaddr.parse(address).range() === 'unicast'
}

const OUTSIDE: EgressWay = {
  resolve: async (host) => (await dns.lookup(host, { all: true })).map(({ address }) => address),
  permits: isPublicAddress,
  request: https.request,
  port: 443,
}

export function openEgress(way: EgressWay = OUTSIDE): Egress {
  const buckets = new Map<string, { tokens: number; at: number }>()

  /** Waits for a turn; the queue of a host is as long as the deadlines of those who wait. */
  async function takeTurn(host: string, deadline: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      const now = performance.now()
      const bucket = buckets.get(host) ?? { tokens: HOST_RATE.burst, at: now }
      bucket.tokens = Math.min(HOST_RATE.burst, bucket.tokens + ((now - bucket.at) / 1000) * HOST_RATE.perSecond)
      bucket.at = now
      buckets.delete(host)
      buckets.set(host, bucket)
      if (buckets.size > HOSTS_MAX) buckets.delete(buckets.keys().next().value as string)
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1
        return
      }
      const waitMs = ((1 - bucket.tokens) / HOST_RATE.perSecond) * 1000
      if (now + waitMs > deadline) refuse('rate_limited', `Too many requests to ${host}; wait a little.`)
      await new Promise((resolve) => setTimeout(resolve, waitMs))
      signal.throwIfAborted()
    }
  }

  async function fetchOnce(hop: Hop, policy: EgressPolicy, deadline: number, signal: AbortSignal): Promise<IncomingMessage> {
    const host = checkAddress(hop, policy)
    await takeTurn(host, deadline, signal)
    const addresses = await way.resolve(host).catch(() => refuse('upstream', `There is no host ${host}.`))
    if (addresses.length === 0 || addresses.length > ADDRESSES_MAX) refuse('upstream', `There is no host ${host}.`)
    // One private address among public ones is how a name is turned against the house that resolves it.
    if (!addresses.every((address) => way.permits(address)))
      refuse('permission', `${host} leads to an address that is not on the public internet.`)
    const address = addresses[0] as string
    const headers: Record<string, string> = { ...hop.headers, 'user-agent': policy.userAgent, 'accept-encoding': 'gzip, br' }
    if (policy.credential && policy.credential.host === host) headers[policy.credential.header.toLowerCase()] = policy.credential.value
    if (hop.body !== undefined) headers['content-length'] = String(Buffer.byteLength(hop.body))
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const request = way.request(
        {
          host,
          port: way.port,
          path: `${hop.url.pathname}${hop.url.search}`,
          method: hop.method,
          headers,
          signal,
          // The address that was looked at is the one that is talked to, whatever the name says by then.
          lookup: (_host, options, callback) => {
            const family = net.isIP(address)
            if (typeof options === 'object' && options.all) (callback as (error: null, all: object[]) => void)(null, [{ address, family }])
            else callback(null, address, family)
          },
          agent: false,
          maxHeaderSize: 64 * 1024,
        },
        resolve,
      )
      request.on('error', reject)
      request.end(hop.body)
    })
  }

  return {
    async fetch(given, policy, outer) {
      const { timeoutMs, ...first } = readRequest(given)
      const deadlineMs = Math.min(timeoutMs ?? DEADLINE_MS_MAX, DEADLINE_MS_MAX)
      const deadline = performance.now() + deadlineMs
      const signal = AbortSignal.any([outer, AbortSignal.timeout(deadlineMs)])
      let hop = first
      try {
        for (let hops = 0; ; hops++) {
          const response = await fetchOnce(hop, policy, deadline, signal)
          const next = redirectOf(response, hop)
          if (next === null) {
            const body = await readBody(response, signal)
            return { status: response.statusCode ?? 0, url: hop.url.href, headers: headersOf(response), body }
          }
          response.destroy()
          if (hops === REDIRECTS_MAX) refuse('upstream', `${first.url.host} redirects more than ${REDIRECTS_MAX} times.`)
          hop = next
        }
      } catch (error) {
        if (error instanceof GuestError) throw error
        if (signal.aborted && !outer.aborted) refuse('timeout', `${hop.url.host} did not answer within ${deadlineMs} ms.`)
        return refuse('upstream', `${hop.url.host} could not be reached.`)
      }
    },
  }
}

interface Hop {
  url: URL
  method: string
  headers: Record<string, string>
  body: string | undefined
}

/** @throws GuestError for what is no request */
function readRequest(given: unknown): Hop & { timeoutMs: number | undefined } {
  const { url, method = 'GET', headers = {}, body, timeoutMs } = (given ?? {}) as Record<string, unknown>
  const wrong = (message: string) => refuse('invalid_argument', message)
  if (typeof url !== 'string' || url.length > URL_LENGTH_MAX) return wrong('fetch needs an address.')
  if (typeof method !== 'string' || !/^[A-Za-z]{1,10}$/.test(method)) return wrong('The method is none.')
  if (body !== undefined && body !== null && typeof body !== 'string') return wrong('A body is a text.')
  if (typeof body === 'string' && Buffer.byteLength(body) > BODY_BYTES_MAX) return wrong(`A body may have ${BODY_BYTES_MAX} bytes.`)
  if (timeoutMs !== undefined && timeoutMs !== null && !(typeof timeoutMs === 'number' && timeoutMs > 0))
    return wrong('timeoutMs is a number of milliseconds.')
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    return wrong(`"${url.slice(0, 200)}" is no address.`)
  }
  const entries = headers !== null && typeof headers === 'object' ? Object.entries(headers) : wrong('Headers are an object.')
  if (entries.length > HEADERS_MAX) wrong(`A request may have ${HEADERS_MAX} headers.`)
  const checked: Record<string, string> = {}
  for (const [name, value] of entries) {
    if (!HEADER_NAME.test(name) || FORBIDDEN_HEADERS.test(name)) wrong(`The header "${name.slice(0, 64)}" may not be set.`)
    if (typeof value !== 'string' || value.length > HEADER_LENGTH_MAX || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      wrong(`The header ${name} has a value that no header can have.`)
    checked[name.toLowerCase()] = value as string
  }
  return {
    url: parsed,
    method: method.toUpperCase(),
    headers: checked,
    body: typeof body === 'string' ? body : undefined,
    timeoutMs: typeof timeoutMs === 'number' ? timeoutMs : undefined,
  }
}

/** Every hop is checked as the first one. Answers the host. */
function checkAddress({ url, method }: Hop, policy: EgressPolicy): string {
  const host = url.hostname.toLowerCase()
  const no = (why: string) => refuse('permission', `${url.protocol}//${url.host} ${why}.`)
  if (url.protocol !== 'https:') no('is not https')
  if (url.username !== '' || url.password !== '') no('carries credentials in its address')
  if (url.port !== '') no('names a port')
  if (net.isIP(host.replace(/^\[|\]$/g, '')) !== 0) no('is an address and no name')
  const rule = policy.rules.find((one) => (one.host.startsWith('*.') ? host.endsWith(one.host.slice(1)) : host === one.host))
  if (rule === undefined) return no('is no host that this plugin may talk to')
  if (!rule.methods.includes(method)) no(`may not be asked with ${method}`)
  return host
}

/** Where an answer sends the asker; null when it is the answer. */
function redirectOf(response: IncomingMessage, hop: Hop): Hop | null {
  const { statusCode = 0, headers } = response
  if (![301, 302, 303, 307, 308].includes(statusCode) || headers.location === undefined) return null
  let url: URL
  try {
    url = new URL(headers.location, hop.url)
  } catch {
    return refuse('upstream', `${hop.url.host} redirects to what is no address.`)
  }
  const keepsBody = statusCode === 307 || statusCode === 308
  const method = keepsBody || hop.method === 'HEAD' ? hop.method : 'GET'
  // What was meant for one host is not told to another.
  const { authorization: _, ...others } = hop.headers
  return { url, method, headers: url.host === hop.url.host ? hop.headers : others, body: keepsBody ? hop.body : undefined }
}

function headersOf(response: IncomingMessage): [string, string][] {
  return Object.entries(response.headers)
    .filter(([name]) => name !== 'set-cookie')
    .map(
      ([name, value]) => [name, (Array.isArray(value) ? value.join(', ') : (value ?? '')).slice(0, HEADER_LENGTH_MAX)] as [string, string],
    )
}

/** The text of an answer, counted after it was decompressed. */
async function readBody(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  const unpack = { gzip: zlib.createGunzip, 'x-gzip': zlib.createGunzip, br: zlib.createBrotliDecompress }[encoding]
  if (unpack === undefined && encoding !== 'identity')
    return refuse('upstream', `The answer is packed as ${encoding.slice(0, 40)}, which is not taken.`)
  const stream: Readable = unpack ? response.pipe(unpack()) : response
  const stop = () => {
    stream.destroy(signal.reason as Error)
    response.destroy()
  }
  signal.addEventListener('abort', stop, { once: true })
  response.on('error', (error) => stream.destroy(error))
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > RESPONSE_BYTES_MAX) {
        response.destroy()
        refuse('too_large', `The answer is larger than ${RESPONSE_BYTES_MAX} bytes.`)
      }
      chunks.push(chunk)
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
  return Buffer.concat(chunks).toString('utf8')
}
