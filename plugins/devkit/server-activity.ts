import { setTimeout as sleep } from 'node:timers/promises'
import { briefText } from '#core/foundation/stranger-text.ts'
import type { DescribedFlag } from '#core/settings/command-line.ts'
import { isAtLeast, LOG_LEVELS, type LogLevel } from '#plugins/logs/lines.ts'
import { PICTURE_METHOD } from '#plugins/logs/plugin-logs.ts'
import { kilobytes, type Out, printMessage, type ToolInput, ToolProblem } from './command.ts'
import { askServer, ServerRefusal, type SideLoad } from './side-load.ts'

const LOOK_EVERY_MS = 500
/** While the server does not answer. */
const AGAIN_MS = 3_000
/** Per request; what does not fit into the terminal is left out, but read, so that the terminal does not fall behind. */
const LINES_READ = 500
const LINES_SHOWN = 100
/** The server keeps this number of calls. */
const CALLS_KEPT = 50
/** Of this number of new calls the result is fetched; of more, only its length is shown. */
const RESULTS_READ = 5
const RESULT_LENGTH_MAX = 200

export const LEVEL: DescribedFlag = {
  name: 'level',
  value: LOG_LEVELS.join('|'),
  isSwitch: false,
  repeatable: false,
  about:
    'For --server: the lowest level of what the plugin there does that is shown here. A call is info, a failed one error. Default: debug.',
}

/** @throws ToolProblem */
export function readLevel({ flag }: Pick<ToolInput, 'flag'>): LogLevel {
  const given = flag(LEVEL.name) ?? 'debug'
  const level = LOG_LEVELS.find((one) => one === given)
  if (level === undefined) throw new ToolProblem(`--level must be ${LOG_LEVELS.join(', ')}, not "${briefText(given)}".`)
  return level
}

interface State {
  state: string
  runningVersion: string | null
  disabledReason: string | null
  healthStatus: string
}

interface Line {
  id: number
  at: string
  level: LogLevel
  message: string
  data: string | null
  method: string | null
}

interface LinePage {
  lines: Line[]
  missed: number
  lastId: number | null
}

interface Call {
  callId: string
  method: string
  startedAt: string
  code: string
  message: string | null
  source: string | null
  cpuMs: number
  wallMs: number
  queueMs: number
  resultLength: number
  fetches: { host: string; outcome: string; bytes: number; cached: boolean }[]
}

/** What is printed, by time. */
interface Entry {
  at: number
  level: LogLevel
  text: string
}

/** Prints what a plugin does on a server, and what becomes of its builds there. */
export class ServerActivity {
  readonly #server: SideLoad
  readonly #id: string
  readonly #level: LogLevel
  readonly #input: Pick<ToolInput, 'out' | 'stop'>
  #last: Promise<void> = Promise.resolve()
  /** The version that was installed last. */
  #version: string | null = null
  #state = ''
  #isTroubled = false
  #problem = ''
  #lastLine = 0
  #calls: ReadonlySet<string> = new Set()

  constructor(server: SideLoad, id: string, { level, input }: { level: LogLevel; input: Pick<ToolInput, 'out' | 'stop'> }) {
    this.#server = server
    this.#id = id
    this.#level = level
    this.#input = input
  }

  /** Notes what has already happened, which is not printed. @throws ToolProblem */
  async begin(): Promise<void> {
    const state = await this.#readState()
    this.#state = textOf(state)
    if (state === null) return
    const [{ lastId }, calls] = await Promise.all([this.#get<LinePage>('/logs?limit=1'), this.#readCalls()])
    this.#lastLine = lastId ?? 0
    this.#calls = new Set(calls.map(({ callId }) => callId))
  }

  /** Prints until the command ends. */
  async follow(): Promise<void> {
    const { out, stop } = this.#input
    while (!stop.aborted) {
      let waitMs = LOOK_EVERY_MS
      await this.#inTurn(async () => {
        try {
          await this.#look()
          this.#problem = ''
        } catch (error) {
          if (!(error instanceof ToolProblem)) throw error
          waitMs = AGAIN_MS
          if (stop.aborted || error.message === this.#problem) return
          this.#problem = error.message
          printMessage(out, ['yellow', '!'], `What the plugin does on the server cannot be shown at the moment: ${error.message}`)
        }
      })
      await sleep(waitMs, undefined, { signal: stop }).catch(() => {})
    }
  }

  /** Looks at nothing while a build is installed or a person is asked. @returns the work's result, after which this version should run */
  async whileInstalling<Result>(version: string, work: () => Promise<Result>): Promise<Result> {
    return await this.#inTurn(async () => {
      const result = await work()
      this.#version = version
      this.#isTroubled = false
      return result
    })
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work)
    this.#last = turn.then(
      () => {},
      () => {},
    )
    return await turn
  }

  async #look(): Promise<void> {
    const state = await this.#readState()
    if (state !== null) await this.#showActivity()
    this.#showState(state)
  }

  #showState(state: State | null): void {
    const text = textOf(state)
    if (text === this.#state) return
    this.#state = text
    const { out } = this.#input
    const { origin } = new URL(this.#server.url)
    const trouble = troubleOf(state, this.#version)
    if (trouble !== null) printMessage(out, ['red', '✖'], `${origin} ${trouble}`)
    else if (this.#isTroubled) printMessage(out, ['green', '✔'], `${origin} runs ${state?.runningVersion} again`)
    this.#isTroubled = trouble !== null
  }

  async #showActivity(): Promise<void> {
    // The lines of a call are complete when it is recorded.
    const calls = await this.#newCalls()
    const page = await this.#get<LinePage>(`/logs?after=${this.#lastLine}&limit=${LINES_READ}&level=${this.#level}`)
    this.#lastLine = (page.lines.length < LINES_READ ? page.lastId : page.lines.at(-1)?.id) ?? this.#lastLine
    const lines = page.lines.slice(0, LINES_SHOWN).filter((line) => !isOfFailure(line))
    const entries = [...lines.map(lineEntry), ...calls].sort((one, other) => one.at - other.at)
    for (const entry of entries) printEntry(this.#input.out, entry)
    const leftOut = page.missed + Math.max(0, page.lines.length - LINES_SHOWN)
    if (leftOut > 0) this.#say(`${leftOut} lines left out: the plugin writes more than a terminal can show.`)
  }

  async #newCalls(): Promise<Entry[]> {
    const all = await this.#readCalls()
    const isNew = ({ callId }: Call) => !this.#calls.has(callId)
    const made = all.filter(({ method }) => method !== PICTURE_METHOD)
    const isGap = made.length >= CALLS_KEPT && made.every(isNew)
    const shown = all.filter((call) => isNew(call) && isAtLeast(levelOf(call), this.#level)).reverse()
    this.#calls = new Set(all.map(({ callId }) => callId))
    const readsResults = shown.length <= RESULTS_READ
    const entries = await Promise.all(shown.map(async (call) => callEntry(call, readsResults ? await this.#readResult(call) : undefined)))
    if (isGap) this.#say(`Calls left out: the server keeps the last ${CALLS_KEPT}, and all of them are new.`)
    return entries
  }

  #say(text: string): void {
    printMessage(this.#input.out, ['yellow', '!'], text)
  }

  async #readState(): Promise<State | null> {
    return await this.#get<State>('').catch((error: unknown) => {
      if (error instanceof ServerRefusal && error.status === 404) return null
      throw error
    })
  }

  async #readCalls(): Promise<Call[]> {
    return (await this.#get<{ calls: Call[] }>('/calls')).calls
  }

  /** Undefined when there is none, and when the server no longer keeps the call. */
  async #readResult({ callId, code, method }: Call): Promise<unknown> {
    if (code !== 'ok' || method === PICTURE_METHOD) return undefined
    return await this.#get<{ result: unknown }>(`/calls/${callId}`).then(
      ({ result }) => result,
      () => undefined,
    )
  }

  async #get<Answer>(place: string): Promise<Answer> {
    return await askServer<Answer>(
      this.#server,
      `/api/v1/admin/plugins/${encodeURIComponent(this.#id)}${place}`,
      { method: 'GET' },
      this.#input.stop,
    )
  }
}

const textOf = (state: State | null): string =>
  JSON.stringify(
    state === null
      ? null
      : [state.state, state.runningVersion, state.disabledReason, state.healthStatus === 'degraded', state.healthStatus === 'quarantined'],
  )

/** What is wrong with a plugin, after the name of the server; null if the version that was installed runs. */
function troubleOf(state: State | null, version: string | null): string | null {
  if (state === null) return version === null ? null : 'no longer has the plugin.'
  const { runningVersion, disabledReason } = state
  const why = disabledReason === null ? '' : ` ${disabledReason}`
  if (['quarantined', 'revoked', 'disabled'].includes(state.state))
    return `runs no build: ${runningVersion ?? 'the plugin'} is ${state.state}.${why}`
  if (version !== null && runningVersion !== null && runningVersion !== version)
    return `runs ${runningVersion} instead of ${version}.${why}`
  if (state.healthStatus === 'degraded') return `lets calls of ${runningVersion} pause, because they failed too often.${why}`
  return disabledReason === null ? null : `says: ${disabledReason}`
}

/** A failed picture is one of many, and says less about the plugin's code than a failed call. */
function levelOf({ method, code, message }: Call): LogLevel {
  if (method === PICTURE_METHOD) return code === 'ok' ? 'debug' : 'warn'
  if (code !== 'ok') return 'error'
  return message === null ? 'info' : 'warn'
}

/** The line in which the server says that a call failed, which is shown as the call itself. */
const isOfFailure = ({ level, method, message }: Line): boolean => level === 'error' && message.startsWith(`${method} failed (`)

function lineEntry({ at, level, method, message, data }: Line): Entry {
  const text = [message, ...(data === null ? [] : [data])].join(' ')
  return { at: Date.parse(at), level, text: method === null ? text : `${method}: ${text}` }
}

function callEntry(call: Call, result: unknown): Entry {
  const { method, code, message, source, cpuMs, wallMs, queueMs, fetches, resultLength } = call
  const requests = fetches.map(({ host, outcome, bytes, cached }) => `${host} ${outcome}, ${cached ? 'cached' : kilobytes(bytes)}`)
  const answer = result === undefined ? `result of ${kilobytes(resultLength)}` : briefText(JSON.stringify(result), RESULT_LENGTH_MAX)
  const lines = [
    `${method} ${code === 'ok' ? 'ok' : `failed (${code})`}, ${Math.round(wallMs)} ms, ${Math.round(cpuMs)} ms cpu`,
    ...requests.map((one) => `requests ${one}`),
    ...(message === null ? [] : [message]),
    ...(source === null ? [] : [`at ${source}`]),
    ...(code === 'ok' && method !== PICTURE_METHOD ? [`→ ${answer}`] : []),
  ]
  return { at: Date.parse(call.startedAt) + queueMs + wallMs, level: levelOf(call), text: lines.join('\n') }
}

const STYLES = { debug: 'gray', info: 'cyan', warn: 'yellow', error: 'red' } as const

function printEntry(out: Out, { at, level, text }: Entry): void {
  // Of a clock that is wrong by more than a date can say.
  const time = Number.isFinite(at) ? new Date(at).toTimeString().slice(0, 8) : '--:--:--'
  printMessage(out, [STYLES[level], `${time} ${level.padEnd(5)}`], text)
}
