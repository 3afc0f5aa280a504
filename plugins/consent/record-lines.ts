import { briefText, messageLines, quotedText, remarksOnLetters, strangerLines } from '#core/foundation/stranger-text.ts'
import { hostText, isShortened, remarksOnHost } from '#plugins/consent/host-words.ts'
import type { ConsentRecord, UserRecord } from '#plugins/consent/record.ts'
import { budgetOf, burstOf, type CallBudget, LOAD, REFRESH, SETUP } from '#plugins/packages/budgets.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { DEFAULT_LIMITS, type Manifest, methodsOf } from '#plugins/packages/manifest.ts'
import { requestedPermissions } from '#plugins/packages/permissions.ts'

/** The key of a later version says by itself that this is over. */
const UNSIGNED = 'is not signed'

/**
 * A record in words, for the person who consents to it. Lines of the program begin with two spaces and a verb, or with a sign; what the author wrote
 * stands below in lines of its own. Every member of a record has its words: one that is unknown here is shown as JSON.
 */

/** Of an administrator, or the part of it to which a user agrees. */
type AnyRecord = ConsentRecord | UserRecord
type RecordManifest = UserRecord['manifest'] & Partial<ConsentRecord['manifest']>
type ConfiguredHosts = UserRecord['configuredHosts']
/** What a stranger says: by what name, and the words. */
type Said = readonly [label: string, text: string]

/** One thing that a package can cause. */
interface Entry {
  /** Ours; of the author only names without spaces. */
  text: string
  said?: readonly Said[]
  remarks?: readonly string[]
}

const linesOf = ({ text, said = [], remarks = [] }: Entry, sign: string): string[] => [
  ...messageLines(`${sign} ${text}`),
  ...said.flatMap(([label, words]) => strangerLines(label, words)),
  ...remarks.flatMap((remark) => messageLines(`  Note: ${remark}`)),
]

/** Names, hosts and scopes of this length stand in a line of ours; longer ones below it. */
const NAME_LENGTH_MAX = 40
const isLong = (name: string): boolean => name.length > NAME_LENGTH_MAX

const listed = (names: readonly string[]): string => names.join(', ')
const json = (value: unknown): string => JSON.stringify(value)
const hasMembers = (value: object): boolean => Object.values(value).some((member) => member !== undefined)

/** Members of a newer interface, and any that have no words here. */
const rest = (place: string, value: object): Entry[] =>
  hasMembers(value) ? [{ text: `has further ${place}`, said: [['as JSON', json(value)]] }] : []

const hostNotes = (...hosts: string[]): Pick<Entry, 'said' | 'remarks'> => ({
  said: hosts.filter(isShortened).map((host): Said => ['the whole host is', host]),
  remarks: hosts.flatMap(remarksOnHost),
})

/** What is no part of a record and causes nothing, but helps a person to decide. */
interface About {
  /** What lists show of it. It may change without a new consent, so it stands beside what is agreed to, as words of the author. */
  summary?: string
  /** Whether it is the server's own: its stored package had the bytes that came with the server. */
  isBundled?: boolean
}

function identityEntries({ manifest, signedBy, repository }: AnyRecord, { summary, isBundled = false }: About): Entry[] {
  const { id, name, author, description, license, homepage, repository: sources } = manifest
  const said: Said[] = [['the author names it', name]]
  if (author) said.push(['the author is', author.name])
  if (author?.url) said.push(["the author's address is", author.url])
  if (summary) said.push(['in lists, the author says', summary])
  if (description) said.push(['the author says', description])
  if (license) said.push(['its license is', license])
  if (homepage) said.push(['its page is', homepage])
  if (sources) said.push(['its sources are at', sources])
  const remarks = [
    ...remarksOnLetters(name).map((remark) => `the name ${remark}.`),
    ...remarksOnLetters(author?.name ?? '').map((remark) => `the author's name ${remark}.`),
  ]
  const identity = { text: `is ${id}`, said, remarks }
  if (isBundled && signedBy.length === 0 && repository === null) return [identity, { text: 'comes with the server' }]
  return [
    identity,
    ...(signedBy.length === 0 ? [{ text: UNSIGNED }] : signedBy.map((key) => ({ text: `is signed with ${fingerprintOf(key)}` }))),
    repository === null ? { text: 'comes from a file' } : { text: 'comes from a repository', said: [['its address is', repository]] },
  ]
}

const FINDS = { 'metadata.series': 'metadata of series', 'metadata.book': 'metadata of books' } as const
const LINKS = { search: 'to a search for the title of a series', series: 'to records of series', book: 'to records of books' } as const

function capabilityEntries({ id, capabilities }: RecordManifest): Entry[] {
  const { 'metadata.series': series, 'metadata.book': book, recommendations, webLinks = {}, ...more } = capabilities
  const entries: Entry[] = []
  for (const [capability, given] of [
    ['metadata.series', series],
    ['metadata.book', book],
  ] as const) {
    if (!given) continue
    const { methods, idSource = id, languages = [], ...others } = given
    entries.push(
      { text: `finds ${FINDS[capability]} (${listed(methods)})` },
      { text: `gives ${FINDS[capability]} the identifiers of ${idSource}` },
    )
    if (languages.length > 0) entries.push({ text: `says that it knows ${FINDS[capability]} in ${listed(languages)}` })
    entries.push(...rest(capability, others))
  }
  if (recommendations) {
    const { methods, idSource = id, scope, ...others } = recommendations
    const runs = scope === undefined ? '' : ` for each ${scope} who enables it`
    entries.push(
      { text: `recommends series${runs} (${listed(methods)}), with the identifiers of ${idSource}` },
      ...rest('recommendations', others),
    )
  }
  const { search, series: ofSeries, book: ofBook, hosts = [], ...others } = webLinks
  for (const [kind, address] of Object.entries({ search, series: ofSeries, book: ofBook })) {
    if (address === undefined) continue
    const host = new URL(address.replaceAll(/[{}]/g, '')).host
    const { said = [], remarks } = hostNotes(host)
    const to = `${hostText(host)}, ${LINKS[kind as keyof typeof LINKS]}`
    entries.push({ text: `offers links to ${to}`, said: [...said, ['the address is', address]], remarks })
  }
  for (const host of hosts) entries.push({ text: `may give links to ${hostText(host)} in its answers`, ...hostNotes(host) })
  return [...entries, ...rest('links', others), ...rest('capabilities', more)]
}

type Rates = NonNullable<NonNullable<Manifest['http']>['rateLimit']>

function describeRate(rate: Rates[string] | undefined): string {
  if (rate === undefined) return ''
  const { perMinute, maxParallel } = rate
  return `, at most ${perMinute} a minute after ${burstOf(rate)} at once${maxParallel === undefined ? '' : `, ${maxParallel} in parallel`}`
}

/** An origin in words: whole when its host is short, and otherwise below. */
function originEntry(origin: string): Entry {
  const { hostname } = new URL(origin)
  const isCut = isShortened(hostname)
  const said: Said[] = isCut ? [['the whole address is', origin]] : []
  return { text: isCut ? hostText(hostname) : origin, said, remarks: remarksOnHost(hostname) }
}

/** The host that a member of the configuration names. Users read the one that is entered, without the author's default. */
function enteredEntry(key: string, { permissions, config }: RecordManifest): Entry {
  const entered = `the host that an administrator enters as ${key}`
  const proposed = requestedPermissions({ permissions, config } as Manifest).hostDefaults?.[key]
  if (proposed === undefined) return { text: entered }
  const origin = originEntry(proposed)
  return { ...origin, text: `${origin.text} (the author's default), or ${entered}` }
}

/** A host that an administrator enters. For users: the one that is entered now. */
function configuredEntry(key: string, manifest: RecordManifest, hosts: ConfiguredHosts | undefined): Entry {
  const entered = enteredEntry(key, manifest)
  const now = hosts?.[key]
  if (now === undefined) return { ...entered, text: `connects to ${entered.text} (GET, POST)` }
  if (now === null) return { ...entered, text: `connects to ${entered.text} (GET, POST), who has entered none yet` }
  const origin = originEntry(now)
  return { ...origin, text: `connects to ${origin.text} (GET, POST), ${entered.text}` }
}

function networkEntries(manifest: RecordManifest, configuredHosts: ConfiguredHosts | undefined): Entry[] {
  const { permissions = {}, http = {} } = manifest
  const { network = [], networkFromConfig = [], storage, library = [], ...others } = permissions
  const { rateLimit = {}, cacheTtl = {}, ...moreHttp } = http
  return [
    ...network.map(({ host, methods = ['GET'], reason, ...more }): Entry => {
      const { said = [], remarks } = hostNotes(host)
      const extra: Said[] = hasMembers(more) ? [['further members', json(more)]] : []
      const text = `connects to ${hostText(host)} (${listed(methods)})${describeRate(rateLimit[host])}`
      return { text, said: [...said, ['the author says', reason], ...extra], remarks }
    }),
    ...Object.entries(rateLimit)
      .filter(([host]) => !network.some((one) => one.host === host))
      .map(([host, rate]): Entry => ({ text: `limits its requests to ${hostText(host)}${describeRate(rate)}`, ...hostNotes(host) })),
    ...networkFromConfig.map((key) => configuredEntry(key, manifest, configuredHosts)),
    ...Object.entries(cacheTtl).map(
      ([method, seconds]): Entry => ({ text: `uses answers of services to ${method} again for up to ${seconds} s` }),
    ),
    ...rest('http', moreHttp),
    ...library.map((scope): Entry => ({ text: `reads of the library of each user: ${LIBRARY[scope] ?? scope}` })),
    ...(storage ? [{ text: `stores up to ${storage.quotaKB} KB for the server, and as much for each user` }] : []),
    ...rest('permissions', others),
  ]
}

const LIBRARY: Readonly<Record<string, string>> = {
  'series.titles': 'titles of series',
  'series.metadata': 'metadata of series',
  'series.externalIds': 'identifiers of series at services',
  'reading.progress': 'what was read, and how far',
  ratings: 'ratings of that user',
}
const CREDENTIALS = { apiKey: 'the key', basic: 'the user name and password', oauth2: 'tokens (OAuth 2)' } as const

function authEntries({ auth, ...manifest }: RecordManifest): Entry[] {
  if (auth === undefined) return []
  const { type, scope, bind = {}, oauth2, ...others } = auth
  if (type === 'none')
    return [
      { text: `uses no credentials of the ${scope}` },
      ...rest('auth', { bind: hasMembers(bind) ? bind : undefined, oauth2, ...others }),
    ]
  const { host, hostFrom, header, query, body, usernameField, format, ...more } = bind
  const place = Object.entries({ header, query, body, usernameField }).flatMap(([kind, member]) =>
    member === undefined ? [] : [`${kind === 'usernameField' ? 'the user name as' : `the ${kind}`} ${member}`],
  )
  const to: Entry = host === undefined ? enteredEntry(hostFrom ?? '', manifest) : { text: hostText(host), ...hostNotes(host) }
  const { said = [], remarks } = to
  const whose = scope === 'user' ? 'of each user' : 'of the server'
  return [
    {
      text: `sends ${CREDENTIALS[type]} ${whose} to ${to.text}, in ${listed(place)}`,
      said: format === undefined ? said : [...said, ['it is written as', format]],
      remarks,
    },
    ...(oauth2 ? signInEntries(oauth2) : []),
    ...rest('bind', more),
    ...rest('auth', others),
  ]
}

function signInEntries(oauth2: NonNullable<NonNullable<Manifest['auth']>['oauth2']>): Entry[] {
  const { authorizeUrl, tokenUrl, scopes = [], pkce = true, ...others } = oauth2
  const [login, token] = [new URL(authorizeUrl).host, new URL(tokenUrl).host]
  const asks =
    scopes.length === 0 ? 'asks for no scopes' : `asks there for ${scopes.length === 1 ? 'the scope' : `${scopes.length} scopes`}`
  const [ofLogin, ofToken] = [hostNotes(login), hostNotes(token)]
  return [
    {
      text: `lets people sign in at ${hostText(login)}`,
      said: [...(ofLogin.said ?? []), ['the address is', authorizeUrl]],
      remarks: ofLogin.remarks,
    },
    {
      text: `gets tokens from ${hostText(token)}`,
      said: [...(ofToken.said ?? []), ['the address is', tokenUrl]],
      remarks: ofToken.remarks,
    },
    { text: asks, said: scopes.map((scope): Said => ['scope', scope]) },
    { text: pkce ? 'protects the code of the sign-in by PKCE' : 'does not protect the code of the sign-in by PKCE' },
    ...rest('oauth2', others),
  ]
}

function settingEntries(who: string, schema: Readonly<Record<string, unknown>> | undefined): Entry[] {
  if (schema === undefined || !hasMembers(schema)) return []
  const { properties = {}, type: _type, additionalProperties: _none, ...others } = schema
  return [
    ...Object.entries(properties as Record<string, Record<string, unknown>>).flatMap(([key, member]): Entry[] => {
      const { title, description, default: value, type, ...form } = member
      const said: Said[] = []
      if (title !== undefined) said.push(['it is called', String(title)])
      if (description !== undefined) said.push(['the author says', String(description)])
      if (value !== undefined) said.push(['it is at first', typeof value === 'string' ? value : json(value)])
      if (hasMembers(form)) said.push(['further rules', json(form)])
      const secret =
        form['format'] !== 'password'
          ? ''
          : form['x-receives-password'] === true
            ? ', and receives the password'
            : ', which the server keeps without giving it to the plugin'
      return [
        {
          text: `asks ${who} for ${isLong(key) ? 'a setting' : key} (${String(type)})${secret}`,
          said: isLong(key) ? [['its name is', key], ...said] : said,
        },
      ]
    }),
    ...rest(`rules for settings of ${who}`, others),
  ]
}

const budget = ({ cpuMs, wallMs }: CallBudget): string => `${cpuMs} ms of CPU time and ${wallMs / 1000} s`

function limitEntries(manifest: RecordManifest, limits: NonNullable<Manifest['limits']>): Entry[] {
  const { heapMB, cpuMs, wallMs, ...others } = { ...DEFAULT_LIMITS, ...limits }
  const methods = methodsOf(manifest as Manifest)
  const calls = methods.filter((method) => budgetOf({ cpuMs, wallMs }, method) !== REFRESH)
  return [
    // Data of different users is never in the same isolate.
    {
      text: `uses up to ${heapMB} MB of memory${manifest.capabilities.recommendations ? ' for the server, and as much for each user' : ''}`,
    },
    { text: `uses up to ${budget({ cpuMs, wallMs })} for each call` },
    ...(calls.length < methods.length ? [{ text: `uses up to ${budget(REFRESH)} for each refresh of the recommendations of a user` }] : []),
    {
      text: `uses up to ${budget(LOAD)} to start, ${budget(SETUP)} to prepare, and ${budget(REFRESH)} to change stored data after an update`,
    },
    ...rest('limits', others),
  ]
}

/** The members of a manifest that have words above; the first two have only one value. */
const KNOWN: readonly string[] = [
  'manifestVersion',
  'main',
  'id',
  'name',
  'author',
  'description',
  'license',
  'homepage',
  'repository',
  'capabilities',
  'permissions',
  'http',
  'auth',
  'limits',
  'config',
  'userConfig',
  'dataVersion',
  'engine',
]

function entriesOf(record: AnyRecord, about: About = {}): Entry[] {
  const { manifest: given, signedBy: _signedBy, repository: _repository, format: _format, ...others } = record
  const manifest: RecordManifest = given
  const { configuredHosts, ...outside } = others as { configuredHosts?: ConfiguredHosts }
  const { config, userConfig, dataVersion, engine } = manifest
  return [
    ...identityEntries(record, about),
    ...capabilityEntries(manifest),
    ...networkEntries(manifest, configuredHosts),
    ...authEntries(manifest),
    ...settingEntries('administrators', config),
    ...settingEntries('each user', userConfig),
    ...(manifest.limits === undefined ? [] : limitEntries(manifest, manifest.limits)),
    ...(dataVersion === undefined ? [] : [{ text: `has version ${dataVersion} of its stored data` }]),
    ...(engine === undefined ? [] : [{ text: `needs version ${engine.pluginApi} of the plugin interface` }]),
    ...rest('members', Object.fromEntries(Object.entries(manifest).filter(([name]) => !KNOWN.includes(name)))),
    ...rest('members of the record', outside),
  ]
}

/** Everything that a package can cause, or what of it concerns a user, as lines. */
export const describeRecord = (record: AnyRecord, about?: About): string[] =>
  entriesOf(record, about).flatMap((entry) => linesOf(entry, ' '))

/** Entries of the first record that the second has not, and the other way round. */
function differing(before: AnyRecord, after: AnyRecord): { gone: Entry[]; come: Entry[] } {
  const keyed = (record: AnyRecord) => new Map(entriesOf(record).map((entry) => [linesOf(entry, ' ').join('\n'), entry]))
  const [had, has] = [keyed(before), keyed(after)]
  const without = (all: typeof had, others: typeof had) => [...all].filter(([key]) => !others.has(key)).map(([, entry]) => entry)
  return { gone: without(had, has), come: without(has, had) }
}

/** What the second record has and the first has not, after `+`, and the other way round, after `-`; none exactly when no words differ. */
export function describeDifference(before: AnyRecord, after: AnyRecord): string[] {
  const { gone, come } = differing(before, after)
  return [...gone.flatMap((entry) => linesOf(entry, '-')), ...come.flatMap((entry) => linesOf(entry, '+'))]
}

/** Phrases of one answer; whoever wants all differences reads them as data, or as lines. */
const PHRASES_MAX = 20
/** The longest text of ours has about half of it. */
const PHRASE_LENGTH_MAX = 300

/** A phrase is a verb with what follows it. */
const goneWords = (text: string): string => (text.startsWith('is ') ? `is no longer ${text.slice(3)}` : `no longer ${text}`)

/** The same in short, as phrases that follow "waits for consent, because it". */
export function phrasesOf(before: ConsentRecord, after: ConsentRecord): string[] {
  const { gone, come } = differing(before, after)
  const phrases = [
    ...come.map((entry) => {
      const earlier = gone.find(({ text }) => text === entry.text)
      return earlier === undefined ? entry.text : `${entry.text} (${saidAnew(earlier, entry)})`
    }),
    ...gone.flatMap(({ text }) => (text === UNSIGNED || come.some((entry) => entry.text === text) ? [] : [goneWords(text)])),
  ].map((phrase) => briefText(phrase, PHRASE_LENGTH_MAX))
  const more = phrases.length - PHRASES_MAX
  return [...phrases.slice(0, PHRASES_MAX), ...(more > 0 ? [`has ${more} more differences`] : [])]
}

/** What the author says of the same thing, where it differs: now, and before. */
function saidAnew({ said: before = [] }: Entry, { said: after = [] }: Entry): string {
  const without = (all: readonly Said[], others: readonly Said[]) =>
    all.filter(([label, words]) => !others.some((other) => other[0] === label && other[1] === words))
  const quoted = (words: string) => quotedText(briefText(words))
  const [had, has] = [without(before, after), without(after, before)]
  return [
    ...has.map(([label, words]) => {
      const earlier = had.find((one) => one[0] === label)
      return `${label}: ${quoted(words)}${earlier ? `, before: ${quoted(earlier[1])}` : ''}`
    }),
    ...had.filter(([label]) => !has.some((one) => one[0] === label)).map(([label, words]) => `no longer ${label}: ${quoted(words)}`),
  ].join('; ')
}
