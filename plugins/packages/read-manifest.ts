import { Compile } from 'typebox/compile'
import { refuse } from '#core/foundation/errors.ts'
import { COMIC_INFO_KEY, OWN_SOURCE } from '#core/metadata/source-key.ts'
import {
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
import { describeFault, oneOf } from '#plugins/packages/manifest-fault.ts'
import { standsElsewhere } from '#plugins/packages/manifest-members.ts'
import { readPlainJson, shown } from '#plugins/packages/plain-json.ts'
import { configSchemaFault } from '#plugins/packages/plugin-config.ts'
import { isTooWide } from '#plugins/packages/wide-host.ts'

const check = Compile(Manifest)
const KNOWN_PERMISSIONS = ['network', 'networkFromConfig', 'storage', 'library']
/** Capabilities without code behind them. */
const DECLARED_ONLY = ['webLinks']
const CAPABILITIES = [...Object.keys(CAPABILITY_METHODS), ...DECLARED_ONLY]

/** Nobody mends more at once; a manifest of 64 KB could have thousands. */
const FAULTS_MAX = 20

interface Fault {
  /** JSON pointer of the member. */
  path: string
  message: string
}
type Report = (path: string, message: string) => void

/** @throws invalid_value with every fault that it has and the path of its member: those of its form, or where that is right those of its rules */
export function readManifest(bytes: Uint8Array): Manifest {
  if (bytes.length > MANIFEST_BYTES_MAX)
    return refuseManifest([{ path: '', message: `it has ${bytes.length} bytes; ${MANIFEST_BYTES_MAX} are allowed` }])
  const value = readPlainJson(bytes, (message) => refuseManifest([{ path: '', message }]))
  if (!check.Check(value)) return refuseManifest(formFaults(value))
  const faults: Fault[] = []
  checkRules(value, (path, message) => void faults.push({ path, message }))
  return faults.length > 0 ? refuseManifest(faults) : value
}

function refuseManifest(faults: readonly Fault[]): never {
  const told = faults.slice(0, FAULTS_MAX)
  const sentences = told.map(({ path, message }) => `manifest.json${path === '' ? '' : ` at ${path}`}: ${message}.`)
  const more = faults.length > told.length ? [`It has ${faults.length - told.length} more faults.`] : []
  refuse('invalid_value', [...sentences, ...more].join(' '), {
    details: told.map(({ path, message }) => ({ path: `/manifest${path}`, message })),
  })
}

/** One fault for each place. A value that fits none of several forms fails each of them: only the first of these is told. */
function formFaults(value: unknown): Fault[] {
  const faults = new Map<string, Fault>()
  for (const error of check.Errors(value)) {
    const { instancePath, schemaPath, params } = error
    const [form, ...branches] = schemaPath.split('/anyOf')
    const place = branches.length > 0 || error.keyword === 'anyOf' ? `form ${form}` : instancePath
    if (faults.has(place)) continue
    const { pattern } = (params ?? {}) as { pattern?: unknown }
    const said = typeof pattern === 'string' ? PATTERNS[pattern] : undefined
    const message = said ?? describeFault(value, error, { schema: MANIFEST_SHAPE, patterns: PATTERNS })
    faults.set(place, { path: instancePath, message })
  }
  return faults.size > 0 ? [...faults.values()] : [{ path: '', message: 'it is no manifest' }]
}

function checkRules(value: Manifest, wrong: Report): void {
  const { engine, capabilities, permissions = {} } = value
  // What a server does not know it cannot ask consent for, nor keep within bounds; so newer plugins wait for a newer server.
  if (Number(engine.pluginApi.split('.')[1]) > Number(PLUGIN_API.split('.')[1]))
    wrong('/engine/pluginApi', `this server offers ${PLUGIN_API}; the plugin needs a newer one`)
  const isReserved = (name: string) => (RESERVED_CAPABILITIES as readonly string[]).includes(name)
  for (const reserved of Object.keys(capabilities).filter(isReserved))
    wrong(`/capabilities/${reserved}`, `this name is kept for a later version of the interface; ${oneOf(reserved, CAPABILITIES)}`)
  const isKnown = (name: string) => CAPABILITIES.includes(name) || isReserved(name)
  for (const capability of Object.keys(capabilities).filter((name) => !isKnown(name)))
    wrong(
      `/capabilities/${shown(capability)}`,
      `this server does not know that capability (a newer one may); ${oneOf(capability, CAPABILITIES)}${elsewhere(capability, '/capabilities')}`,
    )
  if (Object.keys(capabilities).length === 0) wrong('/capabilities', `a plugin has at least one of ${CAPABILITIES.join(', ')}`)
  for (const [name, given] of Object.entries(capabilities as Record<string, { idSource?: string } | null>)) {
    const idSource = given?.idSource
    if (idSource === COMIC_INFO_KEY || (idSource === OWN_SOURCE && name !== 'recommendations'))
      wrong(
        `/capabilities/${name}/idSource`,
        idSource === COMIC_INFO_KEY
          ? `${idSource} is what files of comics identify books by; name your service`
          : `${idSource} stands for this library, which only recommendations can be of; name your service`,
      )
  }
  for (const permission of Object.keys(permissions).filter((name) => !KNOWN_PERMISSIONS.includes(name)))
    wrong(
      `/permissions/${shown(permission)}`,
      `this server does not know that permission (a newer one may); ${oneOf(permission, KNOWN_PERMISSIONS)}${elsewhere(permission, '/permissions')}`,
    )
  const hosts = (permissions.network ?? []).map(({ host }) => host)
  for (const [index, host] of hosts.entries()) {
    const place = `/permissions/network/${index}/host`
    if (isTooWide(host)) wrong(place, `${host} covers names of people who have nothing to do with each other; name the hosts`)
    if (hosts.indexOf(host) < index) wrong(place, `${host} stands there twice; give all its methods in one place`)
  }
  checkCredentials(value, wrong)
  for (const name of ['config', 'userConfig'] as const) {
    const fault = value[name] === undefined ? null : configSchemaFault(value[name])
    if (fault !== null) wrong(`/${name}${fault.path}`, fault.message)
  }
  for (const limited of Object.keys(value.http?.rateLimit ?? {}).filter((host) => !hosts.includes(host)))
    wrong(`/http/rateLimit/${shown(limited)}`, `it is no host of /permissions/network; ${nameOf(limited, hosts, 'host there')}`)
  const members = value.config?.['properties']
  const known = members !== null && typeof members === 'object' ? Object.keys(members) : []
  for (const [index, key] of (permissions.networkFromConfig ?? []).entries()) {
    if (known.includes(key)) continue
    const advice = nameOf(key, known, 'member there, which administrators enter the address as')
    wrong(`/permissions/networkFromConfig/${index}`, `${key} is no member of /config/properties; ${advice}`)
  }
}

/** Where credentials go and come from: nowhere that the administrator is not told of. */
function checkCredentials({ auth, capabilities, permissions = {} }: Manifest, wrong: Report): void {
  if (auth === undefined) return
  const { bind, oauth2, type, scope } = auth
  if (bind !== undefined) {
    const { host, hostFrom, header, query, body, usernameField, format = '{token}' } = bind
    if ((host === undefined) === (hostFrom === undefined))
      wrong('/auth/bind', 'either host or hostFrom must say where the credentials go, and not both')
    const hosts = (permissions.network ?? []).map((one) => one.host)
    if (host !== undefined && !hosts.includes(host))
      wrong('/auth/bind/host', `credentials go only to a host of /permissions/network; ${nameOf(host, hosts, 'host there')}`)
    if (host?.startsWith('*.')) wrong('/auth/bind/host', 'credentials go to one host, which is named in full')
    if (hostFrom !== undefined && !(permissions.networkFromConfig ?? []).includes(hostFrom))
      wrong('/auth/bind/hostFrom', 'credentials go only to the address of a member of /permissions/networkFromConfig')
    // Tokens come from an address that the manifest names: what they are for is named by the manifest too.
    if (hostFrom !== undefined && type === 'oauth2') wrong('/auth/bind/hostFrom', 'tokens of oauth2 go to a host that the manifest names')
    if ([header, query, body].filter((name) => name !== undefined).length !== 1)
      wrong('/auth/bind', 'one of header, query and body must say where in a request the credentials stand')
    // By its standard it is a header; services that take both by themselves take them as two fields.
    if (header === undefined && usernameField === undefined && type === 'basic')
      wrong('/auth/bind', 'credentials of the type basic go into a header, or with usernameField into two fields')
    if (usernameField !== undefined && (type !== 'basic' || header !== undefined))
      wrong('/auth/bind/usernameField', 'it stands beside query or body, and for the type basic alone')
    if (usernameField !== undefined && usernameField === (query ?? body))
      wrong('/auth/bind/usernameField', 'user name and password stand in two fields')
    if (header !== undefined && FORBIDDEN_HEADER.test(header)) wrong('/auth/bind/header', `credentials cannot go into ${header}`)
    if (format.split('{token}').length !== 2)
      wrong('/auth/bind/format', 'it must hold {token} once, in whose place the credentials are put')
  }
  if (type !== 'none' && bind === undefined)
    wrong('/auth', 'bind must say where the credentials go: to a host or hostFrom, as header, query or body')
  if ((type === 'oauth2') !== (oauth2 !== undefined)) wrong('/auth/oauth2', 'it stands there if the type is oauth2, and only then')
  if (scope === 'user' && !Object.hasOwn(capabilities, 'recommendations'))
    wrong('/auth/scope', 'only recommendations run for a reader; metadata is looked up with credentials of the server')
  const given = oauth2 === undefined ? [] : [oauth2.authorizeUrl, oauth2.tokenUrl]
  // Numbers in place of names are for the egress to refuse where the server asks; here a browser would.
  for (const url of given) if (!isHostName(new URL(url).hostname)) wrong('/auth/oauth2', `${shown(url)} has no host by its name`)
}

/** Which of these it must be, or that there are none yet. */
const nameOf = (value: string, names: readonly string[], what: string): string =>
  names.length === 0 ? `name a ${what} first, for there is none` : oneOf(value, names)

/** Where a member of this name stands, as the end of a sentence. */
const elsewhere = (name: string, place: string): string =>
  standsElsewhere(MANIFEST_SHAPE, name, place).replace(/^ T/, '; t').replace(/\.$/, '')

const hostPattern = new RegExp(HOST)
const isHostName = (host: string) => hostPattern.test(host) && !host.startsWith('*.')
