import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { findHolder } from '#core/embedded/data-folder.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { redirectProblem } from '#core/foundation/redirect-problem.ts'
import { escapedText, messageLines } from '#core/foundation/stranger-text.ts'

const LINES_DEFAULT = 50
/** The largest number that the server returns at once. */
const LINES_MAX = 500
/** The server sends something every 15 s; after this time without data the connection is dead. */
const SILENCE_MS_MAX = 60_000
/** First pause before reconnecting; doubles with each failure. */
const AGAIN_MS = 1_000
const AGAIN_MS_MAX = 30_000
/** For answers other than the stream. */
const ANSWER_MS_MAX = 15_000
/** A log line has at most 2 KB; a longer event is not from a Carrel server. */
const EVENT_LENGTH_MAX = 1_000_000

const NO_LINES = 'The server did not send log lines. Check that it is a Carrel server of this version.'

interface Line {
  id: number
  at: string
  level: string
  message: string
  data: string | null
  method: string | null
}

/** A client of the API of a running server. */
interface Remote {
  /** @throws CommandProblem with the error of the server, or if it cannot be reached */
  get(address: string, options?: { headers?: Record<string, string>; signal?: AbortSignal }): Promise<Response>
}

/** The server cannot be reached; worth a retry if it could be reached before. */
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
  throw new CommandProblem('The running server requires an API key of an administrator. Give it with --key-file or --key.')
}

async function openRemote(input: CommandInput): Promise<Remote> {
  const { flag, settings, stop } = input
  const running = flag('server') === undefined ? await findHolder(settings.dataFolder) : null
  const port = running?.purpose === 'server' && running.port ? running.port : settings.port
  const given = flag('server') ?? `http://127.0.0.1:${port}`
  const server = URL.canParse(given) ? new URL(given.endsWith('/') ? given : `${given}/`) : null
  if (server === null || !/^https?:$/.test(server.protocol))
    throw new CommandProblem(`--server must be an address such as https://books.example.org, not "${given}".`)
  const key = await readKey(input)
  return {
    async get(address, { headers, signal = AbortSignal.timeout(ANSWER_MS_MAX) } = {}) {
      const asked = new URL(`api/v1${address}`, server)
      const answer = await fetch(asked, {
        headers: { authorization: `Bearer ${key}`, ...headers },
        // A redirect must not send the key to another server.
        redirect: 'manual',
        signal: AbortSignal.any([signal, stop]),
      }).catch((cause: unknown) => {
        stop.throwIfAborted()
        throw new Unreachable(
          `${server.origin} does not answer. Check that the server is running there, or give another address with --server.`,
          { cause },
        )
      })
      if (answer.ok) return answer
      if (answer.status >= 300 && answer.status < 400)
        throw new CommandProblem(messageLines(redirectProblem(asked, answer.headers.get('location'))).join('\n'))
      const { message } = (await answer.json().catch(() => ({}))) as { message?: unknown }
      const text = `${server.origin} answers ${answer.status}${typeof message === 'string' ? `: ${escapedText(message)}` : '.'}`
      const problem = messageLines(text).join('\n')
      // The server is stopping, starting or overloaded.
      throw answer.status === 429 || answer.status >= 500 ? new Unreachable(problem) : new CommandProblem(problem)
    },
  }
}

/** Reads a list from an answer. @throws CommandProblem if there is none */
async function readList(response: Response, name: string): Promise<{ list: unknown[]; answer: Record<string, unknown> }> {
  const answer = readJson(await response.text()) as Record<string, unknown> | null
  const list = answer?.[name]
  if (!Array.isArray(list)) throw new CommandProblem(NO_LINES)
  return { list, answer: answer as Record<string, unknown> }
}

/** Finds the id of a plugin by its name or id. @throws CommandProblem if there is none */
async function findPluginId(remote: Remote, word: string): Promise<string> {
  const plugins = (await readList(await remote.get('/admin/plugins'), 'plugins')).list as { id: string; name: string }[]
  const found = plugins.find(({ id, name }) => name === word || id === word)
  if (found) return found.id
  const names = plugins.map(({ name }) => name)
  throw new CommandProblem(`There is no plugin "${escapedText(word)}" on that server.${didYouMean(word, names)}`)
}

/** @throws CommandProblem if the value is not a line */
function readLine(value: unknown): Line {
  const { id, at, level, message, data, method } = (value ?? {}) as Record<string, unknown>
  const isText = (one: unknown): one is string => typeof one === 'string'
  if (typeof id !== 'number' || !isText(at) || !isText(level) || !isText(message)) throw new CommandProblem(NO_LINES)
  return { id, at, level, message, data: isText(data) ? data : null, method: isText(method) ? method : null }
}

/** Formats a line for the terminal; escapes control codes, whatever the server let through. */
export function describeLine({ at, level, method, message, data }: Line): string {
  const text = [message, ...(data === null ? [] : [data])].join(' ')
  return escapedText(`${at} ${level.padEnd(5)} ${method === null ? '' : `${method}: `}${text}`)
}

/**
 * The data of server-sent events, as JSON (HTML standard, 9.2).
 * @throws CommandProblem if the response is not an event stream
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

/** Prints new lines until the process should end; reconnects a lost connection at the last line. */
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
      for await (const event of readEvents(withActivity(body ?? [], () => timer.refresh()))) {
        const line = readLine(event)
        out.message(describeLine(line))
        after = line.id
      }
    } catch (error) {
      if (stop.aborted) return
      // A broken stream is not a CommandProblem.
      if (error instanceof CommandProblem && !(error instanceof Unreachable)) throw error
      out.line(`The connection was lost; reconnecting in ${Math.round(againMs / 1000)} s.`)
      pauseMs = againMs
      againMs = Math.min(againMs * 2, AGAIN_MS_MAX)
    } finally {
      clearTimeout(timer)
    }
    // The server ends each stream after a while, to authorize the client again.
    await sleep(pauseMs, undefined, { signal: stop }).catch(() => {})
  }
}

async function* withActivity(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, note: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    note()
    yield chunk
  }
}

function readCount(text: string | undefined): number {
  const count = text === undefined ? LINES_DEFAULT : /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > LINES_MAX) throw new CommandProblem(`--lines must be a number from 1 to ${LINES_MAX}, not "${text}".`)
  return count
}

export const pluginLogs: Command = {
  name: 'plugin logs',
  usage: '<name>',
  summary: 'shows the log of a plugin on a running server',
  about: `Shows the last log lines of a plugin. They are in the memory of the running server, so the command fetches them over HTTP with an API key of an administrator.`,
  flags: [
    { name: 'follow', isSwitch: true, about: 'Keeps printing new lines until Ctrl-C.' },
    { name: 'lines', value: 'number', about: `Number of lines. Default: ${LINES_DEFAULT}.` },
    { name: 'level', value: 'debug|info|warn|error', about: 'Lowest level to show. Default: debug.' },
    {
      name: 'server',
      value: 'url',
      about:
        'Address of the server. Default: this machine, with the port of the server that uses the data folder, else that from the settings.',
    },
    { name: 'key-file', value: 'file', about: 'File whose first line is the API key.' },
    { name: 'key', value: 'key', about: 'The API key itself; other users of this machine can see it.' },
  ],
  async run(input) {
    const { words, flag, out } = input
    const limit = readCount(flag('lines'))
    const level = flag('level') ?? 'debug'
    if (!['debug', 'info', 'warn', 'error'].includes(level))
      throw new CommandProblem(`--level must be debug, info, warn or error, not "${level}".`)
    const remote = await openRemote(input)
    const logs = `/admin/plugins/${await findPluginId(remote, words[0] as string)}/logs`
    const answer = await remote.get(`${logs}?limit=${limit}&level=${level}`)
    const { list: lines, answer: page } = await readList(answer, 'lines')
    for (const line of lines) out.message(describeLine(readLine(line)))
    const follows = flag('follow') === 'true'
    if (lines.length === 0 && !follows) out.line('The plugin has written no log lines since the server started.')
    // Without any line, none was missed.
    if (follows) await follow(remote, `${logs}/live?level=${level}`, input, typeof page['lastId'] === 'number' ? page['lastId'] : 0)
    return 0
  },
}
