import net from 'node:net'
import { getDomain } from 'tldts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

/** A host that a plugin may talk to: by its name, or everything below one with `*.` in front. */
export interface EgressRule {
  host: string
  methods: readonly string[]
  /** Of the address in the configuration that it comes from, such as `http://nas.lan:8080`. */
  origin?: string | undefined
  /**
   * Whether an administrator granted this host by itself as one of the house: then it is asked at its `origin`, which may be plain http, have a
   * port, and lie at an address of the house; by nothing else, and never where a redirect of another host leads there.
   */
  private?: boolean | undefined
  /** Whether that `origin` is a place which the person who runs the server has named for development; see local-places.ts. */
  local?: boolean | undefined
}

/** What a request may be sent to: what was granted, or for the server's own downloads whatever is public. */
export type EgressRules = readonly EgressRule[] | 'public'

/** Where a request that was let through goes. */
export interface Destination {
  /** As name servers and certificates know it; a number only where that was granted. */
  host: string
  /** All names that the same rule covers, as one host of that rate: whoever may ask many names would otherwise have as many rates. */
  group: string | undefined
  isPrivate: boolean
  isLocal: boolean
}

/** One request, and each that a redirect makes of it. */
export interface Hop {
  url: URL
  method: string
  headers: Record<string, string>
  body: string | undefined
  /** Whether a redirect has led to another host on the way here: credentials are for what the plugin asked itself. */
  strayed: boolean
}

const URL_LENGTH_MAX = 4_000
const BODY_BYTES_MAX = 1024 * 1024
const HEADERS_MAX = 50
const HEADER_LENGTH_MAX = 8_192
/** Of what strangers name in messages. */
const NAME_LENGTH_MAX = 300

/** CONNECT makes a tunnel of a request, and TRACE tells its headers; nobody can be granted them. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
/** What only the server may say: where a request goes, how it is framed, who asks, and which method it really is. */
const FORBIDDEN_HEADERS =
  /^(host|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|expect|cookie|cookie2|user-agent|accept-encoding|proxy-.*|sec-.*|via|forwarded|x-forwarded-.*|x-real-ip|x-http-method.*|x-method-override|http2-settings)$/i
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/
/** All that another host is told when a redirect leads there: what was meant for one may be a secret, whatever its name. */
const HARMLESS_HEADERS = new Set(['accept', 'accept-language'])

export const refuse = (code: string, message: string): never => {
  throw new GuestError('thrown', message, code)
}

/** @throws GuestError for what is no request */
export function readRequest(given: unknown): { hop: Hop; timeoutMs: number | undefined } {
  const { url, method = 'GET', headers = {}, body, timeoutMs } = (given ?? {}) as Record<string, unknown>
  const wrong = (message: string) => refuse('invalid_argument', message)
  if (typeof url !== 'string' || url.length > URL_LENGTH_MAX) return wrong('fetch needs an address.')
  if (typeof method !== 'string' || !METHODS.has(method.toUpperCase())) return wrong(`The method is none of ${[...METHODS].join(', ')}.`)
  if (body !== undefined && body !== null) {
    if (typeof body !== 'string') return wrong('A body is a text.')
    if (Buffer.byteLength(body) > BODY_BYTES_MAX) return wrong(`A body may have ${BODY_BYTES_MAX} bytes.`)
    if (/^(get|head)$/i.test(method)) return wrong(`${method.toUpperCase()} has no body.`)
  }
  if (timeoutMs !== undefined && timeoutMs !== null && !(typeof timeoutMs === 'number' && timeoutMs > 0))
    return wrong('timeoutMs is a number of milliseconds.')
  if (!URL.canParse(url)) return wrong(`"${url.slice(0, NAME_LENGTH_MAX)}" is no address.`)
  return {
    hop: {
      url: new URL(url),
      method: method.toUpperCase(),
      headers: readHeaders(headers),
      body: typeof body === 'string' ? body : undefined,
      strayed: false,
    },
    timeoutMs: typeof timeoutMs === 'number' ? timeoutMs : undefined,
  }
}

function readHeaders(given: unknown): Record<string, string> {
  const wrong = (message: string) => refuse('invalid_argument', message)
  if (given === null || typeof given !== 'object' || Array.isArray(given)) return wrong('Headers are an object.')
  const entries = Object.entries(given)
  if (entries.length > HEADERS_MAX) wrong(`A request may have ${HEADERS_MAX} headers.`)
  const checked: Record<string, string> = {}
  for (const [name, value] of entries) {
    if (!HEADER_NAME.test(name) || FORBIDDEN_HEADERS.test(name)) wrong(`The header "${name.slice(0, 64)}" may not be set.`)
    if (typeof value !== 'string' || value.length > HEADER_LENGTH_MAX || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      wrong(`The header ${name} has a value that no header can have.`)
    checked[name.toLowerCase()] = value as string
  }
  return checked
}

/** Whether a host is the one of a rule, or below it. */
export const covers = (pattern: string, host: string): boolean =>
  pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)))

/** Every hop is checked as the first one. @throws GuestError permission */
export function checkAddress({ url, method, strayed }: Hop, rules: EgressRules): Destination {
  const { hostname, protocol } = url
  const no = (why: string) => refuse('permission', `${protocol}//${url.host} `.slice(0, NAME_LENGTH_MAX) + `${why}.`)
  const checkMethod = (given: readonly EgressRule[]) => {
    if (!given.some(({ methods }) => methods.includes(method))) no(`may not be asked with ${method}`)
  }
  if (url.username !== '' || url.password !== '') no('carries credentials in its address')
  const host = hostname.replace(/^\[|\]$/g, '')
  const granted = rules === 'public' ? [] : rules.filter((rule) => rule.private === true && isOrigin(url, rule.origin))
  if (granted.length > 0) {
    // Whoever is asked does not choose what is asked of the house.
    if (strayed) no('is a host of the house, where redirects of others do not lead')
    checkMethod(granted)
    return { host, group: undefined, isPrivate: true, isLocal: granted.some(({ local }) => local === true) }
  }
  if (protocol !== 'https:') no('is not https')
  if (url.port !== '') no('names a port')
  if (net.isIP(host) !== 0) no('is an address and no name')
  // The same host by another name, which would have a rate of its own.
  if (host.endsWith('.')) no('ends in a dot')
  if (rules === 'public') return { host, group: `*.${getDomain(host) ?? host}`, isPrivate: false, isLocal: false }
  const forHost = rules.filter((rule) => rule.private !== true && covers(rule.host, host))
  if (forHost.length === 0) no('is no host that this plugin may talk to')
  checkMethod(forHost)
  const forMethod = forHost.filter(({ methods }) => methods.includes(method))
  return { host, group: forMethod.some((rule) => rule.host === host) ? undefined : forMethod[0]?.host, isPrivate: false, isLocal: false }
}

const isOrigin = ({ protocol, origin }: URL, wanted: string | undefined): boolean =>
  (protocol === 'https:' || protocol === 'http:') && wanted !== undefined && URL.canParse(wanted) && new URL(wanted).origin === origin

/** Where an answer sends the asker; null when it is the answer. @throws GuestError where the asker does not go */
export function redirectOf(status: number, location: string | undefined, hop: Hop): Hop | null {
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return null
  if (location.length > URL_LENGTH_MAX || !URL.canParse(location, hop.url.href))
    return refuse('upstream', `${hop.url.host} redirects to what is no address.`)
  const url = new URL(location, hop.url)
  const strays = url.host !== hop.url.host || url.protocol !== hop.url.protocol
  // As browsers do: a form that was sent is not sent again where the answer lies elsewhere.
  const becomesGet = status === 303 ? hop.method !== 'HEAD' : (status === 301 || status === 302) && hop.method === 'POST'
  const method = becomesGet ? 'GET' : hop.method
  const body = becomesGet ? undefined : hop.body
  if (strays && body !== undefined)
    return refuse('permission', `${hop.url.host} redirects to another host what was sent to it; it is not sent there.`)
  const kept = Object.entries(hop.headers).filter(
    ([name]) => (!strays || HARMLESS_HEADERS.has(name)) && !(becomesGet && name.startsWith('content-')),
  )
  return { url, method, headers: Object.fromEntries(kept), body, strayed: hop.strayed || strays }
}
