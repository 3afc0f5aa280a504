import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { type LocalServices, NO_LOCAL_SERVICES } from '#core/settings/local-places.ts'
import { budgetOf } from '#plugins/host/plugin-program.ts'
import { openEgress } from '#plugins/network/egress.ts'
import { methodsOf } from '#plugins/packages/manifest.ts'
import { permissionsOf } from '#plugins/packages/permissions.ts'
import type { Inspector } from '#plugins/runtime/inspection.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openReplay } from '../../plugin-sdk/fixtures.ts'
import type { Json } from '../../plugin-sdk/index.ts'
import type { CallTrace } from '../../plugin-sdk/testing.ts'
import { ToolProblem } from './command.ts'
import type { GivenCredentials } from './credentials-file.ts'
import { debugProgram } from './debug-program.ts'
import { FIXTURES_FOLDER } from './fixture-files.ts'
import { openReplayEgress } from './host-answers.ts'
import { type Built, CallProblem, openSession, type PluginSession, type SessionOptions } from './plugin-session.ts'
import { readOptional } from './project.ts'
import { CALLS_FOLDER, callOf, type SavedCall } from './saved-call.ts'

/** What the page of `dev` shows, and what it can ask for. */
export interface DevSession {
  /** Every good build takes the place of the one before; the storage stays. */
  use(built: Built): void
  state(): Promise<DevState>
  /** @throws ToolProblem for what is no call */
  call(value: unknown, onLog: (line: CallTrace['log'][number]) => void): Promise<DevAnswer>
}

export interface DevState {
  plugin: { id: string; name: string; version: string } | null
  methods: { name: string; cpuMs: number; wallMs: number }[]
  calls: Record<string, unknown>[]
  fixtures: string[]
}

export type DevAnswer = { trace: CallTrace; cpuMsMax: number; wallMsMax: number; storage: Record<string, Json> } & (
  | { answer: unknown }
  | { code: string; message: string; source: string | null }
)

/** Names that a page has room for. */
const NAMES_MAX = 200

/**
 * @param options.local places of this machine or its network that may be asked
 * @param options.credentials put into requests to services themselves
 * @param options.inspector debugs every sandbox from its first line; it stays until the next takes its place, and calls wait for each other
 */
export function openDevSession(
  folder: string,
  supervisor: Supervisor,
  {
    inspector = null,
    local = NO_LOCAL_SERVICES,
    credentials,
  }: { inspector?: Inspector | null; local?: LocalServices; credentials?: GivenCredentials | undefined } = {},
): DevSession {
  const outside = openEgress(undefined, local)
  let built: Built | null = null
  let storage: Record<string, Json> = {}
  /** The sandbox that is debugged, and whatever is done with it, one after the other. */
  let kept: PluginSession | null = null
  let last: Promise<unknown> = Promise.resolve()

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (inspector === null) return work()
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
  const open = (running: Built, options: SessionOptions): PluginSession => {
    if (inspector === null) return openSession(supervisor, running, options)
    kept?.close()
    kept = openSession(supervisor, running, { ...options, program: debugProgram(folder, running, inspector) })
    return kept
  }
  /** So that its sources are there to set breakpoints in. */
  const show = async (running: Built): Promise<void> => {
    // Why it does not start is told to whoever calls it.
    await open(running, { egress: outside })
      .load()
      .catch(() => {})
  }

  const namesIn = async (name: string): Promise<string[]> => {
    const files = await readdir(path.join(folder, name)).catch(() => [])
    return files
      .filter((file) => file.endsWith('.json'))
      .map((file) => path.basename(file, '.json'))
      .sort()
      .slice(0, NAMES_MAX)
  }
  const savedCalls = async (): Promise<Record<string, unknown>[]> => {
    const names = await namesIn(CALLS_FOLDER)
    const calls = await Promise.all(
      names.map(async (name) => {
        const bytes = await readOptional(folder, path.join(CALLS_FOLDER, `${name}.json`))
        try {
          return { ...(JSON.parse(bytes?.toString('utf8') ?? '') as Record<string, unknown>), name }
        } catch {
          // Being written at the moment, or wrong: the page does without it.
          return null
        }
      }),
    )
    return calls.filter((call) => call !== null)
  }

  return {
    use(next) {
      built = next
      if (inspector !== null) void inTurn(() => show(next))
    },
    async state() {
      const { manifest } = built ?? {}
      return {
        plugin: manifest ? { id: manifest.id, name: manifest.name, version: manifest.version } : null,
        methods: manifest ? methodsOf(manifest).map((name) => ({ name, ...budgetOf(permissionsOf(manifest), name) })) : [],
        calls: await savedCalls(),
        fixtures: await namesIn(FIXTURES_FOLDER),
      }
    },
    call: (value, onLog) =>
      inTurn(async () => {
        if (built === null) throw new ToolProblem('There is no build that works yet.')
        const running = built
        const call: SavedCall = await callOf(value, {
          folder,
          name: 'call',
          wrong: (message) => {
            throw new ToolProblem(message)
          },
        })
        const egress = call.fixtures === null ? outside : openReplayEgress(openReplay(call.fixtures), () => {})
        const { config, userConfig, library } = call
        const session = open(running, { egress, config, userConfig, library, storage, credentials, onLog })
        const { cpuMs: cpuMsMax, wallMs: wallMsMax } = budgetOf(permissionsOf(running.manifest), call.method)
        try {
          const { answer, trace } = await session.call(call.method, call.input)
          storage = session.storage()
          return { answer, trace, cpuMsMax, wallMsMax, storage }
        } catch (error) {
          if (!(error instanceof CallProblem)) throw error
          storage = session.storage()
          return { code: error.code, message: error.message, source: error.source, trace: error.trace, cpuMsMax, wallMsMax, storage }
        } finally {
          if (inspector === null) session.close()
          // Where the call has ended its sandbox, the debugger gets another one.
          else void session.load().catch(() => {})
        }
      }),
  }
}
