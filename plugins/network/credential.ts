import { setImmediate as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { type Forms, formsOf, masking } from '#plugins/network/masking.ts'
import { type Hop, refuse } from '#plugins/network/request.ts'

/** Where in a request a credential stands. */
export type CredentialPlace = 'header' | 'query' | 'body'

/** What the server puts into requests for one host; plugins never see it. */
export interface Credential {
  host: string
  place: CredentialPlace
  /** Of the header, of the parameter of the address, or of the member of a form or of an object as JSON. */
  name: string
  value: string
  /** Stands in the same place under a name of its own: whose password the value is. No secret. */
  username?: { name: string; value: string } | undefined
  /** What of it is a secret: a manifest may have put something in front that it knows. Looked for in the value where nobody says it. */
  secrets?: readonly string[] | undefined
  /** What is a secret only as a whole, as a name with its password. */
  wholes?: readonly string[] | undefined
  /** Where the host comes from a configuration: its scheme, host and port. Otherwise it is https at its own port. */
  origin?: string | undefined
}

/** Only what a plugin asked by itself of exactly that host, by that scheme and port; whatever follows a redirect from elsewhere goes without. */
export function isFor(credential: Credential, { url, strayed }: Hop): boolean {
  return !strayed && url.origin === (credential.origin ?? `https://${credential.host}`)
}

/** A body that something is put into is read for that in the thread of the server, as long a text as is read there at all. */
const BODY_LENGTH_MAX = 64 * 1024

/**
 * The request with the credential in its place; what the plugin has put there itself gives way. A request without a body has no place in it.
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

/** The text of a form or of a query, as it is but for this parameter. */
function withParameter(text: string, name: string, value: string): string {
  const given = new URLSearchParams(text)
  const isThere = given.has(name)
  given.delete(name)
  const rest = isThere ? given.toString() : text
  return `${rest}${rest === '' ? '' : '&'}${encodeURIComponent(name)}=${encodeURIComponent(value)}`
}

function bodyWith(body: string, contentType: string, { name, value }: Pick<Credential, 'name' | 'value'>): string {
  const wrong = (what: string) =>
    refuse('invalid_argument', `The server puts the credentials into the body of this request, as "${name}": ${what}.`)
  if (body.length > BODY_LENGTH_MAX) return wrong(`it may have ${BODY_LENGTH_MAX} characters`)
  const [type = ''] = contentType.toLowerCase().split(';')
  if (type.trim() === 'application/x-www-form-urlencoded') return withParameter(body, name, value)
  if (!/^application\/([a-z0-9.-]{1,100}\+)?json$/.test(type.trim()))
    return wrong('its Content-Type must be application/json or application/x-www-form-urlencoded')
  const given = readObject(body)
  if (given === null) return wrong('it must be an object as JSON')
  if (Object.hasOwn(given, name)) return JSON.stringify({ ...given, [name]: value })
  // In front of the rest, which stays letter by letter: numbers of many digits would be others after they were read.
  const rest = body.slice(body.indexOf('{') + 1)
  return `{${JSON.stringify(name)}:${JSON.stringify(value)}${Object.keys(given).length === 0 ? '' : ','}${rest}`
}

function readObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

/** Of credentials that are in use: some hundred pieces each, thousands where a token is a signed statement of 10,000 characters, and a table of a megabyte. */
const FORMS_KEPT = 16
const kept = new LRUCache<string, Forms>({ max: FORMS_KEPT })

/** How it stands in a request, which gives even a short one away; a header is its value and a name that is no secret. */
const inPlace = ({ place, name, value }: Credential): string[] => {
  if (place === 'header') return []
  if (place === 'query') return [`${name}=${value}`]
  return [`${name}=${value}`, `"${name}":"${value}"`, `"${name}": "${value}"`]
}

function keptForms(credential: Credential): Forms {
  const { place, name, value, secrets, wholes = [] } = credential
  const key = JSON.stringify([place, name, value, secrets, wholes])
  const known = kept.get(key)
  if (known) return known
  const forms = formsOf(value, [...inPlace(credential), ...wholes], secrets)
  kept.set(key, forms)
  return forms
}

/** A text of a service that may tell what it was sent, as pages for faults do: in the plugin's hands the credential would be the plugin's. */
export function withoutCredential(text: string, credential: Credential): string {
  const work = masking(text, keptForms(credential))
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}

/** The same for the largest of answers: between its parts it lets others have the thread. */
export async function bodyWithoutCredential(text: string, credential: Credential): Promise<string> {
  const work = masking(text, keptForms(credential))
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
    await pause()
  }
}
