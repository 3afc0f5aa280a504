import { briefText } from '#core/foundation/stranger-text.ts'
import { kilobytes, type Out, printMessage } from '#plugins/devkit/command.ts'
import { isAtLeast, type LogLevel } from '#plugins/logs/lines.ts'
import { PICTURE_METHOD } from '#plugins/logs/plugin-logs.ts'

/** Per request; what does not fit into the terminal is left out, but read, so that the terminal does not fall behind. */
const LINES_READ = 500
const LINES_SHOWN = 100
/** The server keeps this number of calls. */
const CALLS_KEPT = 50
/** Of this number of new calls the result is fetched; of more, only its length is shown. */
const RESULTS_READ = 5
const RESULT_LENGTH_MAX = 200

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

/** What a plugin does on one node of a server, which keeps it in its own memory: its calls and the lines of its log. */
export class NodeLog {
  readonly #get: <Answer>(place: string, member: string) => Promise<Answer>
  readonly #options: { level: LogLevel; out: Out; name: string | null }
  #lastLine = 0
  #calls: ReadonlySet<string> = new Set()

  /**
   * @param get asks the node for a place below the plugin, whose answer has the member
   * @param options.name stands before what happens there; null for the only node
   */
  constructor(
    get: <Answer>(place: string, member: string) => Promise<Answer>,
    options: { level: LogLevel; out: Out; name: string | null },
  ) {
    this.#get = get
    this.#options = options
  }

  /** Notes what has already happened, which is not printed. @throws ToolProblem */
  async begin(): Promise<void> {
    const [{ lastId }, calls] = await Promise.all([this.#get<LinePage>('/logs?limit=1', 'lines'), this.#readCalls()])
    this.#lastLine = lastId ?? 0
    this.#calls = new Set(calls.map(({ callId }) => callId))
  }

  /** Prints what has happened since. @throws ToolProblem */
  async show(): Promise<void> {
    // The lines of a call are complete when it is recorded.
    const calls = await this.#newCalls()
    const { level, out, name } = this.#options
    const page = await this.#get<LinePage>(`/logs?after=${this.#lastLine}&limit=${LINES_READ}&level=${level}`, 'lines')
    this.#lastLine = (page.lines.length < LINES_READ ? page.lastId : page.lines.at(-1)?.id) ?? this.#lastLine
    const lines = page.lines.slice(0, LINES_SHOWN).filter((line) => !isOfFailure(line))
    const entries = [...lines.map(lineEntry), ...calls].sort((one, other) => one.at - other.at)
    for (const entry of entries) printEntry(out, named(name, entry))
    const leftOut = page.missed + Math.max(0, page.lines.length - LINES_SHOWN)
    if (leftOut > 0) this.#say(`${leftOut} lines left out: the plugin writes more than a terminal can show.`)
  }

  async #newCalls(): Promise<Entry[]> {
    const all = await this.#readCalls()
    const isNew = ({ callId }: Call) => !this.#calls.has(callId)
    const made = all.filter(({ method }) => method !== PICTURE_METHOD)
    const isGap = made.length >= CALLS_KEPT && made.every(isNew)
    const shown = all.filter((call) => isNew(call) && isAtLeast(levelOf(call), this.#options.level)).reverse()
    this.#calls = new Set(all.map(({ callId }) => callId))
    const readsResults = shown.length <= RESULTS_READ
    const entries = await Promise.all(shown.map(async (call) => callEntry(call, readsResults ? await this.#readResult(call) : undefined)))
    if (isGap) this.#say(`Calls left out: the server keeps the last ${CALLS_KEPT}, and all of them are new.`)
    return entries
  }

  #say(text: string): void {
    const { out, name } = this.#options
    printMessage(out, ['yellow', '!'], name === null ? text : `${name}: ${text}`)
  }

  async #readCalls(): Promise<Call[]> {
    return (await this.#get<{ calls: Call[] }>('/calls', 'calls')).calls
  }

  /** Undefined when there is none, and when the server no longer keeps the call. */
  async #readResult({ callId, code, method }: Call): Promise<unknown> {
    if (code !== 'ok' || method === PICTURE_METHOD) return undefined
    return await this.#get<{ result: unknown }>(`/calls/${callId}`, 'result').then(
      ({ result }) => result,
      () => undefined,
    )
  }
}

const named = (name: string | null, entry: Entry): Entry => (name === null ? entry : { ...entry, text: `${name}: ${entry.text}` })

/** A failed picture is one of many, and says less about the plugin's code than a failed call. */
function levelOf({ method, code, message }: Call): LogLevel {
  if (method === PICTURE_METHOD) return code === 'ok' ? 'debug' : 'warn'
  if (code !== 'ok') return 'error'
  return message === null ? 'info' : 'warn'
}

/** The line in which the server says that a call failed, which is shown as the call itself; a warning when the plugin is not to blame. */
const isOfFailure = ({ level, method, message }: Line): boolean => isAtLeast(level, 'warn') && message.startsWith(`${method} failed (`)

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
