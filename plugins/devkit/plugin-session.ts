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

/** A plugin in its sandbox, as a server would run it. */
export interface PluginSession {
  /** Opens the sandbox before the first call does. @throws GuestError */
  load(): Promise<void>
  /** @throws CallProblem */
  call(method: string, input: unknown): Promise<{ answer: unknown; trace: CallTrace }>
  storage(): Record<string, Json>
  /** The next call starts it anew, on the same storage. */
  restart(): void
  close(): void
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

export function openSession(supervisor: Supervisor, built: Built, options: SessionOptions): PluginSession {
  const { manifest } = built
  const sourceOf = (places: readonly CodePlace[]) => sourceIn(built, places)
  const granted = permissionsOf(manifest)
  const storage = openMemoryStorage(granted.storageKB, options.storage)
  let guest: Guest | null = null
  let ready: Promise<void> | null = null
  /** The first of each call. */
  const uncaught: GuestError[] = []

  const run = async (opened: Guest, method: string, input: unknown, trace: CallTrace, budget: Budget): Promise<string> => {
    const callId = randomUUID()
    const { library = [], credentials, auth = credentials ? 'connected' : 'none' } = options
    const config = settle(manifest.config, options.config)
    const userConfig = settle(manifest.userConfig, options.userConfig)
    const egress = tracing(options.egress, trace)
    const caller: HostCaller = {
      pluginId: manifest.id,
      key: manifest.id,
      version: manifest.version,
      granted,
      // Somebody's, so that there is a library.
      userId: 'reader',
      auth: authOf({ manifest, config, privateHosts: false }, egress.local),
      http: manifest.http,
      config,
      privateHosts: false,
      dataVersion: 1,
      method: method.split('.').at(-1) ?? method,
      record: undefined,
    }
    const answer = await opened.call(method, JSON.stringify(input ?? null), budget, {
      more: JSON.stringify({ callId, plugin: { id: manifest.id, version: manifest.version }, config, userConfig }),
      onRequest: openHostAnswers({ egress, storage, library, auth, credentials })(caller),
      // Nobody but its author waits here.
      readLarge: async (_kind, body) => readRecord(body)['payload'],
      onSay: (kind, said) => hear(kind, said, trace, options.onLog),
      onUncaught: (error) => void uncaught.push(error),
    })
    trace.cpuMs += answer.cpuMs
    trace.wallMs += answer.wallMs
    return answer.text
  }

  const start = async (opened: Guest, trace: CallTrace): Promise<void> => {
    const defined = await opened.load()
    if (defined.includes('setup')) await run(opened, 'setup', null, trace, SETUP)
  }

  const end = (): void => {
    guest?.close()
    guest = null
    ready = null
  }

  const open = (): Guest => {
    guest ??= supervisor.open(options.program ?? programOf(built))
    return guest
  }

  return {
    async load() {
      await open().load()
    },
    async call(method, input) {
      const trace: CallTrace = { cpuMs: 0, wallMs: 0, requests: [], log: [], progress: [] }
      const opened = open()
      uncaught.length = 0
      let at = performance.now()
      try {
        ready ??= start(opened, trace)
        await ready
        // What was needed to get ready is no part of the call.
        Object.assign(trace, { cpuMs: 0, wallMs: 0 })
        at = performance.now()
        const text = await run(opened, method, input, trace, budgetOf(granted, method))
        const answer = readResult(method, text)
        // No server would keep the answer back for that, but its author is here to mend it.
        const [stray] = uncaught
        if (stray) throw new CallProblem('unhandled', uncaughtMessage(stray.message), trace, sourceOf(stray.places))
        return { answer, trace }
      } catch (error) {
        if (!(error instanceof GuestError)) throw error
        if (trace.wallMs === 0) trace.wallMs = performance.now() - at
        // After these the sandbox is another one, which has to get ready again.
        if (error.code !== 'thrown' && error.code !== 'invalid_result') end()
        else if (trace.cpuMs === 0 && ready !== null) await ready.catch(end)
        const stray = error.places.length === 0 ? uncaught[0] : undefined
        const message = stray ? `${error.message} Before that: ${uncaughtMessage(stray.message)}` : error.message
        throw new CallProblem(codeOf(error), message, trace, sourceOf((stray ?? error).places))
      }
    },
    storage: () => storage.content() as Record<string, Json>,
    restart: end,
    close: end,
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

function hear(kind: 'log' | 'progress', said: Record<string, unknown>, trace: CallTrace, onLog: SessionOptions['onLog']): void {
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
