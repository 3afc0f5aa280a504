import { randomUUID } from 'node:crypto'
import { authOf } from '#plugins/credentials/plugin-auth.ts'
import type { HostCaller } from '#plugins/host/host-calls.ts'
import { budgetOf, pluginProgram, SETUP } from '#plugins/host/plugin-program.ts'
import { readResult } from '#plugins/host/results.ts'
import type { EgressResponse } from '#plugins/network/answer.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { readRequest } from '#plugins/network/request.ts'
import { CAPABILITY_METHODS, type Manifest } from '#plugins/packages/manifest.ts'
import { permissionsOf } from '#plugins/packages/permissions.ts'
import { type CodePlace, findSource, readSourceMap } from '#plugins/packages/source-map.ts'
import type { Guest } from '#plugins/runtime/guest.ts'
import { GuestError, uncaughtMessage } from '#plugins/runtime/guest-error.ts'
import { readRecord } from '#plugins/runtime/guest-text.ts'
import type { Budget, Program } from '#plugins/runtime/program.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import type { ErrorCode, Json, LibraryEntry } from '../../plugin-sdk/index.ts'
import type { CallFailure, CallTrace, OpenOptions } from '../../plugin-sdk/testing.ts'
import type { GivenCredentials } from './credentials-file.ts'
import { openHostAnswers } from './host-answers.ts'
import { openMemoryStorage } from './memory-storage.ts'

/** What is to be run. */
export interface Built {
  manifest: Manifest
  code: string
  /** Source map of the code, where there is one. */
  map?: string | null
}

export interface SessionOptions {
  egress: Egress
  config?: Record<string, unknown>
  userConfig?: Record<string, unknown>
  storage?: Record<string, Json>
  library?: readonly LibraryEntry[]
  /** `connected` unless said where there are credentials, else `none`. */
  auth?: NonNullable<OpenOptions['auth']> | undefined
  credentials?: GivenCredentials | undefined
  /** What runs in place of the program that a server would make of it: the same with a debugger. */
  program?: Program
  /** Every line as it is said, beside what the trace of its call holds. */
  onLog?: (line: CallTrace['log'][number]) => void
}

/** Why a call has failed, and what it had done until then. */
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

/** Over two lines where it is known where it arose. */
export const describeProblem = ({ code, message, source }: Pick<CallProblem, 'code' | 'message' | 'source'>): string =>
  `${code}: ${message}${source === null ? '' : `\n    at ${source}`}`

/** Everything that any manifest can name. */
export const ALL_METHODS = Object.entries(CAPABILITY_METHODS).flatMap(([capability, methods]) =>
  methods.map((method) => `${capability}.${method}`),
)

/** One process for all that the tool runs: what one test does to it ends with that test, and a new isolate takes 2 ms where a process takes 200. */
export const PLACE = 'the tool'

/** All methods, and not only those of the manifest: that they are the same is for the tool to find out. */
export const programOf = ({ manifest, code }: Built): Program => pluginProgram({ manifest, code, place: PLACE, methods: ALL_METHODS })

/** A plugin in its sandbox, as a server would run it. */
export class PluginSession {
  readonly #supervisor: Supervisor
  readonly #built: Built
  readonly #options: SessionOptions
  readonly #granted: ReturnType<typeof permissionsOf>
  readonly #storage: ReturnType<typeof openMemoryStorage>
  #guest: Guest | null = null
  #ready: Promise<void> | null = null
  /** The first of each call. */
  readonly #uncaught: GuestError[] = []

  constructor(supervisor: Supervisor, built: Built, options: SessionOptions) {
    this.#supervisor = supervisor
    this.#built = built
    this.#options = options
    this.#granted = permissionsOf(built.manifest)
    this.#storage = openMemoryStorage(this.#granted.storageKB, options.storage)
  }

  /** Opens the sandbox before the first call does. @throws GuestError */
  async load(): Promise<void> {
    await this.#open().load()
  }

  /** @throws CallProblem */
  async call(method: string, input: unknown): Promise<{ answer: unknown; trace: CallTrace }> {
    const trace: CallTrace = { cpuMs: 0, wallMs: 0, requests: [], log: [], progress: [] }
    const opened = this.#open()
    this.#uncaught.length = 0
    let at = performance.now()
    try {
      this.#ready ??= this.#start(opened, trace)
      await this.#ready
      // What was needed to get ready is no part of the call.
      Object.assign(trace, { cpuMs: 0, wallMs: 0 })
      at = performance.now()
      const text = await this.#run(opened, method, input, trace, budgetOf(this.#granted, method))
      const answer = readResult(method, text)
      // No server would keep the answer back for that, but its author is here to mend it.
      const [stray] = this.#uncaught
      if (stray) throw new CallProblem('unhandled', uncaughtMessage(stray.message), trace, sourceIn(this.#built, stray.places))
      return { answer, trace }
    } catch (error) {
      if (!(error instanceof GuestError)) throw error
      if (trace.wallMs === 0) trace.wallMs = performance.now() - at
      // After these the sandbox is another one, which has to get ready again.
      if (error.code !== 'thrown' && error.code !== 'invalid_result') this.close()
      else if (trace.cpuMs === 0 && this.#ready !== null) await this.#ready.catch(() => this.close())
      throw this.#problemOf(error, trace)
    }
  }

  storage(): Record<string, Json> {
    return this.#storage.content() as Record<string, Json>
  }

  /** The next call starts it anew, on the same storage. */
  restart(): void {
    this.close()
  }

  close(): void {
    this.#guest?.close()
    this.#guest = null
    this.#ready = null
  }

  #open(): Guest {
    this.#guest ??= this.#supervisor.open(this.#options.program ?? programOf(this.#built))
    return this.#guest
  }

  async #start(opened: Guest, trace: CallTrace): Promise<void> {
    const defined = await opened.load()
    if (defined.includes('setup')) await this.#run(opened, 'setup', null, trace, SETUP)
  }

  async #run(opened: Guest, method: string, input: unknown, trace: CallTrace, budget: Budget): Promise<string> {
    const { manifest } = this.#built
    const { library = [], credentials, auth = credentials ? 'connected' : 'none', onLog } = this.#options
    const config = settle(manifest.config, this.#options.config)
    const userConfig = settle(manifest.userConfig, this.#options.userConfig)
    const egress = tracing(this.#options.egress, trace)
    const caller = callerOf({ manifest, granted: this.#granted, config, egress, method })
    const answer = await opened.call(method, JSON.stringify(input ?? null), budget, {
      more: JSON.stringify({ callId: randomUUID(), plugin: { id: manifest.id, version: manifest.version }, config, userConfig }),
      onRequest: openHostAnswers({ egress, storage: this.#storage, library, auth, credentials })(caller),
      // Nobody but its author waits here.
      readLarge: async (_kind, body) => readRecord(body)['payload'],
      onSay: (kind, said) => noteLine(kind, said, trace, onLog),
      onUncaught: (error) => void this.#uncaught.push(error),
    })
    trace.cpuMs += answer.cpuMs
    trace.wallMs += answer.wallMs
    return answer.text
  }

  #problemOf(error: GuestError, trace: CallTrace): CallProblem {
    const stray = error.places.length === 0 ? this.#uncaught[0] : undefined
    const message = stray ? `${error.message} Before that: ${uncaughtMessage(stray.message)}` : error.message
    return new CallProblem(codeOf(error), message, trace, sourceIn(this.#built, (stray ?? error).places))
  }
}

export const openSession = (supervisor: Supervisor, built: Built, options: SessionOptions): PluginSession =>
  new PluginSession(supervisor, built, options)

/** The caller whose requests the host answers: a user, so that there is a library. */
function callerOf(given: {
  manifest: Manifest
  granted: ReturnType<typeof permissionsOf>
  config: Record<string, unknown>
  egress: Egress
  method: string
}): HostCaller {
  const { manifest, granted, config, egress, method } = given
  return {
    pluginId: manifest.id,
    key: manifest.id,
    version: manifest.version,
    granted,
    userId: 'reader',
    auth: authOf({ manifest, config, privateHosts: false }, egress.local),
    http: manifest.http,
    config,
    privateHosts: false,
    dataVersion: 1,
    method: method.split('.').at(-1) ?? method,
    record: undefined,
  }
}

/** What was given, and the defaults of the manifest for the rest, as a server has it. */
function settle(schema: Manifest['config'], given: Record<string, unknown> = {}): Record<string, unknown> {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { default?: unknown }> }
  const defaults = Object.entries(properties).filter(([, member]) => member.default !== undefined)
  return { ...Object.fromEntries(defaults.map(([name, member]) => [name, member.default])), ...given }
}

/** Where something stands in the sources, by as much of the map as a server would keep. */
export function sourceIn({ map = null }: Pick<Built, 'map'>, places: readonly CodePlace[]): string | null {
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

/** Notes every request with what came of it. */
const tracing = (egress: Egress, trace: CallTrace): Egress => ({
  ...(egress.local && { local: egress.local }),
  async fetch(given, policy, signal) {
    let answer: EgressResponse | null = null
    try {
      answer = await egress.fetch(given, policy, signal)
      return answer
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
  if (kind === 'progress') {
    if (typeof fraction === 'number')
      trace.progress.push({ fraction: Math.min(Math.max(fraction, 0), 1), text: typeof text === 'string' ? text : null })
    return
  }
  const line = { level: LEVELS.find((one) => one === level) ?? 'debug', message: String(message), data: readData(data) }
  trace.log.push(line)
  onLog?.(line)
}

/** What was logged beside the message crosses as JSON, which is cut where it is long. */
function readData(data: unknown): Json {
  if (typeof data !== 'string') return null
  try {
    return JSON.parse(data) as Json
  } catch {
    return data
  }
}
