import net from 'node:net'
import { getDomain } from 'tldts'
import { briefJson, briefText } from '#core/foundation/stranger-text.ts'
import { covers } from '#plugins/packages/permissions.ts'
import { refuseGuest } from '#plugins/runtime/guest-error.ts'

/** A host that a plugin may contact: its name, or all subdomains of one with `*.` in front. */
export interface EgressRule {
  host: string
  methods: readonly string[]
  /** Origin of the configured URL that the rule comes from, such as `http://nas.lan:8080`. */
  origin?: string | undefined
  /**
   * Whether an administrator granted this host explicitly as a private one. Requests then go to its `origin`, which may be plain http, have a
   * port, and resolve to a private address; to nothing else, and never after a redirect from another host.
   */
  private?: boolean | undefined
  /** Whether that `origin` is a host that the operator of the server has named for development; see core/settings/local-hosts.ts. */
  local?: boolean | undefined
}

/** Where requests may go: the granted hosts, or for downloads by the server any public host. */
export type EgressRules = readonly EgressRule[] | 'public'

/** The destination of an allowed request. */
interface Destination {
  /** As in DNS and certificates; an IP address only when that was granted. */
  host: string
  /** All names that the same rule covers share one rate limit: otherwise a plugin with many subdomains would have many limits. */
  group: string | undefined
  isPrivate: boolean
  isLocal: boolean
}

/** One request, or the next one after a redirect. */
export interface Hop {
  url: URL
  method: string
  headers: Record<string, string>
  body: string | undefined
  /** Whether a redirect has led to another host on the way here: credentials are only for hosts that the plugin requested itself. */
  strayed: boolean
}

const URL_LENGTH_MAX = 4_000
const BODY_BYTES_MAX = 1024 * 1024
const HEADERS_MAX = 50
const HEADER_LENGTH_MAX = 8_192
/** Length of untrusted names in messages. */
const NAME_LENGTH_MAX = 300

/** CONNECT would open a tunnel, and TRACE would reveal headers; no plugin can get them granted. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
/** Headers that only the server sets: destination, framing, identity, and method overrides. */
const FORBIDDEN_HEADERS =
  /^(host|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|expect|cookie|cookie2|user-agent|accept-encoding|proxy-.*|sec-.*|via|forwarded|x-forwarded-.*|x-real-ip|x-http-method.*|x-method-override|http2-settings)$/i
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/
/** The only headers that another host receives after a redirect: any other may be a secret, whatever its name. */
const HARMLESS_HEADERS = new Set(['accept', 'accept-language'])

/** @throws GuestError for an invalid request */
export function readRequest(given: unknown): { hop: Hop; timeoutMs: number | undefined } {
  const { url, method = 'GET', headers = {}, body, timeoutMs } = (given ?? {}) as Record<string, unknown>
  const wrong = (message: string) => refuseGuest('invalid_argument', message)
  if (typeof url !== 'string' || url.length > URL_LENGTH_MAX)
    return wrong(`fetch needs a URL of at most ${URL_LENGTH_MAX} characters; it is ${briefJson(url)}.`)
  if (typeof method !== 'string' || !METHODS.has(method.toUpperCase()))
    return wrong(`The method must be one of ${[...METHODS].join(', ')}; it is ${briefJson(method)}.`)
  if (body !== undefined && body !== null) {
    if (typeof body !== 'string') return wrong('A body must be a text; for JSON: JSON.stringify(value).')
    if (Buffer.byteLength(body) > BODY_BYTES_MAX) return wrong(`A body may have at most ${BODY_BYTES_MAX} bytes.`)
    if (/^(get|head)$/i.test(method)) return wrong(`${method.toUpperCase()} cannot have a body.`)
  }
  if (timeoutMs !== undefined && timeoutMs !== null && !(typeof timeoutMs === 'number' && timeoutMs > 0))
    return wrong(`timeoutMs must be a number of milliseconds; it is ${briefJson(timeoutMs)}.`)
  if (!URL.canParse(url)) return wrong(`"${url.slice(0, NAME_LENGTH_MAX)}" is not an absolute URL such as https://api.example.org/.`)
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
  const wrong = (message: string) => refuseGuest('invalid_argument', message)
  if (given === null || typeof given !== 'object' || Array.isArray(given)) return wrong('Headers must be an object.')
  const entries = Object.entries(given)
  if (entries.length > HEADERS_MAX) wrong(`A request may have at most ${HEADERS_MAX} headers.`)
  const checked: Record<string, string> = {}
  for (const [name, value] of entries) {
    if (!HEADER_NAME.test(name)) wrong(`"${briefText(name, 64)}" is not a name of a header.`)
    if (FORBIDDEN_HEADERS.test(name)) wrong(`The header "${name}" may not be set: only the server sets such headers.`)
    // Its value may be a secret.
    if (typeof value !== 'string' || value.length > HEADER_LENGTH_MAX || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      wrong(`The value of the header ${name} must be a text of at most ${HEADER_LENGTH_MAX} characters below U+0100, in one line.`)
    checked[name.toLowerCase()] = value as string
  }
  return checked
}

const allowed = (given: readonly EgressRule[]): string => [...new Set(given.flatMap(({ methods }) => methods))].join(', ')

/** Checks every hop, also after redirects. @throws GuestError permission */
export function checkAddress({ url, method, strayed }: Hop, rules: EgressRules): Destination {
  const { hostname, protocol } = url
  const no = (why: string) => refuseGuest('permission', `${protocol}//${url.host} `.slice(0, NAME_LENGTH_MAX) + `${why}.`)
  const checkMethod = (given: readonly EgressRule[]) => {
    if (!given.some(({ methods }) => methods.includes(method)))
      no(`may not be requested with ${method}: permissions.network in the manifest of this plugin allows ${allowed(given)}`)
  }
  if (url.username !== '' || url.password !== '') no('contains credentials in its URL')
  const host = hostname.replace(/^\[|\]$/g, '')
  const granted = rules === 'public' ? [] : rules.filter((rule) => rule.private === true && isOrigin(url, rule.origin))
  if (granted.length > 0) {
    // A remote host must not direct requests into the private network.
    if (strayed) no('is a private host, to which other hosts may not redirect')
    checkMethod(granted)
    return { host, group: undefined, isPrivate: true, isLocal: granted.some(({ local }) => local === true) }
  }
  if (protocol !== 'https:') no('is not https')
  if (url.port !== '')
    no(
      'has a port, which hosts of permissions.network never have; administrators may enter an address with one (permissions.networkFromConfig)',
    )
  if (net.isIP(host) !== 0) no('is an IP address, not a name')
  // The same host under another name, which would have its own rate limit.
  if (host.endsWith('.')) no('ends in a dot')
  if (rules === 'public') return { host, group: `*.${getDomain(host) ?? host}`, isPrivate: false, isLocal: false }
  const forHost = rules.filter((rule) => rule.private !== true && covers(rule.host, host))
  if (forHost.length === 0) no('is not a host that this plugin may contact: permissions.network in its manifest.json does not name it')
  checkMethod(forHost)
  const forMethod = forHost.filter(({ methods }) => methods.includes(method))
  return { host, group: forMethod.some((rule) => rule.host === host) ? undefined : forMethod[0]?.host, isPrivate: false, isLocal: false }
}

const isOrigin = ({ protocol, origin }: URL, wanted: string | undefined): boolean =>
  (protocol === 'https:' || protocol === 'http:') && wanted !== undefined && URL.canParse(wanted) && new URL(wanted).origin === origin

/** The next hop of a redirect; null when the response is final. @throws GuestError when the redirect is not allowed */
export function redirectOf(status: number, location: string | undefined, hop: Hop): Hop | null {
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return null
  if (location.length > URL_LENGTH_MAX || !URL.canParse(location, hop.url.href))
    return refuseGuest('upstream', `${hop.url.host} redirects to an invalid URL.`)
  const url = new URL(location, hop.url)
  const strays = url.host !== hop.url.host || url.protocol !== hop.url.protocol
  // As browsers do: after a redirect, a submitted form is not sent again.
  const becomesGet = status === 303 ? hop.method !== 'HEAD' : (status === 301 || status === 302) && hop.method === 'POST'
  const method = becomesGet ? 'GET' : hop.method
  const body = becomesGet ? undefined : hop.body
  if (strays && body !== undefined)
    return refuseGuest('permission', `${hop.url.host} redirects a request with a body to another host, which is not allowed.`)
  const kept = Object.entries(hop.headers).filter(
    ([name]) => (!strays || HARMLESS_HEADERS.has(name)) && !(becomesGet && name.startsWith('content-')),
  )
  return { url, method, headers: Object.fromEntries(kept), body, strayed: hop.strayed || strays }
}
