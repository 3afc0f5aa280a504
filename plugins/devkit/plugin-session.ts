import { randomUUID } from 'node:crypto'
import { parseJson } from '#core/foundation/plain-object.ts'
import { authOf, describeMissing, type PluginAuth } from '#plugins/credentials/plugin-auth.ts'
import { withinGrants } from '#plugins/host/answer-addresses.ts'
import type { HostCaller } from '#plugins/host/host-calls.ts'
import { LIFECYCLE, pluginProgram } from '#plugins/host/plugin-program.ts'
import { readResult } from '#plugins/host/results.ts'
import type { EgressResponse } from '#plugins/network/answer.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { readRequest } from '#plugins/network/request.ts'
import { budgetOf, SETUP } from '#plugins/packages/budgets.ts'
import { CAPABILITY_METHODS, type Manifest, methodsOf } from '#plugins/packages/manifest.ts'
import { requestedPermissions } from '#plugins/packages/permissions.ts'
import { receivedSettings, withoutSecrets } from '#plugins/packages/plugin-config.ts'
import { type CodePlaces, findSource, readSourceMap, type SourcePlaces } from '#plugins/packages/source-map.ts'
import type { Guest } from '#plugins/runtime/guest.ts'
import { GuestError, refuseGuest, uncaughtMessage, withLines } from '#plugins/runtime/guest-error.ts'
import { readRecord } from '#plugins/runtime/guest-text.ts'
import type { Budget, Program } from '#plugins/runtime/program.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import type { ErrorCode, Json, LibraryEntry } from '../../plugin-sdk/index.ts'
import type { CallFailure, CallTrace } from '../../plugin-sdk/testing.ts'
import { allowLocalHint } from './allow-local.ts'
import { hostAnswers } from './host-answers.ts'
import { withInstead } from './instead.ts'
import { MemoryStorage } from './memory-storage.ts'
import { lossOf, repairsOf } from './repairs.ts'
import { type GivenSignIn, howToSignIn, signInFor } from './sign-in-state.ts'

/** The bundle to run. */
export interface Built {
  manifest: Manifest
  code: string
  /** Source map of the code, if there is one. */
  map?: string | null
}

export interface SessionOptions extends GivenSignIn {
  egress: Egress
  config?: Record<string, unknown>
  userConfig?: Record<string, unknown>
  /** Initial content, of the storage of the plugin and of that of the user. */
  storage?: Record<string, Json>
  library?: readonly LibraryEntry[]
  /** Runs instead of the server's program for this plugin: the same with a debugger. */
  program?: Program
  /** Called for every log line, besides the trace of its call. */
  onLog?: (line: CallTrace['log'][number]) => void
}

/** A failed call, with its trace until then. */
export class CallProblem extends Error implements CallFailure {
  readonly code: string
  readonly trace: CallTrace
  readonly source: string | null

  constructor(code: string, message: string, trace: CallTrace, source: string | null = null) {
    super(message)
    this.name = 'CallProblem'
    this.code = code
    this.trace = trace
    this.source = source
  }
}

/** For `catch`: a failed call as a value. */
export function asCallProblem(error: unknown): CallProblem {
  if (error instanceof CallProblem) return error
  throw error
}

/** Two lines when the place in the source is known. */
export const describeProblem = ({ code, message, source }: Pick<CallProblem, 'code' | 'message' | 'source'>): string =>
  `${code}: ${message}${source === null ? '' : `\n    at ${source}`}`

/** Every method that a manifest can name. */
export const ALL_METHODS = Object.entries(CAPABILITY_METHODS).flatMap(([capability, methods]) =>
  methods.map((method) => `${capability}.${method}`),
)

/** Whether a server runs a function for one user. It runs the others for nobody: without a library, settings and accounts of users. */
export const runsForUser = (method: string): boolean => method.startsWith('recommendations.')

/** One process for all sandboxes of the tool: each test ends its own, and a new isolate takes 2 ms while a process takes 200. */
export const PLACE = 'the tool'

/** Includes all methods, not only those of the manifest: the tool checks whether they are the same. */
export const programOf = ({ manifest, code }: Built): Program => ({
  ...pluginProgram({ manifest, code, place: PLACE, methods: ALL_METHODS }),
  isTraced: true,
})

/** A sandbox with its storage. A server has one for its own calls, and one for each user: nothing that one of them has is in another. */
interface Sandbox {
  /** Null when its calls are for nobody. */
  readonly userId: string | null
  readonly storage: MemoryStorage
  guest: Guest | null
  ready: Promise<void> | null
}

/** A plugin in its sandboxes, run as a server would: for a user, or for nobody. */
export class PluginSession {
  readonly #supervisor: Supervisor
  readonly #built: Built
  readonly #options: SessionOptions
  readonly #granted: ReturnType<typeof requestedPermissions>
  readonly #ofServer: Sandbox
  readonly #ofUser: Sandbox
  /** That of the last call. */
  #last: Sandbox
  /** Paths of the functions that the code has. */
  #defined: readonly string[] = []
  /** The first uncaught rejection of each call. */
  readonly #uncaught: GuestError[] = []

  constructor(supervisor: Supervisor, built: Built, options: SessionOptions) {
    this.#supervisor = supervisor
    this.#built = built
    this.#options = options
    this.#granted = requestedPermissions(built.manifest)
    const newStorage = () => new MemoryStorage(this.#granted.storageKB, options.storage)
    const newSandbox = (userId: string | null): Sandbox => ({ userId, storage: newStorage(), guest: null, ready: null })
    this.#ofServer = newSandbox(null)
    this.#ofUser = newSandbox('reader')
    this.#last = this.#sandboxFor('setup')
  }

  /** Opens a sandbox before the first call, or again that of the last one. @throws GuestError */
  async load(): Promise<void> {
    await this.#open(this.#last).load()
  }

  /** @throws CallProblem */
  async call(method: string, input: unknown): Promise<{ answer: unknown; trace: CallTrace }> {
    const trace: CallTrace = { cpuMs: 0, wallMs: 0, requests: [], log: [], progress: [], warnings: [] }
    const sandbox = this.#sandboxFor(method)
    this.#last = sandbox
    const guest = this.#open(sandbox)
    this.#uncaught.length = 0
    let at = performance.now()
    try {
      sandbox.ready ??= this.#start(sandbox, guest, trace)
      await sandbox.ready
      // Starting the sandbox does not count as part of the call.
      Object.assign(trace, { cpuMs: 0, wallMs: 0 })
      at = performance.now()
      const text = await this.#run(sandbox, guest, { method, input, budget: budgetOf(this.#granted, method) }, trace)
      const read = readResult(method, text)
      if (read !== null) trace.warnings.push(...repairsOf(JSON.parse(text), read))
      const answer = this.#withinGrants(method, read, trace)
      // A server would still return the answer, but here the author can fix it.
      const [rejection] = this.#uncaught
      if (rejection) throw new CallProblem('unhandled', uncaughtMessage(rejection.message), trace, sourceIn(this.#built, rejection).source)
      return { answer, trace }
    } catch (error) {
      if (!(error instanceof GuestError)) throw error
      if (trace.wallMs === 0) trace.wallMs = performance.now() - at
      // After other errors the sandbox is replaced, so the next call must set it up again.
      if (error.code !== 'thrown' && error.code !== 'invalid_result') end(sandbox)
      else if (trace.cpuMs === 0 && sandbox.ready !== null) await sandbox.ready.catch(() => end(sandbox))
      throw this.#problemOf(error, trace, sandbox)
    }
  }

  /** The content of the storage that the last call used. */
  storage(): Record<string, Json> {
    return this.#last.storage.content() as Record<string, Json>
  }

  /** The next calls start new sandboxes, on the same storages. */
  close(): void {
    end(this.#ofServer)
    end(this.#ofUser)
  }

  /** A server runs `setup` and `migrate` in every sandbox; here they run where the functions of the manifest do. */
  #sandboxFor(method: string): Sandbox {
    const isForUser = LIFECYCLE.includes(method) ? methodsOf(this.#built.manifest).every(runsForUser) : runsForUser(method)
    return isForUser ? this.#ofUser : this.#ofServer
  }

  #open(sandbox: Sandbox): Guest {
    sandbox.guest ??= this.#supervisor.open(this.#options.program ?? programOf(this.#built))
    return sandbox.guest
  }

  async #start(sandbox: Sandbox, guest: Guest, trace: CallTrace): Promise<void> {
    const defined = await guest.load()
    this.#defined = defined
    if (defined.includes('setup')) await this.#run(sandbox, guest, { method: 'setup', input: null, budget: SETUP }, trace)
  }

  async #run(
    sandbox: Sandbox,
    guest: Guest,
    { method, input, budget }: { method: string; input: unknown; budget: Budget },
    trace: CallTrace,
  ): Promise<string> {
    const { manifest } = this.#built
    const { userId, storage } = sandbox
    const { library = [], onLog } = this.#options
    const config = settingsOf(manifest.config, this.#options.config)
    const userConfig = userId === null ? {} : settingsOf(manifest.userConfig, this.#options.userConfig)
    const egress = tracing(this.#options.egress, trace)
    const caller = callerOf({ ...this.#installed(), auth: this.#auth(), userId, method })
    const answer = await guest.call(method, JSON.stringify(input ?? null), budget, {
      more: JSON.stringify({ callId: randomUUID(), plugin: { id: manifest.id, version: manifest.version }, config, userConfig }),
      onRequest: hostAnswers({ egress, storage, library, ...signInFor(manifest, this.#options, userId) })(caller),
      // Only the author waits here, so a large answer need not be parsed elsewhere.
      readLarge: async (_kind, body) => readRecord(body)['payload'],
      onOutput: (kind, said) => noteLine(kind, said, trace, onLog),
      onUncaught: (error) => void this.#uncaught.push(error),
    })
    trace.cpuMs += answer.cpuMs
    trace.wallMs += answer.wallMs
    const timers = new Set(answer.pendingTimers.map((places) => sourceIn(this.#built, { places, shares: [] }).source ?? 'the code'))
    for (const place of timers)
      trace.warnings.push(`${place}: a timer that it set was still pending at the answer, and never runs. Await it, or clear it.`)
    return answer.text
  }

  /** The answer as a server gives it to readers. What it leaves out is in the log of the call, as there. */
  #withinGrants(method: string, answer: unknown, trace: CallTrace): unknown {
    const { egress, onLog } = this.#options
    return withinGrants(this.#installed(), egress.local, {
      method,
      answer,
      onLeftOut: (_host, message) => noteLine('log', { level: 'warn', message, data: null }, trace, onLog),
    })
  }

  /** The plugin as a server has it, with its configuration as stored. */
  #installed() {
    const { manifest } = this.#built
    const config = withoutSecrets(manifest.config, this.#options.config ?? {})
    return { manifest, granted: this.#granted, config, privateOrigins: [] }
  }

  #auth(): PluginAuth {
    return authOf(this.#installed(), this.#options.egress.local)
  }

  #problemOf(error: GuestError, trace: CallTrace, { userId }: Sandbox): CallProblem {
    const rejection = error.places.length === 0 ? this.#uncaught[0] : undefined
    const { source, lines } = sourceIn(this.#built, rejection ?? error)
    const own = error.code === 'not_implemented' ? `${error.message} ${describeDefined(this.#defined)}` : withLines(error, lines)
    // Only an Error has a stack.
    const isBare = codeOf(error) === 'thrown' && error.places.length === 0 && rejection === undefined
    const message = rejection ? `${error.message} Before that: ${uncaughtMessage(rejection.message)}` : own
    const how = codeOf(error) === 'auth' ? howToSignIn(this.#built.manifest, this.#options, userId) : null
    const said = how === null ? message : describeMissing(this.#auth(), how, message)
    return new CallProblem(codeOf(error), isBare ? `${ended(said)} ${NO_LINE}` : withInstead(said), trace, source)
  }
}

/** The next call starts it again, on the same storage. */
function end(sandbox: Sandbox): void {
  sandbox.guest?.close()
  Object.assign(sandbox, { guest: null, ready: null })
}

const NO_LINE = "Its line is not known: throw an Error, as in throw new Error('…')."
const ended = (message: string): string => (/[.!?]$/.test(message) ? message : `${message}.`)

/** The functions of a plugin, for a call of one that it does not have. */
const describeDefined = (defined: readonly string[]): string =>
  defined.length === 0
    ? 'Its default export has none of the functions of plugins, which are members such as { metadata: { series: { search, get } } }.'
    : `It has ${defined.join(', ')}.`

/** The caller of host functions. */
function callerOf(given: {
  manifest: Manifest
  granted: ReturnType<typeof requestedPermissions>
  config: Record<string, unknown>
  privateOrigins: string[]
  auth: PluginAuth
  userId: string | null
  method: string
}): HostCaller {
  const { manifest, granted, config, privateOrigins, auth, userId, method } = given
  return {
    pluginId: manifest.id,
    key: manifest.id,
    version: manifest.version,
    granted,
    userId,
    cacheScope: `${manifest.id}/${userId ?? ''}`,
    auth,
    http: manifest.http,
    config,
    privateOrigins,
    dataVersion: 1,
    method: method.split('.').at(-1) ?? method,
    record: undefined,
  }
}

/** The given settings, secrets among them, as the code receives them from a server. @throws GuestError config */
function settingsOf(schema: Manifest['config'], given: Record<string, unknown> = {}): Record<string, unknown> {
  try {
    return receivedSettings(schema, given, given)
  } catch (error) {
    throw new GuestError('thrown', error instanceof Error ? error.message : 'The configuration is invalid.', 'config')
  }
}

/** Places in the sources, using as much of the map as a server would keep. */
export function sourceIn({ map = null }: Pick<Built, 'map'>, places: CodePlaces): SourcePlaces {
  const read = map === null ? null : readSourceMap(map)
  return findSource(read !== null && 'map' in read ? read.map : null, places)
}

const OWN_CODES: Readonly<Record<ErrorCode, true>> = {
  rate_limited: true,
  not_found: true,
  auth: true,
  upstream: true,
  config: true,
  permission: true,
  limit: true,
  invalid_argument: true,
  timeout: true,
  too_large: true,
  closed: true,
  server: true,
}

const codeOf = ({ code, own }: GuestError): string => (code === 'thrown' && own !== null && Object.hasOwn(OWN_CODES, own) ? own : code)

/** Records every request with its result, and says how a local service can be allowed. */
const tracing = (egress: Egress, trace: CallTrace): Egress => ({
  ...(egress.local && { local: egress.local }),
  async fetch(given, policy, signal) {
    let answer: EgressResponse | null = null
    try {
      answer = await egress.fetch(given, policy, signal)
      return answer
    } catch (error) {
      if (!(error instanceof GuestError) || error.own !== 'permission') throw error
      const url = URL.parse(requestOf(given).url)
      const isRuled = url === null || policy.rules.some(({ origin }) => origin === url.origin)
      return refuseGuest('permission', `${error.message}${isRuled ? '' : allowLocalHint(url, egress.local)}`)
    } finally {
      const { method, url } = requestOf(given)
      trace.requests.push({ method, url, status: answer?.status ?? null })
    }
  },
})

function requestOf(given: unknown): { method: string; url: string } {
  try {
    const { hop } = readRequest(given)
    return { method: hop.method, url: hop.url.href }
  } catch {
    const { method = 'GET', url = '' } = (given ?? {}) as Record<string, unknown>
    return { method: String(method).slice(0, 20), url: String(url).slice(0, 300) }
  }
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

function noteLine(kind: 'log' | 'progress', said: Record<string, unknown>, trace: CallTrace, onLog: SessionOptions['onLog']): void {
  const { level, message, data, fraction, text } = said
  const lost = lossOf(said)
  if (lost !== null) trace.warnings.push(lost)
  // It was said without a line.
  if (lost !== null && level === undefined) return
  if (kind === 'progress') {
    if (typeof fraction === 'number') {
      if (fraction < 0 || fraction > 1) trace.warnings.push(`ctx.progress takes a fraction from 0 to 1; it is ${fraction}.`)
      trace.progress.push({ fraction: Math.min(Math.max(fraction, 0), 1), text: typeof text === 'string' ? text : null })
    }
    return
  }
  const line = { level: LEVELS.find((one) => one === level) ?? 'debug', message: String(message), data: readData(data) }
  trace.log.push(line)
  onLog?.(line)
}

/** Log data arrives as JSON, which is cut when it is long. */
function readData(data: unknown): Json {
  if (typeof data !== 'string') return null
  const value = parseJson(data)
  return value === undefined ? data : (value as Json)
}
