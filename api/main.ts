import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Command, CommandProblem } from '#api/cli/command.ts'
import { commands, findCommand, isPath } from '#api/cli/commands.ts'
import { renderCommandHelp, renderOverview } from '#api/cli/help.ts'
import { newLogger } from '#api/cli/logger.ts'
import { outageOf, quieten, type StoragePlace } from '#api/cli/quiet-log.ts'
import { Terminal } from '#api/cli/terminal.ts'
import { explainTaken, typed } from '#api/cli/typed.ts'
import { NAME, VERSION } from '#api/http/version.ts'
import { StartProblem } from '#core/database/start-problem.ts'
import { FolderInUse } from '#core/embedded/data-folder.ts'
import { AppError } from '#core/foundation/errors.ts'
import { QUIT_AT_ONCE, receiveStopSignal } from '#core/foundation/stop-signal.ts'
import { escapedLines } from '#core/foundation/stranger-text.ts'
import { splitFlags, wordLimits } from '#core/settings/command-line.ts'
import { readSettings, SettingsRefused, settingFlags } from '#core/settings/read-settings.ts'
import type { Settings } from '#core/settings/settings.ts'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const stop = receiveStopSignal()
/** Names places in error messages, once the settings are read. */
let place: StoragePlace | null = null

// At this signal Node opens its inspector, unless it was started with the launcher's --disable-sigusr1.
process.on('SIGUSR1', () => {})
// A closed terminal or pipe accepts no more output; the process continues.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

/** npm runs the process in the folder of the package instead of the user's folder. */
function findUserFolder(): string {
  const initial = process.env['INIT_CWD']
  return initial && process.env['npm_lifecycle_event'] && process.cwd() === root ? initial : process.cwd()
}

function prepare(command: Command, argv: readonly string[]): { settings: Settings; words: string[]; values: Map<string, string[]> } {
  const own = new Set(command.flags.map((flag) => flag.name))
  const split = splitFlags(argv, [...command.flags, ...settingFlags()])
  const problems = [...split.problems]
  const words = split.words
  const [wordsMin, wordsMax] = wordLimits(command)
  if (words.length > wordsMax)
    problems.push(`Unexpected argument "${words[wordsMax]}". Usage: ${typed(`${command.name} ${command.usage}`)}`.trim())
  // After flags, a command name is not recognized.
  const lost = command.name === 'serve' ? words.find((word) => !isPath(word)) : undefined
  if (lost !== undefined)
    problems.push(`"${lost}" is neither a flag nor a folder. Give commands first, and folders as --library ${lost} or ./${lost}`)
  if (words.length < wordsMin) problems.push(`An argument is missing. Usage: ${typed(`${command.name} ${command.usage}`)}`)
  const rest = [...split.values].filter(([name]) => !own.has(name)).flatMap(([name, values]) => values.map((value) => `--${name}=${value}`))
  try {
    const settings = readSettings({ argv: rest, env: process.env, cwd: findUserFolder(), defaultsFrom: process.cwd() })
    if (problems.length === 0) return { settings, words, values: split.values }
  } catch (error) {
    if (!(error instanceof SettingsRefused)) throw error
    problems.push(...error.problems)
  }
  throw new SettingsRefused(problems)
}

async function run(argv: readonly string[]): Promise<number> {
  const out = new Terminal(process.stdout)
  if (argv[0] === '--version' || argv[0] === 'version') {
    out.line(`${NAME} ${VERSION}`)
    return 0
  }
  const flags = [...settingFlags(), ...commands.flatMap((each) => each.flags)]
  const taken = explainTaken(argv, flags, process.env)
  if (taken) throw new CommandProblem(taken)
  const { command, rest, asksHelp } = findCommand(argv)
  if (asksHelp) {
    out.line(command ? renderCommandHelp(command) : renderOverview(commands))
    return 0
  }
  const { settings, words, values } = prepare(command!, rest)
  // The log is the output of the server; a command prints its result and sends the log elsewhere.
  const serves = command!.name === 'serve'
  const writeLog = newLogger(
    serves ? settings.log : { ...settings.log, level: settings.log.level === 'info' ? 'warn' : settings.log.level },
    (line) => (serves ? out.write(line) : process.stderr.write(line)),
  )
  place = settings
  const log = quieten(writeLog, settings)
  return await command!.run({
    settings,
    words,
    flag: (name) => values.get(name)?.at(-1),
    env: process.env,
    cwd: findUserFolder(),
    out,
    log,
    stop,
  })
}

try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  // The command was interrupted while it waited.
  const interrupted = stop.aborted && (error as Error).name === 'AbortError'
  // Expected errors print one sentence; anything else is a bug and prints its stack.
  const expected =
    error instanceof CommandProblem ||
    error instanceof SettingsRefused ||
    error instanceof StartProblem ||
    error instanceof FolderInUse ||
    error instanceof AppError
  if (!interrupted) process.stderr.write(`${escapedLines(expected ? (error as Error).message : describeUnexpected(error))}\n`)
  process.exitCode = interrupted ? QUIT_AT_ONCE : 1
}
// Everything is closed; what a library may have left open must not keep the process alive.
setTimeout(() => process.exit(), 2_000).unref()

function describeUnexpected(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const outage = place && outageOf(error, '', place)
  if (outage) return outage.message
  return `${error.message}\n\nIf this message does not help, run: ${typed('doctor')}\n${error.stack ?? ''}`
}
