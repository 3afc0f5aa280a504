import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { ReadStream } from 'node:tty'
import { CommandProblem } from '#api/cli/command.ts'
import { absolutePath } from '#core/settings/setting-table.ts'

/** A longer first line is surely not a password, but a file piped in by mistake. */
const PASSWORD_BYTES_MAX = 4096

/**
 * A password from the file that is named, from a pipe, or typed twice without showing. Never from a flag: a command line is
 * seen by everybody on the machine and kept in the shell's history.
 */
export async function askPassword(ask: { file: string | undefined; cwd: string; stop: AbortSignal }): Promise<string> {
  if (ask.file !== undefined) {
    const file = absolutePath(ask.file, ask.cwd)
    const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
      throw new CommandProblem(`--password-file ${file} cannot be read (${cause.code}).`, { cause })
    })
    return text.replace(/\r?\n$/, '')
  }
  if (!process.stdin.isTTY) return await readFirstLine(process.stdin)
  const first = await askHidden('Password: ', ask.stop)
  if ((await askHidden('Once more: ', ask.stop)) !== first) throw new CommandProblem('The two passwords differ. Try again.')
  return first
}

async function readFirstLine(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += chunk.toString()
    if (text.includes('\n') || Buffer.byteLength(text) > PASSWORD_BYTES_MAX) break
  }
  const line = text.split(/\r?\n/)[0]!
  if (line === '') throw new CommandProblem('A password is needed: type it at a terminal, pipe it in, or name a file with --password-file.')
  if (Buffer.byteLength(line) > PASSWORD_BYTES_MAX) throw new CommandProblem('What is piped in is too long for a password.')
  return line
}

async function askHidden(question: string, stop: AbortSignal): Promise<string> {
  process.stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin as ReadStream, output: nowhere, terminal: true })
  // Readline takes Ctrl-C for itself in this mode.
  const interrupted = new AbortController()
  lines.once('SIGINT', () => interrupted.abort())
  lines.once('close', () => interrupted.abort())
  try {
    return await lines.question('', { signal: AbortSignal.any([stop, interrupted.signal]) })
  } catch (cause) {
    throw new CommandProblem('No password was given.', { cause })
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
