import { type Command, CommandProblem } from '#api/cli/command.ts'
import { doctor } from '#api/cli/doctor.ts'
import { libraryAdd, libraryList } from '#api/cli/library.ts'
import { scan } from '#api/cli/scan.ts'
import { serve } from '#api/cli/serve.ts'
import { userAdd, userResetPassword } from '#api/cli/user.ts'
import { didYouMean } from '#core/setting/nearest-name.ts'

/** Everything carrel does; the first one when nothing is said. */
export const commands: readonly Command[] = [serve, userAdd, userResetPassword, libraryAdd, libraryList, scan, doctor]

/**
 * The command that a command line begins with, and what remains. `command` is null only when help about everything is asked.
 * @throws CommandProblem when it begins with words that are none
 */
export function findCommand(argv: readonly string[]): { command: Command | null; rest: string[]; asksHelp: boolean } {
  const asksHelp = argv[0] === 'help' || argv.some((word, at) => (word === '--help' || word === '-h') && !argv.slice(0, at).includes('--'))
  const line = argv.filter((word, at) => !(asksHelp && (word === '--help' || word === '-h' || (at === 0 && word === 'help'))))
  const leading = line.slice(
    0,
    line.findIndex((word) => word.startsWith('-')) === -1 ? line.length : line.findIndex((word) => word.startsWith('-')),
  )
  if (leading.length === 0) return { command: asksHelp ? null : commands[0]!, rest: [...line], asksHelp }
  for (const command of commands) {
    const words = command.name.split(' ')
    if (words.every((word, at) => leading[at] === word)) return { command, rest: line.slice(words.length), asksHelp }
  }
  const names = commands.map((command) => command.name)
  const given = leading.slice(0, 2).join(' ')
  const within = names.filter((name) => name.startsWith(`${leading[0]} `))
  if (within.length > 0) throw new CommandProblem(`It is carrel ${within.join(' or carrel ')}.${didYouMean(given, within, 'carrel ')}`)
  throw new CommandProblem(
    `There is no command "${leading[0]}".${didYouMean(leading[0]!, names, 'carrel ') || didYouMean(given, names, 'carrel ')} All commands: carrel --help`,
  )
}
