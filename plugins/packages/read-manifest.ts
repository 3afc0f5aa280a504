import { Compile } from 'typebox/compile'
import { Clean } from 'typebox/value'
import { COMIC_INFO_KEY, OWN_SOURCE } from '#core/fields/source-key.ts'
import { refuse } from '#core/foundation/errors.ts'
import { nearestName } from '#core/foundation/nearest-name.ts'
import { briefText } from '#core/foundation/stranger-text.ts'
import {
  ADVICE,
  CAPABILITY_METHODS,
  FORBIDDEN_HEADER,
  HOST,
  MANIFEST_BYTES_MAX,
  MANIFEST_SHAPE,
  Manifest,
  PATTERNS,
  PLUGIN_API,
  RESERVED_CAPABILITIES,
} from '#plugins/packages/manifest.ts'
import { placeHint } from '#plugins/packages/manifest-members.ts'
import { DEFAULT_ORIGIN_MAX, defaultOrigin } from '#plugins/packages/permissions.ts'
import { readPlainJson } from '#plugins/packages/plain-json.ts'
import { configSchemaProblem } from '#plugins/packages/plugin-config.ts'
import { describeSchemaProblem, oneOf } from '#plugins/packages/schema-problem.ts'
import { isTooWide } from '#plugins/packages/wide-host.ts'

const check = Compile(Manifest)
const KNOWN_PERMISSIONS = ['network', 'networkFromConfig', 'storage', 'library']
/** Capabilities without code. */
const DECLARED_ONLY = ['webLinks']
const CAPABILITIES = [...Object.keys(CAPABILITY_METHODS), ...DECLARED_ONLY]

/** Authors fix no more at once; a manifest of 64 KB could have thousands. */
const FAULTS_MAX = 20

interface ManifestProblem {
  /** JSON pointer of the member. */
  path: string
  message: string
}
type Report = (path: string, message: string) => void

/**
 * Without the members that this server does not know: nobody was asked about them, so they must not be stored for a server that will know them.
 * @throws invalid_value with all errors and their paths: schema errors, or, when there are none, rule violations
 */
export function readManifest(bytes: Uint8Array): Manifest {
  if (bytes.length > MANIFEST_BYTES_MAX)
    return refuseManifest([{ path: '', message: `it has ${bytes.length} bytes; the limit is ${MANIFEST_BYTES_MAX}` }])
  const value = readPlainJson(bytes, (message) => refuseManifest([{ path: '', message }]))
  if (!check.Check(value)) return refuseManifest(formProblems(value))
  const problems: ManifestProblem[] = []
  checkRules(value, (path, message) => void problems.push({ path, message }))
  return problems.length > 0 ? refuseManifest(problems) : (Clean(Manifest, value) as Manifest)
}

function refuseManifest(problems: readonly ManifestProblem[]): never {
  const listed = problems.slice(0, FAULTS_MAX)
  const sentences = listed.map(({ path, message }) => `manifest.json${path === '' ? '' : ` at ${path}`}: ${message}.`)
  const more = problems.length > listed.length ? [`It has ${problems.length - listed.length} more errors.`] : []
  refuse('invalid_value', [...sentences, ...more].join(' '), {
    details: listed.map(({ path, message }) => ({ path: `/manifest${path}`, message })),
  })
}

/** One error for each place. A value that matches none of several alternatives fails each of them; only the first is reported. */
function formProblems(value: unknown): ManifestProblem[] {
  const problems = new Map<string, ManifestProblem>()
  for (const error of check.Errors(value)) {
    const { instancePath, schemaPath } = error
    const [form, ...branches] = schemaPath.split('/anyOf')
    const place = branches.length > 0 || error.keyword === 'anyOf' ? `form ${form}` : instancePath
    if (problems.has(place)) continue
    const message = describeSchemaProblem(value, error, { schema: MANIFEST_SHAPE, patterns: PATTERNS, advice: ADVICE })
    problems.set(place, { path: instancePath, message })
  }
  return problems.size > 0 ? [...problems.values()] : [{ path: '', message: 'it is not a manifest' }]
}

function checkRules(value: Manifest, wrong: Report): void {
  const { engine, capabilities, permissions = {} } = value
  // A server cannot ask consent for what it does not know, nor limit it; so newer plugins need a newer server.
  if (Number(engine.pluginApi.split('.')[1]) > Number(PLUGIN_API.split('.')[1]))
    wrong('/engine/pluginApi', `this version of Carrel has plugin API ${PLUGIN_API}; the plugin needs a newer one`)
  const isReserved = (name: string) => (RESERVED_CAPABILITIES as readonly string[]).includes(name)
  for (const reserved of Object.keys(capabilities).filter(isReserved))
    wrong(`/capabilities/${reserved}`, `this name is reserved for a later version of the interface; ${oneOf(reserved, CAPABILITIES)}`)
  const isKnown = (name: string) => CAPABILITIES.includes(name) || isReserved(name)
  for (const capability of Object.keys(capabilities).filter((name) => !isKnown(name)))
    wrong(
      `/capabilities/${briefText(capability)}`,
      `this version of Carrel does not know that capability (a newer one may); ${oneOf(capability, CAPABILITIES)}${elsewhere(capability, '/capabilities')}`,
    )
  if (Object.keys(capabilities).length === 0) wrong('/capabilities', `a plugin has at least one of ${CAPABILITIES.join(', ')}`)
  for (const [name, given] of Object.entries(capabilities as Record<string, { idSource?: string } | null>)) {
    const idSource = given?.idSource
    if (idSource === COMIC_INFO_KEY || (idSource === OWN_SOURCE && name !== 'recommendations'))
      wrong(
        `/capabilities/${name}/idSource`,
        idSource === COMIC_INFO_KEY
          ? `${idSource} is the key for identifiers in comic files; use the name of your service`
          : `${idSource} means this library, which is allowed only for recommendations; use the name of your service`,
      )
  }
  for (const permission of Object.keys(permissions).filter((name) => !KNOWN_PERMISSIONS.includes(name)))
    wrong(
      `/permissions/${briefText(permission)}`,
      `this version of Carrel does not know that permission (a newer one may); ${oneOf(permission, KNOWN_PERMISSIONS)}${elsewhere(permission, '/permissions')}`,
    )
  const hosts = (permissions.network ?? []).map(({ host }) => host)
  for (const [index, host] of hosts.entries()) {
    const place = `/permissions/network/${index}/host`
    if (isTooWide(host)) wrong(place, `${host} covers domains of unrelated owners; list the hosts`)
    if (hosts.indexOf(host) < index) wrong(place, `${host} occurs twice; list all its methods in one entry`)
  }
  for (const [index, host] of (value.capabilities.webLinks?.hosts ?? []).entries())
    if (isTooWide(host)) wrong(`/capabilities/webLinks/hosts/${index}`, `${host} covers domains of unrelated owners; list the hosts`)
  checkAddresses(value, wrong)
  checkCredentials(value, wrong)
  for (const name of ['config', 'userConfig'] as const) {
    const problem = value[name] === undefined ? null : configSchemaProblem(value[name])
    if (problem !== null) wrong(`/${name}${problem.path}`, problem.message)
  }
  for (const limited of Object.keys(value.http?.rateLimit ?? {}).filter((host) => !hosts.includes(host)))
    wrong(
      `/http/rateLimit/${briefText(limited)}`,
      new RegExp(HOST).test(limited)
        ? `it is not a host of /permissions/network; ${addOrUse(limited, hosts)}`
        : 'it is no host; each member of rateLimit is a host of /permissions/network with its rates, such as { "perMinute": 30 }',
    )
  checkConfiguredHosts(value, wrong)
}

/** Checks that each names one host, which consent can show. */
function checkConfiguredHosts({ permissions = {}, config }: Manifest, wrong: Report): void {
  const given = config?.['properties']
  const members = (given !== null && typeof given === 'object' ? given : {}) as Record<string, { type?: unknown; default?: unknown }>
  const known = Object.keys(members)
  for (const [index, key] of (permissions.networkFromConfig ?? []).entries()) {
    if (!known.includes(key)) {
      const similar = nearestName(key, known)
      const advice = `add it there as a text, in which administrators enter the URL${similar === null ? '' : `, or use ${similar}`}`
      wrong(`/permissions/networkFromConfig/${index}`, `${key} is not a member of /config/properties; ${advice}`)
      continue
    }
    const { type, default: proposed = '' } = members[key] ?? {}
    if (type !== 'string') wrong(`/config/properties/${key}/type`, 'it contains the URL of one host, so it must be string')
    // Like no default: nothing is contacted before an administrator enters a URL.
    else if (proposed !== '' && defaultOrigin(proposed) === null)
      wrong(
        `/config/properties/${key}/default`,
        `consent shows the host that it names, so it must be a URL such as https://api.example.org, without credentials and wildcards, whose scheme and host have at most ${DEFAULT_ORIGIN_MAX} characters`,
      )
  }
}

/** Checks that each can be read: the pattern of addresses allows ports above 65535 and numbers that are no IP address. */
function checkAddresses({ author, homepage, repository, capabilities: { webLinks = {} }, auth }: Manifest, wrong: Report): void {
  const addresses = {
    '/author/url': author?.url,
    '/homepage': homepage,
    '/repository': repository,
    '/auth/oauth2/authorizeUrl': auth?.oauth2?.authorizeUrl,
    '/auth/oauth2/tokenUrl': auth?.oauth2?.tokenUrl,
    '/capabilities/webLinks/search': webLinks.search,
    '/capabilities/webLinks/series': webLinks.series,
    '/capabilities/webLinks/book': webLinks.book,
  }
  for (const [place, address] of Object.entries(addresses))
    if (address !== undefined && !URL.canParse(address)) wrong(place, `${briefText(address)} is not an address that browsers can read`)
}

/** Checks where credentials go and come from: only hosts that the administrator sees. */
function checkCredentials({ auth, capabilities, permissions = {} }: Manifest, wrong: Report): void {
  if (auth === undefined) return
  const { bind, oauth2, type, scope } = auth
  if (bind !== undefined) {
    const { host, hostFrom, header, query, body, usernameField, format = '{token}' } = bind
    if ((host === undefined) === (hostFrom === undefined))
      wrong(
        '/auth/bind',
        `either host or hostFrom must name the host for the credentials; it has ${host === undefined ? 'neither' : 'both'}`,
      )
    const hosts = (permissions.network ?? []).map((one) => one.host)
    if (host !== undefined && !hosts.includes(host))
      wrong(
        '/auth/bind/host',
        `credentials go only to a host of /permissions/network, and ${briefText(host)} is none; ${addOrUse(host, hosts)}`,
      )
    if (host?.startsWith('*.')) wrong('/auth/bind/host', 'credentials can go to only one host; write its full name')
    if (hostFrom !== undefined && !(permissions.networkFromConfig ?? []).includes(hostFrom))
      wrong('/auth/bind/hostFrom', 'credentials can go only to the URL of a member of /permissions/networkFromConfig')
    // The manifest names the host that issues the tokens, so it must name their destination too.
    if (hostFrom !== undefined && type === 'oauth2') wrong('/auth/bind/hostFrom', 'oauth2 tokens must go to a host that the manifest names')
    const places = Object.entries({ header, query, body }).flatMap(([name, place]) => (place === undefined ? [] : [name]))
    if (places.length !== 1) {
      const has = places.length === 0 ? 'none' : places.join(' and ')
      wrong('/auth/bind', `exactly one of header, query and body must name the place of the credentials in requests; it has ${has}`)
    }
    // The standard uses a header; services with their own scheme take two fields.
    if (header === undefined && usernameField === undefined && type === 'basic')
      wrong('/auth/bind', 'credentials of type basic go into a header, or with usernameField into two fields')
    if (usernameField !== undefined && (type !== 'basic' || header !== undefined))
      wrong('/auth/bind/usernameField', 'it is allowed only with query or body, and only for type basic')
    if (usernameField !== undefined && usernameField === (query ?? body))
      wrong('/auth/bind/usernameField', 'user name and password need different fields')
    if (header !== undefined && FORBIDDEN_HEADER.test(header)) wrong('/auth/bind/header', `credentials cannot go into ${header}`)
    if (format.split('{token}').length !== 2)
      wrong('/auth/bind/format', 'it must contain {token} once, which the server replaces by the credentials')
  }
  if (type !== 'none' && bind === undefined)
    wrong('/auth', 'bind must say where the credentials go: host or hostFrom, and header, query or body')
  if (type === 'oauth2' && oauth2 === undefined) wrong('/auth/oauth2', 'type oauth2 needs it, with authorizeUrl and tokenUrl')
  if (type !== 'oauth2' && oauth2 !== undefined) wrong('/auth/oauth2', `it is only for type oauth2; the type is ${type}`)
  if (scope === 'user' && !Object.hasOwn(capabilities, 'recommendations'))
    wrong('/auth/scope', 'only recommendations run for a user; metadata requests use credentials of the server')
  const given = oauth2 === undefined ? [] : [oauth2.authorizeUrl, oauth2.tokenUrl]
  // The egress refuses IP addresses in requests of the server; these URLs are for browsers too.
  for (const url of given)
    if (URL.canParse(url) && !isHostName(new URL(url).hostname)) wrong('/auth/oauth2', `${briefText(url)} has no host name`)
}

/** What to do about a name that is not among these. */
function addOrUse(value: string, names: readonly string[]): string {
  if (names.length === 0) return 'add it there'
  const similar = nearestName(value, names)
  return `add it there, or use ${similar ?? names.join(' or ')}`
}

/** Where a member of this name belongs, as the end of a sentence. */
const elsewhere = (name: string, place: string): string => placeHint(MANIFEST_SHAPE, name, place).replace(/^ T/, '; t').replace(/\.$/, '')

const hostPattern = new RegExp(HOST)
const isHostName = (host: string) => hostPattern.test(host) && !host.startsWith('*.')
