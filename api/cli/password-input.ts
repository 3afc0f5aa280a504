import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { ReadStream } from 'node:tty'
import { CommandProblem } from '#api/cli/command.ts'
import { absolutePath } from '#core/settings/setting-table.ts'

/** A longer first line is not a password, but a wrong file. */
const PASSWORD_BYTES_MAX = 4096
/** More than any field of credentials may have. */
const SECRET_LENGTH_MAX = 20_000

/**
 * Reads a password from the given file, from a pipe, or from a hidden prompt with confirmation. There is no flag for it: all users of the
 * machine can see a command line, and shells store it in their history.
 */
export async function readPasswordInput(options: { file: string | undefined; cwd: string; stop: AbortSignal }): Promise<string> {
  if (options.file !== undefined) {
    const file = absolutePath(options.file, options.cwd)
    const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
      throw new CommandProblem(`--password-file ${file} cannot be read (${cause.code}).`, { cause })
    })
    return text.replace(/\r?\n$/, '')
  }
  if (!process.stdin.isTTY) return await readFirstLine(process.stdin)
  const first = await promptHidden('Password: ', options.stop)
  if ((await promptHidden('Once more: ', options.stop)) !== first) throw new CommandProblem('The passwords differ. Try again.')
  return first
}

/**
 * Reads one secret for each name: from hidden prompts, or from the lines of a pipe. A secret may be empty.
 * @throws CommandProblem when the input ends before
 */
export async function readSecretLines(names: readonly string[], stop: AbortSignal): Promise<Record<string, string>> {
  const given: Record<string, string> = {}
  if (process.stdin.isTTY) {
    for (const name of names) given[name] = await promptHidden(`${name}: `, stop)
    return given
  }
  let text = ''
  for await (const chunk of process.stdin) {
    text += chunk.toString()
    if (text.length > names.length * SECRET_LENGTH_MAX) throw new CommandProblem('The input is too long for credentials.')
  }
  const lines = text.split(/\r?\n/)
  if (text === '') throw new CommandProblem(`Nothing was entered. Type ${names.join(', ')} at a terminal, or pipe in one line for each.`)
  for (const [at, name] of names.entries()) given[name] = lines[at] ?? ''
  return given
}

async function readFirstLine(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += chunk.toString()
    if (text.includes('\n') || Buffer.byteLength(text) > PASSWORD_BYTES_MAX) break
  }
  const line = text.split(/\r?\n/)[0]!
  if (line === '') throw new CommandProblem('There is no password. Type it at a terminal, pipe it in, or give a file with --password-file.')
  if (Buffer.byteLength(line) > PASSWORD_BYTES_MAX) throw new CommandProblem('The first line of the input is too long for a password.')
  return line
}

async function promptHidden(question: string, stop: AbortSignal): Promise<string> {
  process.stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin as ReadStream, output: nowhere, terminal: true })
  // Readline handles Ctrl-C itself in this mode.
  const interrupted = new AbortController()
  lines.once('SIGINT', () => interrupted.abort())
  lines.once('close', () => interrupted.abort())
  try {
    return await lines.question('', { signal: AbortSignal.any([stop, interrupted.signal]) })
  } catch (cause) {
    throw new CommandProblem('Nothing was entered.', { cause })
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
