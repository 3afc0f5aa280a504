import path from 'node:path'
import { AppError } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { splitFlags } from '#core/settings/command-line.ts'
import { type Command, type Out, printable, ToolProblem } from './command.ts'
import { commands, FOLDER, getCommand, renderHelp, renderOverview } from './commands.ts'
import packageJson from './package/package.json' with { type: 'json' }
import { typed } from './typed.ts'

/** Where and for whom a command runs. */
interface Surroundings {
  cwd: string
  out: Out
  /** Whole lines about what went wrong. */
  complain(text: string): void
  stop: AbortSignal
}

/** Runs what stands on a command line, and tells what a person can mend in a sentence. Answers the exit code. */
export async function runCommandLine(argv: readonly string[], around: Surroundings): Promise<number> {
  try {
    return await run(argv, around)
  } catch (error) {
    // The rest is a bug and shows where it is.
    const isExpected = error instanceof ToolProblem || error instanceof AppError
    around.complain(printable(isExpected ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)))
    return 1
  }
}

async function run(argv: readonly string[], around: Surroundings): Promise<number> {
  const { out } = around
  const [name, ...rest] = argv
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    out.line(name === 'help' && rest[0] !== undefined ? renderHelp(getCommand(rest[0])) : renderOverview(packageJson.version))
    return 0
  }
  if (name === '--version') {
    out.line(packageJson.version)
    return 0
  }
  if (name.startsWith('-')) throw new ToolProblem(`The command comes first: ${typed(`${commands[0]?.name} ${name}`)}`)
  const command = getCommand(name)
  if (rest.includes('--help') || rest.includes('-h')) {
    out.line(renderHelp(command))
    return 0
  }
  return await start(command, rest, around)
}

async function start(command: Command, argv: readonly string[], { cwd, out, complain, stop }: Surroundings): Promise<number> {
  const { values, words, problems } = splitFlags(argv, [...command.flags, FOLDER])
  if (words.length > command.wordsMax) problems.push(`"${words[command.wordsMax]}" is too much.`)
  if (words.length < command.wordsMin) problems.push(`An argument is missing. Usage: ${typed(`${command.name} ${command.usage}`)}`)
  if (problems.length > 0) throw new ToolProblem([...problems, `More: ${typed(`${command.name} --help`)}`].join('\n'))
  const trouble = (_fields: object, message: string) => complain(printable(message))
  /** Of the sandbox itself; what plugins say goes where each command shows it. */
  const log: Log = { debug() {}, info() {}, warn: trouble, error: trouble }
  return await command.run({
    cwd,
    folder: path.resolve(cwd, values.get(FOLDER.name)?.at(-1) ?? '.'),
    words,
    flag: (name) => values.get(name)?.at(-1),
    all: (name) => values.get(name) ?? [],
    isOn: (name) => values.get(name)?.at(-1) === 'true',
    out,
    log,
    stop,
  })
}
