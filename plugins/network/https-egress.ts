import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { hostAndPort, type LocalServices, NO_LOCAL_SERVICES } from '#core/settings/local-hosts.ts'
import { isGrantableAddress, isLocalAddress, isOwnAddress, isPublicAddress, resolveName } from '#plugins/network/address.ts'
import { type EgressResponse, headersOf, readBody, retryAfterMs } from '#plugins/network/answer.ts'
import { cacheableSeconds, cacheKeyOf, isCacheable, isScopeOf, ResponseCache } from '#plugins/network/cache.ts'
import { describeConnectionProblem } from '#plugins/network/connection-problem.ts'
import { bodyWithoutCredential, type Credential, isFor, withCredential, withoutCredential } from '#plugins/network/credential.ts'
import type { Egress, EgressNetwork, EgressPolicy, OnContact } from '#plugins/network/egress.ts'
import { CallerSemaphore, HostRateLimiter, type HostRates } from '#plugins/network/host-rate-limiter.ts'
import { checkAddress, type EgressRule, type EgressRules, type Hop, readRequest, redirectOf } from '#plugins/network/request.ts'
import { isAllowedLocal, localRule } from '#plugins/network/rules.ts'
import { GuestError, refuseGuest } from '#plugins/runtime/guest-error.ts'

/** A download by the server. */
interface Download extends Pick<EgressPolicy, 'onContact' | 'rates'> {
  url: string
  /** The plugin that named the URL, or the part of the server that needs it. */
  caller: string
  userAgent: string
  accept: string
  bytesMax: number
  deadlineMs: number
  /** Of the plugin that named the URL. Without them, any public host is allowed: the URL is of a person. */
  rules?: readonly EgressRule[]
  /** Whether a host in {@link HttpsEgress.local} is allowed, without rules; default false. */
  mayBeLocal?: boolean
}

/** For a text, both compressed and decompressed. */
const RESPONSE_BYTES_MAX = 5 * 1024 * 1024
const REDIRECTS_MAX = 5
const DEADLINE_MS_MAX = 15_000
/** Time that must remain for the response when a service asks to retry later. */
const RETRY_ROOM_MS = 500
/** More addresses of a host than this are an attack. */
const ADDRESSES_MAX = 50
const CONNECTION: https.RequestOptions & Pick<net.TcpSocketConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'> = {
  autoSelectFamily: true,
  // Time before trying the next of several addresses; the default 250 is too short for distant countries.
  autoSelectFamilyAttemptTimeout: 1_000,
  // Shares no connections or proxies, and ignores certificate settings of the environment.
  agent: false,
  rejectUnauthorized: true,
  insecureHTTPParser: false,
  maxHeaderSize: 64 * 1024,
}

const OUTSIDE: EgressNetwork = {
  resolve: (host, signal) => resolveName(host, signal),
  permits: (address, isPrivate) => (isPrivate ? isGrantableAddress(address) : isPublicAddress(address)) && !isOwnAddress(address),
  request: https.request,
  port: 443,
}

/** What stays the same for all hops. */
interface Journey {
  caller: string
  rules: EgressRules
  rates: HostRates | undefined
  userAgent: string
  encodings: string
  bytesMax: number
  credential: Credential | undefined
  isRepeated?: boolean | undefined
  onContact: OnContact
  deadline: number
  signal: AbortSignal
}

interface Arrival {
  status: number
  url: string
  headers: [name: string, value: string][]
  bytes: Buffer
  /** Null when the service does not ask to wait. */
  waitMs: number | null
  /** For how long all responses on the way may be cached. */
  cacheSeconds: number
}

/** One request to addresses that were checked. */
interface Sending {
  hop: Hop
  host: string
  isPrivate: boolean
  addresses: readonly string[]
  headers: Record<string, string>
  signal: AbortSignal
}

const unnoted: OnContact = () => {}

/** This machine, whatever name servers and the hosts file say. */
const LOOPBACK = ['127.0.0.1', '::1']

/** Requests of plugins, and downloads that they name, to the internet and to allowed hosts; it remembers responses. */
export class HttpsEgress implements Egress {
  readonly local: LocalServices
  readonly #way: EgressNetwork
  readonly #limiter = new HostRateLimiter()
  readonly #semaphore = new CallerSemaphore()
  readonly #cache = new ResponseCache()

  /** @param local hosts that are allowed besides the public internet, where a rule names them too */
  constructor(way: EgressNetwork = OUTSIDE, local: LocalServices = NO_LOCAL_SERVICES) {
    this.#way = way
    this.local = local
  }

  async fetch(given: unknown, policy: EgressPolicy, outer: AbortSignal): Promise<EgressResponse> {
    const { hop, timeoutMs } = readRequest(given)
    const { caller, rules, userAgent, rates, cacheSeconds = 0, cacheScope: scope, isRepeated, onContact = unnoted } = policy
    // Without credentials there is no masking: it would confirm a plugin's guesses of the credential.
    const credential = policy.credential && isFor(policy.credential, hop) ? policy.credential : undefined
    // A request that is refused anyway need not wait for the rate limit.
    checkAddress(hop, rules)
    if (outer.aborted) refuseGuest('closed', 'The call has ended.')
    const key =
      scope !== undefined && cacheSeconds > 0 && isCacheable(hop) ? cacheKeyOf({ scope, hop, credential, rules, userAgent }) : null
    const known = key === null ? undefined : this.#cache.find(key, cacheSeconds)
    if (known) return known
    const deadlineMs = Math.min(timeoutMs ?? DEADLINE_MS_MAX, DEADLINE_MS_MAX)
    const sent = { encodings: 'gzip, br', bytesMax: RESPONSE_BYTES_MAX, deadlineMs }
    const how = { caller, rules, rates, userAgent, credential, isRepeated, onContact, ...sent }
    const arrival = await this.#travel(hop, how, outer)
    const response = await responseOf(arrival, credential)
    // Of a call that was ended: what was to be forgotten must not return.
    if (outer.aborted) refuseGuest('closed', 'The call has ended.')
    if (key !== null && scope !== undefined)
      this.#cache.store(key, response, { scope, seconds: Math.min(arrival.cacheSeconds, cacheSeconds) })
    return response
  }

  /** Drops cached responses by the ids of their plugin and user, which begin their `cacheScope`; null means every one. */
  forget(of: { pluginId: string | null; userId: string | null }): void {
    this.#cache.forget((scope) => isScopeOf(scope, of))
  }

  /**
   * Downloads bytes of any kind under the policy of plugins, without credentials.
   * @throws GuestError as `fetch` does
   */
  async download(
    { url: address, caller, rates, userAgent, accept, bytesMax, deadlineMs, mayBeLocal = false, onContact = unnoted, ...given }: Download,
    outer: AbortSignal,
  ): Promise<{ status: number; url: string; bytes: Buffer }> {
    const { hop } = readRequest({ url: address, headers: { accept } })
    const rules: EgressRules = given.rules ?? (mayBeLocal && isAllowedLocal(hop.url, this.local) ? [localRule(hop.url, ['GET'])] : 'public')
    checkAddress(hop, rules)
    // Pictures are compressed already.
    const how = { caller, rules, rates, userAgent, credential: undefined, onContact, encodings: 'identity', bytesMax, deadlineMs } as const
    const { status, url, bytes } = await this.#travel(hop, how, outer)
    return { status, url, bytes }
  }

  /** Without name servers: it is this machine, or an IP address. */
  #findLocal(host: string, url: URL): string[] {
    const addresses = host === 'localhost' ? LOOPBACK : [host]
    // Whatever the rule says.
    if (!this.local.has(hostAndPort(url)) || !addresses.every(isLocalAddress))
      refuseGuest('permission', `${hostAndPort(url)} is not a host that this server allows for development.`)
    return addresses
  }

  async #findAddresses(host: string, isPrivate: boolean, signal: AbortSignal): Promise<string[]> {
    const addresses =
      net.isIP(host) !== 0
        ? [host]
        : await unlessAborted(this.#way.resolve(host, signal), signal).catch(() => {
            signal.throwIfAborted()
            return []
          })
    if (addresses.length === 0 || addresses.length > ADDRESSES_MAX) refuseGuest('upstream', `The host ${host} was not found.`)
    // A private address among public ones is the sign of DNS rebinding.
    if (!addresses.every((address) => this.#way.permits(address, isPrivate)))
      refuseGuest(
        'permission',
        `${host} resolves to ${isPrivate ? 'this server, or to a network that cannot be granted' : 'an address that is not on the public internet'}.`,
      )
    return addresses
  }

  /** Sends one request; calls `read` with the response while the host counts it as in flight. */
  async #request<Value>(hop: Hop, journey: Journey, read: (response: IncomingMessage) => Promise<Value>): Promise<Value> {
    const { caller, rates, credential, deadline, signal } = journey
    const { host, group, isPrivate, isLocal } = checkAddress(hop, journey.rules)
    const limits = { caller, rates, deadline, signal }
    const leaves: (() => void)[] = []
    try {
      if (group !== undefined) leaves.push(await this.#limiter.take({ host: group, ...limits }))
      leaves.push(await this.#limiter.take({ host, ...limits }))
      const addresses = isLocal ? this.#findLocal(host, hop.url) : await this.#findAddresses(host, isPrivate, signal)
      const sent = credential && isFor(credential, hop) ? withCredential(hop, credential) : hop
      const headers: Record<string, string> = { ...sent.headers, 'user-agent': journey.userAgent, 'accept-encoding': journey.encodings }
      if (sent.body !== undefined) headers['content-length'] = String(Buffer.byteLength(sent.body))
      signal.throwIfAborted()
      const response = await this.#send({ hop: sent, host, isPrivate, addresses, headers, signal })
      try {
        return await read(response)
      } finally {
        response.destroy()
      }
    } finally {
      for (const leave of leaves) leave()
    }
  }

  #send({ hop, host, isPrivate, addresses, headers, signal }: Sending): Promise<IncomingMessage> {
    const isPlain = hop.url.protocol === 'http:'
    const ownPort = hop.url.port === '' ? (isPlain ? 80 : 443) : Number(hop.url.port)
    const options: https.RequestOptions = {
      host,
      port: isPrivate ? ownPort : this.#way.port,
      path: `${hop.url.pathname}${hop.url.search}`,
      method: hop.method,
      headers,
      signal,
      lookup: lookupOf(addresses),
      ...CONNECTION,
    }
    return new Promise<IncomingMessage>((resolve, reject) => {
      const request = (isPlain ? http.request : this.#way.request)(options, resolve)
      request.on('error', reject)
      request.on('close', () => reject(new Error('The connection was closed without a response.')))
      request.end(hop.body)
    })
  }

  async #follow(first: Hop, journey: Journey): Promise<Arrival> {
    const { credential, deadline, signal, bytesMax, isRepeated = true, onContact } = journey
    let hop = first
    let redirects = 0
    let cacheSeconds = Number.POSITIVE_INFINITY
    let hasWaited = false
    for (;;) {
      const at = hop
      const { hostname } = at.url
      const step = await this.#request(
        at,
        journey,
        async (response): Promise<({ status: number } & ({ next: Hop } | { waitMs: number })) | { arrival: Arrival }> => {
          const status = response.statusCode ?? 0
          cacheSeconds = Math.min(cacheSeconds, cacheableSeconds(response.headers))
          const next = redirectOf(status, response.headers.location, at)
          if (next !== null) return { status, next }
          const waitMs = retryAfterMs(response)
          if (waitMs !== null && isRepeated && !hasWaited && performance.now() + waitMs + RETRY_ROOM_MS < deadline)
            return { status, waitMs }
          const bytes = await readBody(response, { method: at.method, host: at.url.host, bytesMax }, signal)
          return { arrival: { status, url: at.url.href, headers: headersOf(response), bytes, waitMs, cacheSeconds } }
        },
      ).catch((error: unknown) => {
        onContact(hostname, error instanceof GuestError ? (error.own ?? error.code) : signal.aborted ? 'timeout' : 'upstream', 0)
        throw error
      })
      if ('arrival' in step) {
        onContact(hostname, step.arrival.status, step.arrival.bytes.length)
        return step.arrival
      }
      onContact(hostname, step.status, 0)
      if ('next' in step) {
        checkRedirect(first, at, step.next, ++redirects, credential)
        hop = step.next
      } else {
        hasWaited = true
        await sleep(step.waitMs, undefined, { signal })
      }
    }
  }

  /** From resolved addresses to the response, within the deadline. */
  async #travel(
    hop: Hop,
    { deadlineMs, ...rest }: Omit<Journey, 'deadline' | 'signal'> & { deadlineMs: number },
    outer: AbortSignal,
  ): Promise<Arrival> {
    const ended = new AbortController()
    const end = () => ended.abort()
    const timer = setTimeout(end, deadlineMs)
    const journey = { ...rest, deadline: performance.now() + deadlineMs, signal: ended.signal }
    const host = hop.url.hostname
    outer.addEventListener('abort', end, { once: true })
    if (outer.aborted) end()
    let leave = () => {}
    try {
      leave = await this.#semaphore.enter(rest.caller, ended.signal)
      return await this.#follow(hop, journey)
    } catch (error) {
      if (outer.aborted) refuseGuest('closed', 'The call has ended.')
      if (error instanceof GuestError) throw error
      if (ended.signal.aborted) refuseGuest('timeout', `${host} did not respond within ${Math.round(deadlineMs)} ms.`)
      return refuseGuest('upstream', describeConnectionProblem(host, error))
    } finally {
      leave()
      clearTimeout(timer)
      outer.removeEventListener('abort', end)
      // Closes whatever is still open.
      end()
    }
  }
}

/** Connects to the checked addresses, even if the name resolves to others by then. */
const lookupOf =
  (addresses: readonly string[]): NonNullable<https.RequestOptions['lookup']> =>
  (_host, options, callback) => {
    const all = addresses.map((address) => ({ address, family: net.isIP(address) }))
    const [first] = all as [{ address: string; family: number }]
    if (options.all) (callback as (error: null, all: object[]) => void)(null, all)
    else callback(null, first.address, first.family)
  }

/** The response for a plugin: without its credential. */
async function responseOf({ status, url, headers, bytes, waitMs }: Arrival, credential: Credential | undefined): Promise<EgressResponse> {
  const masked = (text: string) => (credential ? withoutCredential(text, credential) : text)
  return {
    status,
    url: masked(url),
    headers: headers.map(([name, value]) => [masked(name), masked(value)]),
    body: credential ? await bodyWithoutCredential(bytes.toString('utf8'), credential) : bytes.toString('utf8'),
    ...(waitMs !== null && { retryAfterSeconds: Math.ceil(waitMs / 1000) }),
  }
}

/** @throws GuestError upstream for too many redirects, permission for a redirect that would reveal the credential */
function checkRedirect(first: Hop, at: Hop, next: Hop, redirects: number, credential: Credential | undefined): void {
  if (redirects > REDIRECTS_MAX) refuseGuest('upstream', `${first.url.host} redirects more than ${REDIRECTS_MAX} times.`)
  // A service that repeats its query in the redirect would have the credential sent to another host.
  if (credential && next.strayed && withoutCredential(next.url.href, credential) !== next.url.href)
    refuseGuest('permission', `${at.url.host} redirects to another host with the credentials in the address; they are not sent there.`)
}

function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Error('Aborted.'))
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
