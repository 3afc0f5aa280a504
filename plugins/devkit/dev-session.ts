import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { type LocalServices, NO_LOCAL_SERVICES } from '#core/settings/local-hosts.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { budgetOf } from '#plugins/packages/budgets.ts'
import { methodsOf } from '#plugins/packages/manifest.ts'
import { requestedPermissions } from '#plugins/packages/permissions.ts'
import type { Inspector } from '#plugins/runtime/inspection.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openReplay } from '../../plugin-sdk/fixtures.ts'
import type { Json } from '../../plugin-sdk/index.ts'
import type { CallTrace } from '../../plugin-sdk/testing.ts'
import { describeUnmatched } from './allow-local.ts'
import { ToolProblem } from './command.ts'
import type { GivenCredentials } from './credentials-file.ts'
import { debugProgram } from './debug-program.ts'
import { FIXTURES_FOLDER } from './fixture-files.ts'
import { replayEgress } from './host-answers.ts'
import { asCallProblem, type Built, CallProblem, PluginSession, runsForUser, type SessionOptions } from './plugin-session.ts'
import { readOptional } from './project.ts'
import { authOfCall, CALLS_FOLDER, callOf, type SavedCall } from './saved-call.ts'

interface DevState {
  plugin: { id: string; name: string; version: string } | null
  methods: { name: string; cpuMs: number; wallMs: number }[]
  calls: Record<string, unknown>[]
  fixtures: string[]
}

type DevAnswer = { trace: CallTrace; cpuMsMax: number; wallMsMax: number; storage: Record<string, Json> } & (
  | { answer: unknown }
  | { code: string; message: string; source: string | null }
)

/** Suggestions that fit on the page. */
const NAMES_MAX = 200

interface DevOptions {
  /** Debugs every sandbox from its first line; the sandbox stays until the next replaces it, and calls wait for each other. */
  inspector?: Inspector | null
  /** Hosts on this machine or its network that may be requested. */
  local?: LocalServices
  /** Added to requests to real services. */
  credentials?: GivenCredentials | undefined
}

/** The state and actions of the page of `dev`. */
export class DevSession {
  readonly #folder: string
  readonly #supervisor: Supervisor
  readonly #inspector: Inspector | null
  readonly #credentials: GivenCredentials | undefined
  readonly #outside: Egress
  #built: Built | null = null
  /** Of the plugin, and of the user. */
  readonly #storages: Record<'server' | 'user', Record<string, Json>> = { server: {}, user: {} }
  /** The debugged sandbox, and the queue of its operations. */
  #debugged: PluginSession | null = null
  #last: Promise<unknown> = Promise.resolve()

  constructor(folder: string, supervisor: Supervisor, { inspector = null, local = NO_LOCAL_SERVICES, credentials }: DevOptions = {}) {
    this.#folder = folder
    this.#supervisor = supervisor
    this.#inspector = inspector
    this.#credentials = credentials
    this.#outside = new HttpsEgress(undefined, local)
  }

  /** Every successful build replaces the previous one; the storages stay. */
  use(next: Built): void {
    this.#built = next
    if (this.#inspector !== null) void this.#inOrder(() => this.#show(next))
  }

  async state(): Promise<DevState> {
    const { manifest } = this.#built ?? {}
    return {
      plugin: manifest ? { id: manifest.id, name: manifest.name, version: manifest.version } : null,
      methods: manifest ? methodsOf(manifest).map((name) => ({ name, ...budgetOf(requestedPermissions(manifest), name) })) : [],
      calls: await savedCallsIn(this.#folder),
      fixtures: await namesIn(this.#folder, FIXTURES_FOLDER),
    }
  }

  /** @throws ToolProblem for an invalid call */
  call(value: unknown, onLog: (line: CallTrace['log'][number]) => void): Promise<DevAnswer> {
    return this.#inOrder(async () => {
      if (this.#built === null) throw new ToolProblem('There is no successful build yet.')
      const running = this.#built
      const wrong = (message: string): never => {
        throw new ToolProblem(message)
      }
      const call = await callOf(value, { folder: this.#folder, name: 'call', wrong })
      return await this.#run(running, call, onLog)
    })
  }

  async #run(running: Built, call: SavedCall, onLog: (line: CallTrace['log'][number]) => void): Promise<DevAnswer> {
    const unmatched: string[] = []
    const { config, userConfig, library, fixtures } = call
    const owner = runsForUser(call.method) ? 'user' : 'server'
    const session = this.#open(running, {
      egress: fixtures === null ? this.#outside : replayEgress(openReplay(fixtures), unmatched),
      config,
      userConfig,
      library,
      storage: this.#storages[owner],
      auth: authOfCall(call, running.manifest),
      credentials: this.#credentials,
      // Fixtures need none.
      credentialsHint: fixtures === null ? 'Start dev with --credentials FILE.' : undefined,
      onLog,
    })
    const { cpuMs: cpuMsMax, wallMs: wallMsMax } = budgetOf(requestedPermissions(running.manifest), call.method)
    try {
      const outcome = await session.call(call.method, call.input).catch(asCallProblem)
      this.#storages[owner] = session.storage()
      const shown = { trace: outcome.trace, cpuMsMax, wallMsMax, storage: this.#storages[owner] }
      // Also when the code has caught its error: as in tests.
      if (unmatched.length > 0) return { ...shown, code: 'unmatched', message: describeUnmatched(unmatched), source: null }
      if (!(outcome instanceof CallProblem)) return { ...shown, answer: outcome.answer }
      const { code, message, source } = outcome
      return { ...shown, code, message, source }
    } finally {
      if (this.#inspector === null) session.close()
      // When the call has ended its sandbox, the debugger gets a new one.
      else void session.load().catch(() => {})
    }
  }

  #inOrder<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#inspector === null) return work()
    const result = this.#last.then(work)
    this.#last = result.catch(() => {})
    return result
  }

  #open(running: Built, options: SessionOptions): PluginSession {
    if (this.#inspector === null) return new PluginSession(this.#supervisor, running, options)
    this.#debugged?.close()
    const program = debugProgram(this.#folder, running, this.#inspector)
    this.#debugged = new PluginSession(this.#supervisor, running, { ...options, program })
    return this.#debugged
  }

  /** Loads the sandbox, so that its sources are there to set breakpoints in. */
  async #show(running: Built): Promise<void> {
    // A caller gets the reason when it does not start.
    await this.#open(running, { egress: this.#outside })
      .load()
      .catch(() => {})
  }
}

async function namesIn(folder: string, name: string): Promise<string[]> {
  const files = await readdir(path.join(folder, name)).catch(() => [])
  return files
    .filter((file) => file.endsWith('.json'))
    .map((file) => path.basename(file, '.json'))
    .sort()
    .slice(0, NAMES_MAX)
}

async function savedCallsIn(folder: string): Promise<Record<string, unknown>[]> {
  const names = await namesIn(folder, CALLS_FOLDER)
  const calls = await Promise.all(
    names.map(async (name) => {
      const bytes = await readOptional(folder, path.join(CALLS_FOLDER, `${name}.json`))
      try {
        return { ...(JSON.parse(bytes?.toString('utf8') ?? '') as Record<string, unknown>), name }
      } catch {
        // The file is incomplete or invalid at the moment: the page works without it.
        return null
      }
    }),
  )
  return calls.filter((call) => call !== null)
}
