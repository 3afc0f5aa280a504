import path from 'node:path'
import { AppError } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { messageLines } from '#core/foundation/stranger-text.ts'
import { splitFlags, wordLimits } from '#core/settings/command-line.ts'
import { type Out, type ReadLine, type ToolCommand, ToolProblem } from './command.ts'
import { FOLDER, getCommand, renderHelp, renderToolOverview, toolCommands } from './commands.ts'
import packageJson from './package/package.json' with { type: 'json' }
import { typedTool } from './typed.ts'

/** The environment of a command. */
interface CommandEnvironment {
  cwd: string
  out: Out
  /** Prints an error message, one or more whole lines. */
  printError(text: string): void
  stop: AbortSignal
  /** By default nobody can be asked. */
  readLine?: ReadLine | null
}

/** Runs a command line. Prints an error that the user can fix as a sentence. Returns the exit code. */
export async function runCommandLine(argv: readonly string[], environment: CommandEnvironment): Promise<number> {
  try {
    return await run(argv, environment)
  } catch (error) {
    // Any other error is a bug: print its stack.
    const isExpected = error instanceof ToolProblem || error instanceof AppError
    const text = isExpected ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)
    environment.printError(messageLines(text).join('\n'))
    return 1
  }
}

async function run(argv: readonly string[], environment: CommandEnvironment): Promise<number> {
  const { out } = environment
  const [name, ...rest] = argv
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    out.line(name === 'help' && rest[0] !== undefined ? renderHelp(getCommand(rest[0])) : renderToolOverview(packageJson.version))
    return 0
  }
  if (name === '--version') {
    out.line(packageJson.version)
    return 0
  }
  if (name.startsWith('-')) throw new ToolProblem(`The command comes first: ${typedTool(`${toolCommands[0]?.name} ${name}`)}`)
  const command = getCommand(name)
  if (rest.includes('--help') || rest.includes('-h')) {
    out.line(renderHelp(command))
    return 0
  }
  return await start(command, rest, environment)
}

async function start(
  command: ToolCommand,
  argv: readonly string[],
  { cwd, out, printError, stop, readLine = null }: CommandEnvironment,
): Promise<number> {
  const { values, words, problems } = splitFlags(argv, [...command.flags, FOLDER])
  const [wordsMin, wordsMax] = wordLimits(command)
  if (words.length > wordsMax) problems.push(`Unexpected argument "${words[wordsMax]}".`)
  if (words.length < wordsMin) problems.push(`An argument is missing. Usage: ${typedTool(`${command.name} ${command.usage}`)}`)
  if (problems.length > 0) throw new ToolProblem([...problems, `More: ${typedTool(`${command.name} --help`)}`].join('\n'))
  const print = (_fields: object, message: string) => printError(messageLines(message).join('\n'))
  /** The log of the sandbox itself; each command shows the log lines of plugins in its own way. */
  const log: Log = { debug() {}, info() {}, warn: print, error: print }
  return await command.run({
    cwd,
    folder: path.resolve(cwd, values.get(FOLDER.name)?.at(-1) ?? '.'),
    words,
    flag: (name) => values.get(name)?.at(-1),
    all: (name) => values.get(name) ?? [],
    isOn: (name) => values.get(name)?.at(-1) === 'true',
    out,
    readLine,
    log,
    stop,
  })
}
