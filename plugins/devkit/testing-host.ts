import { didYouMean } from '#core/foundation/nearest-name.ts'
import { isObject } from '#core/foundation/plain-object.ts'
import { briefJson } from '#core/foundation/stranger-text.ts'
import { LIFECYCLE } from '#plugins/host/plugin-program.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import { type Fixtures, openReplay, type Replay, readFixtures } from '../../plugin-sdk/fixtures.ts'
import type { Json } from '../../plugin-sdk/index.ts'
import type { CallReport, Method, OpenOptions, TestedPlugin, TestingHost } from '../../plugin-sdk/testing.ts'
import { describeUnmatched } from './allow-local.ts'
import { ToolProblem } from './command.ts'
import { type GivenCredentials, requiresCredentials } from './credentials-file.ts'
import { FIXTURES_FOLDER, findFixtures, Recorder, writeFixtures } from './fixture-files.ts'
import { replayEgress } from './host-answers.ts'
import { ALL_METHODS, type Built, CallProblem, PluginSession } from './plugin-session.ts'
import { authOfCall, problemOfAuth, problemOfInput, problemOfLibrary, problemOfMethod, type SavedCall } from './saved-call.ts'
import { typedTool } from './typed.ts'

/** A misspelled one would be ignored. */
const OPTIONS = Object.keys({
  config: true,
  userConfig: true,
  fixtures: true,
  storage: true,
  library: true,
  auth: true,
} satisfies Record<keyof OpenOptions, true>)

/** What is wrong with the options of a test, which code without types can make; null when nothing is. */
function problemOfOptions(options: OpenOptions): string | null {
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined) return `openPlugin has no option "${unknown}".${didYouMean(unknown, OPTIONS)} It has: ${OPTIONS.join(', ')}.`
  for (const name of ['config', 'userConfig', 'storage'] as const)
    if (options[name] !== undefined && !isObject(options[name]))
      return `"${name}" of openPlugin must be an object; it is ${briefJson(options[name])}.`
  const { auth, library } = options
  const wrongAuth = auth === undefined ? null : problemOfAuth(auth, ' of openPlugin')
  if (wrongAuth !== null) return wrongAuth
  const problem = library === undefined ? null : problemOfLibrary(library)
  return problem === null ? null : `openPlugin: ${problem}`
}

/** Said only of a test that is registered when its file has loaded. */
const REGISTERED_LATE =
  'test() is called within a test, or later than its file has loaded, so it does not run. Call it outside of tests, while the file loads.'

/** A test that an author has registered. */
export interface NamedTest {
  name: string
  run: () => Promise<void> | void
  /** Its stack says where it was registered. */
  registered: Error
}

interface TestingOptions {
  folder: string
  built: Built
  supervisor: Supervisor
  /** Sends requests to the real services, and records their responses. */
  isRecording: boolean
  /** Hosts on this machine or its network that are allowed while recording. */
  local: ReadonlySet<string>
  /** Added to requests while recording. */
  credentials?: GivenCredentials | undefined
  /** A call with more CPU time fails. */
  cpuMsMax: number | null
}

interface Opened {
  session: PluginSession
  replay: Replay | null
  name: string
}

/** A call that runs when its test ends is one that nobody waits for. */
interface RunningCall {
  method: string
  promise: Promise<unknown>
}

/** Implements `@carrel/plugin-sdk/testing` for test files, and runs them. */
export class TestingTools {
  readonly host: TestingHost
  readonly #options: TestingOptions
  readonly #tests: NamedTest[] = []
  readonly #opened: Opened[] = []
  readonly #recorders = new Map<string, Recorder>()
  readonly #running = new Set<RunningCall>()
  /** Of the calls of the running test. */
  readonly #warnings = new Set<string>()
  /** The real services, while recording. */
  readonly #outside: Egress | null

  constructor(options: TestingOptions) {
    this.#options = options
    this.#outside = options.isRecording ? new HttpsEgress(undefined, options.local) : null
    this.host = {
      version: 1,
      test: (name, run) => {
        // Code without types can leave it out, and would pass.
        if (typeof run !== 'function') throw new TypeError(`The test "${name}" has no function: test("${name}", async () => { … })`)
        this.#tests.push({ name, run, registered: new Error(REGISTERED_LATE) })
      },
      open: (given) => this.#open(given),
    }
  }

  /** The tests registered since the last call. */
  takeTests(): NamedTest[] {
    return this.#tests.splice(0)
  }

  /**
   * Closes the plugins that the last test has opened.
   * @returns calls that still ran, required requests that it did not make, and the warnings of its calls
   */
  endTest(): { missed: string[]; warnings: string[] } {
    const running = [...this.#running].map(({ method, promise }) => {
      // It fails when its plugin closes.
      promise.catch(() => {})
      return `the call of ${method} still ran when the test ended: write await before it`
    })
    this.#running.clear()
    const missed = this.#opened.splice(0).flatMap(({ session, replay, name }) => {
      session.close()
      return (replay?.unused() ?? []).map(
        ({ request }) => `${request.method ?? 'GET'} ${request.url} of ${name} is required, but was not requested`,
      )
    })
    const warnings = [...this.#warnings]
    this.#warnings.clear()
    return { missed: [...running, ...missed], warnings }
  }

  /** Makes a saved call at the service, for the fixtures that it names. @throws CallProblem */
  async recordCall(call: SavedCall & { fixturesName: string }): Promise<void> {
    const { method, input, config, userConfig, library, fixturesName: fixtures } = call
    try {
      const auth = authOfCall(call, this.#options.built.manifest)
      const plugin = await this.#open({ fixtures, config, userConfig, library, ...(auth && { auth }) })
      // Read from a file, whose method is one of these; the plugin checks its input.
      await plugin.call(method as Method, input as never)
    } finally {
      this.endTest()
    }
  }

  /** What was not recorded, and why. */
  listUnrecorded(): string[] {
    return [...this.#recorders].flatMap(([name, { refused, kept }]) => {
      const file = `${FIXTURES_FOLDER}/${name}.json`
      const named = kept.map(
        ({ request: { method = 'GET', url }, response, failure }) => `${method} ${url} (${failure?.code ?? response?.status})`,
      )
      const stays = `${file} keeps ${named.join(', ')}: no recording replaces failures and statuses of 400 or more. To record one again, delete it from the file.`
      return [...[...refused.values()].map((said) => `${file}: ${said}.`), ...(named.length > 0 ? [stays] : [])]
    })
  }

  /** Writes the recorded fixtures; returns the files. @param keepsOthers whether responses to requests that were not made this time stay */
  saveRecorded(keepsOthers: boolean): Promise<string[]> {
    const recorded = [...this.#recorders].filter(([, { hasRecorded }]) => hasRecorded)
    return Promise.all(recorded.map(([name, recorder]) => writeFixtures(this.#options.folder, name, recorder.exchanges(keepsOthers))))
  }

  async #open(options: OpenOptions): Promise<TestedPlugin> {
    const { built, supervisor, credentials } = this.#options
    const problem = problemOfOptions(options)
    if (problem !== null) throw new ToolProblem(problem)
    const { fixtures, config = {}, userConfig = {}, storage = {}, library = [] } = options
    // Not by the credentials for recording: a test takes the same way when it is replayed.
    const { auth = requiresCredentials(built.manifest) ? 'missing' : 'none' } = options
    const unmatched: string[] = []
    const isRecorded = this.#outside !== null && typeof fixtures === 'string'
    const replay = isRecorded ? null : openReplay(await this.#fixturesOf(fixtures))
    const egress = replay === null ? (await this.#recorderOf(fixtures as string)).open() : replayEgress(replay, unmatched)
    const session = new PluginSession(supervisor, built, {
      egress,
      config: plain(config),
      userConfig: plain(userConfig),
      storage: plain(storage),
      library,
      auth,
      ...(isRecorded && { credentials }),
    })
    const name = typeof fixtures === 'string' ? `${FIXTURES_FOLDER}/${fixtures}.json` : 'the fixtures of this test'
    this.#opened.push({ session, replay, name })
    return {
      manifest: JSON.parse(JSON.stringify(built.manifest)) as Record<string, Json>,
      call: ((method: string, input: unknown) => this.#begin(session, unmatched, method, input)) as TestedPlugin['call'],
      storage: async () => session.storage(),
      restart: async () => session.close(),
      close: async () => session.close(),
    }
  }

  /** Without a reaction of ours on the promise that the test awaits: with a second one, errors lose the line of the test. */
  #begin(session: PluginSession, unmatched: string[], method: string, input: unknown): Promise<CallReport<never>> {
    const running: RunningCall = { method, promise: Promise.resolve() }
    const tracked = async () => {
      try {
        return await this.#call(session, unmatched, method, input)
      } finally {
        this.#running.delete(running)
      }
    }
    this.#running.add(running)
    const promise = tracked()
    running.promise = promise
    return promise
  }

  /** @param unmatched receives requests of the call that match no fixture */
  async #call(session: PluginSession, unmatched: string[], method: string, input: unknown): Promise<CallReport<never>> {
    const { cpuMsMax } = this.#options
    unmatched.length = 0
    if (!ALL_METHODS.includes(method) && !LIFECYCLE.includes(method)) throw new ToolProblem(problemOfMethod(method))
    if (input === undefined && !LIFECYCLE.includes(method)) throw new ToolProblem(problemOfInput(method, null) ?? `${method} has no input.`)
    const outcome = await session.call(method, input).catch((error: unknown) => error)
    const trace = outcome instanceof CallProblem ? outcome.trace : (outcome as { trace?: CallProblem['trace'] }).trace
    if (unmatched.length > 0 && trace) throw new CallProblem('unmatched', describeUnmatched(unmatched), trace)
    if (outcome instanceof Error) throw outcome
    const { answer, trace: used } = outcome as { answer: unknown; trace: CallProblem['trace'] }
    for (const warning of used.warnings) this.#warnings.add(`${method} ${warning}`)
    if (cpuMsMax !== null && used.cpuMs > cpuMsMax)
      throw new CallProblem('cpu', `${method} took ${used.cpuMs.toFixed(1)} ms of CPU time; --cpu-ms allows ${cpuMsMax}.`, used)
    // Checked by the schema of its method, whose type the caller knows.
    return { answer: answer as never, ...used }
  }

  async #recorderOf(name: string): Promise<Recorder> {
    const known = this.#recorders.get(name)
    if (known) return known
    const recorder = new Recorder(this.#outside ?? new HttpsEgress(), await findFixtures(this.#options.folder, name))
    this.#recorders.set(name, recorder)
    return recorder
  }

  async #fixturesOf(given: OpenOptions['fixtures']): Promise<Fixtures> {
    if (given === undefined) return { formatVersion: 1, exchanges: [] }
    if (typeof given !== 'string') return readFixtures(given)
    const found = await findFixtures(this.#options.folder, given)
    if (found) return found
    throw new ToolProblem(`There is no ${FIXTURES_FOLDER}/${given}.json. Write it, or record it: ${typedTool('test --record')}`)
  }
}

/** As if from a server: JSON, without references to the test's objects. */
const plain = (given: object) => JSON.parse(JSON.stringify(given)) as Record<string, Json>
