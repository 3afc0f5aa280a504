import path from 'node:path'
import { CarrelError } from '#core/errors.ts'
import type { Log } from '#core/log.ts'
import { splitFlags } from '#core/setting/split-flags.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { type Command, openOut, printable, ToolProblem } from './command.ts'
import { commands, FOLDER, getCommand, renderHelp, renderOverview } from './commands.ts'

/** 128 + SIGINT, as shells say it. */
const QUIT_AT_ONCE = 130
/** One Ctrl-C may arrive several times, from the terminal, from npm and from the launcher. */
const SAME_SIGNAL_MS = 700

const stop = new AbortController()
let stoppedAt = 0
function askToStop(): void {
  const now = Date.now()
  if (stoppedAt === 0) {
    stoppedAt = now
    stop.abort()
  } else if (now - stoppedAt > SAME_SIGNAL_MS) process.exit(QUIT_AT_ONCE)
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, askToStop)
// The launcher was killed outright: nobody would ever stop us.
process.on('disconnect', askToStop)
process.channel?.unref()

const out = openOut(process.stdout)
const trouble = (_fields: object, message: string) => void process.stderr.write(`${printable(message)}\n`)
/** Of the sandbox itself; what plugins say goes where each command shows it. */
const log: Log = { debug() {}, info() {}, warn: trouble, error: trouble }

async function run(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    out.line(name === 'help' && rest[0] !== undefined ? renderHelp(getCommand(rest[0])) : renderOverview(packageJson.version))
    return 0
  }
  if (name === '--version') {
    out.line(packageJson.version)
    return 0
  }
  if (name.startsWith('-')) throw new ToolProblem(`The command comes first: carrel-plugin ${commands[0]?.name} ${name}`)
  const command = getCommand(name)
  if (rest.includes('--help') || rest.includes('-h')) {
    out.line(renderHelp(command))
    return 0
  }
  return await start(command, rest)
}

async function start(command: Command, argv: readonly string[]): Promise<number> {
  const { values, words, mistakes } = splitFlags(argv, [...command.flags, FOLDER])
  if (words.length > command.wordsMax) mistakes.push(`"${words[command.wordsMax]}" is too much.`)
  if (words.length < command.wordsMin) mistakes.push(`Something is missing: it is carrel-plugin ${command.name} ${command.usage}`)
  if (mistakes.length > 0) throw new ToolProblem([...mistakes, `More: carrel-plugin ${command.name} --help`].join('\n'))
  return await command.run({
    folder: path.resolve(values.get(FOLDER.name)?.at(-1) ?? '.'),
    words,
    flag: (name) => values.get(name)?.at(-1),
    all: (name) => values.get(name) ?? [],
    isOn: (name) => values.get(name)?.at(-1) === 'true',
    out,
    log,
    stop: stop.signal,
  })
}

// Runners keep nobody waiting for them; until the command has its answer, this does.
const alive = setInterval(() => {}, 60_000)
try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  // What a person can mend is said in a sentence; the rest is a bug and shows where it is.
  const isExpected = error instanceof ToolProblem || error instanceof CarrelError
  process.stderr.write(
    `${printable(isExpected ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error))}\n`,
  )
  process.exitCode = 1
}
clearInterval(alive)
// Everything was closed; what a library may have left open must not keep us.
setTimeout(() => process.exit(), 2_000).unref()
