import { openEgress } from '#plugins/network/egress.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import { type Fixtures, openReplay, type Replay, readFixtures } from '../../plugin-sdk/fixtures.ts'
import type { AnyConfig, Json } from '../../plugin-sdk/index.ts'
import type { CallReport, OpenOptions, TestedPlugin, TestingHost } from '../../plugin-sdk/testing.ts'
import { ToolProblem } from './command.ts'
import type { GivenCredentials } from './credentials-file.ts'
import { FIXTURES_FOLDER, findFixtures, openRecorder, type Recorder, writeFixtures } from './fixture-files.ts'
import { openReplayEgress } from './host-answers.ts'
import { type Built, CallProblem, openSession, type PluginSession } from './plugin-session.ts'
import { typed } from './typed.ts'

/** A test of an author, as a file of tests has named it. */
export interface NamedTest {
  name: string
  run: () => Promise<void> | void
}

export interface TestingTools {
  host: TestingHost
  /** The tests that were named since the last time. */
  takeTests(): NamedTest[]
  /**
   * Closes what the last test has opened.
   * @returns what it should have asked for and did not
   */
  endTest(): string[]
  /** Writes what was recorded; answers the files. */
  saveRecorded(): Promise<string[]>
}

export interface TestingOptions {
  folder: string
  built: Built
  supervisor: Supervisor
  /** Asks the services themselves, and keeps what they answer. */
  isRecording: boolean
  /** Places of this machine or its network that are asked then. */
  local: ReadonlySet<string>
  /** Put into what they are asked. */
  credentials?: GivenCredentials | undefined
  /** A call that computes for longer fails. */
  cpuMsMax: number | null
}

interface Opened {
  session: PluginSession
  replay: Replay | null
  name: string
}

/** What the tests of an author meet as `@carrel/plugin-sdk/testing`. */
export function openTestingHost({ folder, built, supervisor, isRecording, local, credentials, cpuMsMax }: TestingOptions): TestingTools {
  const tests: NamedTest[] = []
  const opened: Opened[] = []
  const recorders = new Map<string, Recorder>()
  const outside = isRecording ? openEgress(undefined, local) : null

  const recorderOf = async (name: string): Promise<Recorder> => {
    const known = recorders.get(name)
    if (known) return known
    const recorder = openRecorder(outside ?? openEgress(), await findFixtures(folder, name))
    recorders.set(name, recorder)
    return recorder
  }

  const fixturesOf = async (given: OpenOptions['fixtures']): Promise<Fixtures> => {
    if (given === undefined) return { formatVersion: 1, exchanges: [] }
    if (typeof given !== 'string') return readFixtures(given)
    const found = await findFixtures(folder, given)
    if (found) return found
    throw new ToolProblem(`There is no ${FIXTURES_FOLDER}/${given}.json. Write it, or let it be recorded: ${typed('test --record')}`)
  }

  const open = async (options: OpenOptions): Promise<TestedPlugin> => {
    const { fixtures, config = {}, userConfig = {}, storage = {}, library = [], auth = 'none' } = options
    const unmatched: string[] = []
    const isRecorded = outside !== null && typeof fixtures === 'string'
    const replay = isRecorded ? null : openReplay(await fixturesOf(fixtures))
    const egress =
      replay === null
        ? (await recorderOf(fixtures as string)).egress
        : openReplayEgress(replay, ({ method, url }) => unmatched.push(`${method} ${url}`))
    const session = openSession(supervisor, built, {
      ...{ egress, config: plain(config), userConfig: plain(userConfig), storage, library, auth },
      // What the test says of them holds, so that it goes the same way when fixtures answer.
      ...(isRecorded && { credentials }),
    })
    opened.push({
      session,
      replay,
      name: typeof fixtures === 'string' ? `${FIXTURES_FOLDER}/${fixtures}.json` : 'the fixtures of this test',
    })

    const call = async (method: string, input: unknown): Promise<CallReport<never>> => {
      unmatched.length = 0
      const outcome = await session.call(method, input).catch((error: unknown) => error)
      const trace = outcome instanceof CallProblem ? outcome.trace : (outcome as { trace?: CallProblem['trace'] }).trace
      if (unmatched.length > 0 && trace)
        throw new CallProblem('unmatched', `No fixture answers ${unmatched.join(', ')}. Record it with: ${typed('test --record')}`, trace)
      if (outcome instanceof Error) throw outcome
      const { answer, trace: used } = outcome as { answer: unknown; trace: CallProblem['trace'] }
      if (cpuMsMax !== null && used.cpuMs > cpuMsMax)
        throw new CallProblem('cpu', `${method} computed for ${used.cpuMs.toFixed(1)} ms; --cpu-ms allows ${cpuMsMax}.`, used)
      return { answer: answer as never, ...used }
    }
    return {
      manifest: JSON.parse(JSON.stringify(built.manifest)) as Record<string, Json>,
      call: call as TestedPlugin['call'],
      storage: async () => session.storage(),
      restart: async () => session.restart(),
      close: async () => session.close(),
    }
  }

  return {
    host: {
      version: 1,
      test: (name, run) => void tests.push({ name, run }),
      open,
    },
    takeTests: () => tests.splice(0),
    endTest: () =>
      opened.splice(0).flatMap(({ session, replay, name }) => {
        session.close()
        return (replay?.unused() ?? []).map(
          ({ request }) => `${request.method ?? 'GET'} ${request.url} of ${name} is required, and was not asked for`,
        )
      }),
    saveRecorded: () => Promise.all([...recorders].map(([name, { exchanges }]) => writeFixtures(folder, name, exchanges))),
  }
}

/** As it would come from a server: JSON, and nothing that the test still holds. */
const plain = (config: AnyConfig): AnyConfig => JSON.parse(JSON.stringify(config)) as AnyConfig
