import { CommandProblem } from '#api/cli/command.ts'
import { findCommand } from '#api/cli/commands.ts'
import { Terminal } from '#api/cli/terminal.ts'
import { StartProblem } from '#core/database/start-problem.ts'
import { FolderInUse } from '#core/embedded/data-folder.ts'
import { AppError } from '#core/foundation/errors.ts'
import { silentLog } from '#core/foundation/log.ts'
import { splitFlags, wordLimits } from '#core/settings/command-line.ts'
import { readSettings, SettingsRefused, settingFlags } from '#core/settings/read-settings.ts'

/** Errors that api/main.ts prints as a sentence; any other error is a bug and fails the test. */
const EXPECTED = [CommandProblem, SettingsRefused, StartProblem, FolderInUse, AppError]

/**
 * Runs a command as api/main.ts does, but in this process: starting a process and loading the code takes a second of a core. Tests of starting, stopping
 * and standard input use `runCommand` of test/support/carrel-process.ts instead.
 * @param args the words and flags of a command line, without the program
 */
export async function runInProcess(
  args: readonly string[],
  { env = {}, cwd = '/' }: { env?: Record<string, string>; cwd?: string } = {},
): Promise<{ code: number; output: string }> {
  let output = ''
  const out = new Terminal({ write: (text: string) => (output += text) })
  try {
    const { command, rest } = findCommand(args)
    if (command === null || !('run' in command)) throw new CommandProblem(`${args.join(' ')} is a request for help.`)
    const { values, words, problems } = splitFlags(rest, [...command.flags, ...settingFlags()])
    if (problems.length > 0) throw new SettingsRefused(problems)
    const [wordsMin, wordsMax] = wordLimits(command)
    if (words.length < wordsMin || words.length > wordsMax) throw new CommandProblem(`It is ${command.name} ${command.usage}`)
    const own = new Set(command.flags.map(({ name }) => name))
    const others = [...values].filter(([name]) => !own.has(name)).flatMap(([name, given]) => given.map((value) => `--${name}=${value}`))
    const settings = readSettings({ argv: others, env: { CARREL_QUIET_SECONDS: '0', ...env }, cwd, defaultsFrom: cwd })
    const stop = new AbortController().signal
    const code = await command.run({
      ...{ settings, words, env, cwd, out, stop },
      flag: (name) => values.get(name)?.at(-1),
      log: silentLog,
    })
    return { code, output }
  } catch (error) {
    if (!EXPECTED.some((kind) => error instanceof kind)) throw error
    return { code: 1, output: `${output}${(error as Error).message}\n` }
  }
}
