import { setImmediate as pause } from 'node:timers/promises'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { parseObject } from '#core/foundation/plain-object.ts'
import { credentialSpellings, masking, type Spellings } from '#plugins/network/masking.ts'
import type { Hop } from '#plugins/network/request.ts'
import { refuseGuest } from '#plugins/runtime/guest-error.ts'

/** A credential that the server adds to requests for one host; plugins never see it. */
export interface Credential {
  host: string
  /** Where a request contains it. */
  place: 'header' | 'query' | 'body'
  /** Name of the header, of the query parameter, or of the member of a form or of a JSON object. */
  name: string
  value: string
  /** The user name for the value, in the same place under its own name. Not a secret. */
  username?: { name: string; value: string } | undefined
  /** The secret parts of the value, which may have a public prefix from the manifest. By default they are searched for in the value. */
  secrets?: readonly string[] | undefined
  /** Texts that are secret only as a whole, such as a user name with its password. */
  wholes?: readonly string[] | undefined
  /** For a host from the configuration: its scheme, host and port. Otherwise https with its default port. */
  origin?: string | undefined
}

/** Only for requests of the plugin to exactly that host, scheme and port; never after a redirect from another host. */
export function isFor(credential: Credential, { url, strayed }: Hop): boolean {
  return !strayed && url.origin === (credential.origin ?? `https://${credential.host}`)
}

/** The server's thread parses a body to add a credential, up to the length that it parses for other purposes. */
const BODY_LENGTH_MAX = 64 * 1024

/**
 * The request with the credential added; it replaces what the plugin has put there. A request without a body gets none.
 * @throws GuestError invalid_argument for a body that has no such members
 */
export function withCredential(hop: Hop, { place, username, ...main }: Credential): Hop {
  return withField(username ? withField(hop, { place, ...username }) : hop, { place, ...main })
}

function withField(hop: Hop, { place, name, value }: Pick<Credential, 'place' | 'name' | 'value'>): Hop {
  if (place === 'header') return { ...hop, headers: { ...hop.headers, [name.toLowerCase()]: value } }
  if (place === 'query') {
    const url = new URL(hop.url)
    url.search = withParameter(url.search.replace(/^\?/, ''), name, value)
    return { ...hop, url }
  }
  return hop.body === undefined ? hop : { ...hop, body: bodyWith(hop.body, hop.headers['content-type'] ?? '', { name, value }) }
}

/** A form or query with this parameter replaced and the rest unchanged. */
function withParameter(text: string, name: string, value: string): string {
  const given = new URLSearchParams(text)
  const isThere = given.has(name)
  given.delete(name)
  const rest = isThere ? given.toString() : text
  return `${rest}${rest === '' ? '' : '&'}${encodeURIComponent(name)}=${encodeURIComponent(value)}`
}

function bodyWith(body: string, contentType: string, { name, value }: Pick<Credential, 'name' | 'value'>): string {
  const wrong = (what: string) =>
    refuseGuest('invalid_argument', `The server adds the credentials to the body of this request, as "${name}": ${what}.`)
  if (body.length > BODY_LENGTH_MAX) return wrong(`it may have at most ${BODY_LENGTH_MAX} characters`)
  const [type = ''] = contentType.toLowerCase().split(';')
  if (type.trim() === 'application/x-www-form-urlencoded') return withParameter(body, name, value)
  if (!/^application\/([a-z0-9.-]{1,100}\+)?json$/.test(type.trim()))
    return wrong('its Content-Type must be application/json or application/x-www-form-urlencoded')
  const given = parseObject(body)
  if (given === null) return wrong('it must be a JSON object')
  if (Object.hasOwn(given, name)) return JSON.stringify({ ...given, [name]: value })
  // Inserted in front of the rest, which stays unchanged: parsing would alter numbers of many digits.
  const rest = body.slice(body.indexOf('{') + 1)
  return `{${JSON.stringify(name)}:${JSON.stringify(value)}${Object.keys(given).length === 0 ? '' : ','}${rest}`
}

/** Spellings of credentials in use: about ten for each secret, a hundred thousand characters for a signed token of 10,000. */
const SPELLINGS_KEPT = 16
const SPELLINGS_BYTES_MAX = 32 * 1024 * 1024
/** With two bytes for each character. */
const CHARACTER_BYTES = 2
const kept = new BoundedCache<Spellings>({
  bytesMax: SPELLINGS_BYTES_MAX,
  entriesMax: SPELLINGS_KEPT,
  bytesOf: ({ length }) => length * CHARACTER_BYTES,
})

/** The credential with its place in the request, which identifies even a short one; for headers, the value alone, because the name is no secret. */
const inPlace = ({ place, name, value }: Credential): string[] => {
  if (place === 'header') return []
  if (place === 'query') return [`${name}=${value}`]
  return [`${name}=${value}`, `"${name}":"${value}"`, `"${name}": "${value}"`]
}

function keptSpellings(credential: Credential): Spellings {
  const { place, name, value, secrets, wholes = [] } = credential
  const key = JSON.stringify([place, name, value, secrets, wholes])
  const known = kept.get(key)
  if (known) return known
  const spellings = credentialSpellings(value, [...inPlace(credential), ...wholes], secrets)
  kept.set(key, spellings)
  return spellings
}

/** Removes the credential from a text of the service, which may echo its request, as error pages do: the plugin must not see it. */
export function withoutCredential(text: string, credential: Credential): string {
  const work = masking(text, keptSpellings(credential))
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}

/** The same for the largest responses; it yields the thread between parts. */
export async function bodyWithoutCredential(text: string, credential: Credential): Promise<string> {
  const work = masking(text, keptSpellings(credential))
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
    await pause()
  }
}
