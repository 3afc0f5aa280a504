import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { printable } from '#api/cli/library-report.ts'
import { escapeControls } from '#api/cli/terminal.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'

const LINES_DEFAULT = 50
/** What the server gives at once. */
const LINES_MAX = 500
/** The server says something every 15 s; after this long without a word the connection is dead. */
const SILENCE_MS_MAX = 60_000
/** Before a lost connection is opened again; longer each time that it fails. */
const AGAIN_MS = 1_000
const AGAIN_MS_MAX = 30_000
/** An answer other than the stream. */
const ANSWER_MS_MAX = 15_000
/** A line of a log has 2 KB; a server that sends lines without an end is none of ours. */
const EVENT_LENGTH_MAX = 1_000_000

const NO_LINES = 'The server sends something else than lines of a log. Is it a Carrel server, and of this version?'

interface Line {
  id: number
  at: string
  level: string
  message: string
  data: string | null
  method: string | null
}

/** A running server as its API shows it. */
interface Remote {
  /** @throws CommandProblem what it refused, or that it could not be reached */
  get(address: string, options?: { headers?: Record<string, string>; signal?: AbortSignal }): Promise<Response>
}

/** The server could not be reached: worth another try where it could be before. */
class Unreachable extends CommandProblem {}

async function readKey({ flag, cwd }: Pick<CommandInput, 'flag' | 'cwd'>): Promise<string> {
  const name = flag('key-file')
  const file = name === undefined ? null : path.resolve(cwd, name)
  const text =
    file === null
      ? undefined
      : await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
          throw new CommandProblem(`${file} cannot be read (${cause.code}).`, { cause })
        })
  const key = flag('key') ?? text?.split(/\r?\n/, 1)[0]
  if (key && /^[\x21-\x7e]{1,4096}$/.test(key)) return key
  throw new CommandProblem('The running server wants to know who asks: give an API key of an administrator, with --key-file or --key.')
}

async function openRemote(input: CommandInput): Promise<Remote> {
  const { flag, settings, stop } = input
  const given = flag('server') ?? `http://127.0.0.1:${settings.port}`
  const server = URL.canParse(given) ? new URL(given.endsWith('/') ? given : `${given}/`) : null
  if (server === null || !/^https?:$/.test(server.protocol))
    throw new CommandProblem(`--server is an address such as https://books.example.org, not "${given}".`)
  const key = await readKey(input)
  return {
    async get(address, { headers, signal = AbortSignal.timeout(ANSWER_MS_MAX) } = {}) {
      const answer = await fetch(new URL(`api/v1${address}`, server), {
        headers: { authorization: `Bearer ${key}`, ...headers },
        // The key is for this server and for no other that it might name.
        redirect: 'error',
        signal: AbortSignal.any([signal, stop]),
      }).catch((cause: unknown) => {
        stop.throwIfAborted()
        throw new Unreachable(`${server.origin} does not answer. Is the server running there? Name another with --server.`, { cause })
      })
      if (answer.ok) return answer
      const { message } = (await answer.json().catch(() => ({}))) as { message?: unknown }
      const said = `${server.origin} answers ${answer.status}${typeof message === 'string' ? `: ${printable(message)}` : '.'}`
      // It stops, starts, or has too much to do.
      throw answer.status === 429 || answer.status >= 500 ? new Unreachable(said) : new CommandProblem(said)
    },
  }
}

/** An answer with a list in it. @throws CommandProblem when it is another */
async function readList(response: Response, name: string): Promise<{ list: unknown[]; answer: Record<string, unknown> }> {
  const answer = readJson(await response.text()) as Record<string, unknown> | null
  const list = answer?.[name]
  if (!Array.isArray(list)) throw new CommandProblem(NO_LINES)
  return { list, answer: answer as Record<string, unknown> }
}

/** The id of the plugin that a person means by its name or id. @throws CommandProblem when there is none */
async function findPluginId(remote: Remote, word: string): Promise<string> {
  const plugins = (await readList(await remote.get('/admin/plugins'), 'plugins')).list as { id: string; name: string }[]
  const found = plugins.find(({ id, name }) => name === word || id === word)
  if (found) return found.id
  const names = plugins.map(({ name }) => name)
  throw new CommandProblem(`There is no plugin "${printable(word)}" on that server.${didYouMean(word, names)}`)
}

/** @throws CommandProblem when it is none */
function readLine(value: unknown): Line {
  const { id, at, level, message, data, method } = (value ?? {}) as Record<string, unknown>
  const isText = (one: unknown): one is string => typeof one === 'string'
  if (typeof id !== 'number' || !isText(at) || !isText(level) || !isText(message)) throw new CommandProblem(NO_LINES)
  return { id, at, level, message, data: isText(data) ? data : null, method: isText(method) ? method : null }
}

/** A line as it is printed; what plugins write must not steer the terminal, whatever the server let through. */
export function describeLine({ at, level, method, message, data }: Line): string {
  const text = [message, ...(data === null ? [] : [data])].join(' ')
  return escapeControls(`${at} ${level.padEnd(5)} ${method === null ? '' : `${method}: `}${text}`)
}

/**
 * The data of server-sent events, as JSON (HTML standard, 9.2).
 * @throws CommandProblem when what comes is no stream of events
 */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder()
  let rest = ''
  let data: string[] = []
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true })
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
      if (line !== '' || data.length === 0) continue
      yield readJson(data.join('\n'))
      data = []
    }
    if (rest.length + data.join('').length > EVENT_LENGTH_MAX) throw new CommandProblem(NO_LINES)
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new CommandProblem(NO_LINES, { cause })
  }
}

/** Prints lines as they come until the process is asked to end; a connection that is lost is opened again where it was. */
async function follow(remote: Remote, address: string, input: CommandInput, from: number): Promise<void> {
  const { out, stop } = input
  let after = from
  let againMs = AGAIN_MS
  while (!stop.aborted) {
    let pauseMs = AGAIN_MS
    const silent = new AbortController()
    const timer = setTimeout(() => silent.abort(), SILENCE_MS_MAX)
    try {
      const { body } = await remote.get(`${address}&after=${after}`, { signal: silent.signal })
      againMs = AGAIN_MS
      for await (const event of readEvents(heard(body ?? [], () => timer.refresh()))) {
        const line = readLine(event)
        out.line(describeLine(line))
        after = line.id
      }
    } catch (error) {
      if (stop.aborted) return
      // A stream that breaks off is no CommandProblem.
      if (error instanceof CommandProblem && !(error instanceof Unreachable)) throw error
      out.line(`The connection is lost; trying again in ${Math.round(againMs / 1000)} s.`)
      pauseMs = againMs
      againMs = Math.min(againMs * 2, AGAIN_MS_MAX)
    } finally {
      clearTimeout(timer)
    }
    // A server ends each stream some time, to look anew at who listens.
    await sleep(pauseMs, undefined, { signal: stop }).catch(() => {})
  }
}

async function* heard(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, note: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    note()
    yield chunk
  }
}

function readCount(text: string | undefined): number {
  const count = text === undefined ? LINES_DEFAULT : /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > LINES_MAX) throw new CommandProblem(`--lines is a number from 1 to ${LINES_MAX}, not "${text}".`)
  return count
}

export const pluginLogs: Command = {
  name: 'plugin logs',
  usage: '<name>',
  summary: 'shows the log of a plugin on a running server',
  about: `Shows the last log lines of a plugin. They are in the memory of the running server: the command fetches them over HTTP, with an API key of an administrator.`,
  flags: [
    { name: 'follow', isSwitch: true, repeatable: false, about: 'Keeps printing new lines until Ctrl-C.' },
    { name: 'lines', value: 'number', isSwitch: false, repeatable: false, about: `Number of lines. Default: ${LINES_DEFAULT}.` },
    {
      name: 'level',
      value: 'debug|info|warn|error',
      isSwitch: false,
      repeatable: false,
      about: 'Lowest level to show. Default: debug.',
    },
    {
      name: 'server',
      value: 'url',
      isSwitch: false,
      repeatable: false,
      about: 'Address of the server. Default: this machine, with the port from the settings.',
    },
    { name: 'key-file', value: 'file', isSwitch: false, repeatable: false, about: 'File whose first line is the API key.' },
    { name: 'key', value: 'key', isSwitch: false, repeatable: false, about: 'The API key itself; other users of this machine can see it.' },
  ],
  wordsMin: 1,
  wordsMax: 1,
  async run(input) {
    const { words, flag, out } = input
    const limit = readCount(flag('lines'))
    const level = flag('level') ?? 'debug'
    if (!['debug', 'info', 'warn', 'error'].includes(level))
      throw new CommandProblem(`--level is debug, info, warn or error, not "${level}".`)
    const remote = await openRemote(input)
    const logs = `/admin/plugins/${await findPluginId(remote, words[0] as string)}/logs`
    const answer = await remote.get(`${logs}?limit=${limit}&level=${level}`)
    const { list: lines, answer: page } = await readList(answer, 'lines')
    for (const line of lines) out.line(describeLine(readLine(line)))
    const follows = flag('follow') === 'true'
    if (lines.length === 0 && !follows) out.line('It has written nothing since the server started.')
    // Before the first line there is none that could be missed.
    if (follows) await follow(remote, `${logs}/live?level=${level}`, input, typeof page['lastId'] === 'number' ? page['lastId'] : 0)
    return 0
  },
}
