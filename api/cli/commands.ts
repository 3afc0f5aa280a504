import { apiKeyCommands } from '#api/cli/api-key.ts'
import { settingsCommands } from '#api/cli/chosen-settings.ts'
import { type Command, CommandProblem } from '#api/cli/command.ts'
import { doctor } from '#api/cli/doctor.ts'
import { libraryAdd, libraryEdit, libraryList, libraryRemove } from '#api/cli/library.ts'
import { libraryPreview } from '#api/cli/library-layout.ts'
import { libraryMissing } from '#api/cli/library-missing.ts'
import { pluginInstall } from '#api/cli/plugin.ts'
import { pluginLogs } from '#api/cli/plugin-logs.ts'
import { pluginRepositoryCommands } from '#api/cli/plugin-repository.ts'
import { pluginReview } from '#api/cli/plugin-review.ts'
import { pluginSetupCommands } from '#api/cli/plugin-setup.ts'
import { pluginStateCommands } from '#api/cli/plugin-state.ts'
import { scan } from '#api/cli/scan.ts'
import { serve } from '#api/cli/serve.ts'
import { typed } from '#api/cli/typed.ts'
import { userAdd, userList, userRemove, userResetPassword, userRole } from '#api/cli/user.ts'
import { userAccess, userShow } from '#api/cli/user-access.ts'
import { verify } from '#api/cli/verify.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'

/** All commands; the first one is the default. */
export const commands: readonly Command[] = [
  serve,
  userAdd,
  userList,
  userShow,
  userAccess,
  userRole,
  userResetPassword,
  userRemove,
  ...apiKeyCommands,
  libraryAdd,
  libraryList,
  libraryEdit,
  libraryPreview,
  libraryRemove,
  libraryMissing,
  pluginReview,
  pluginInstall,
  ...pluginStateCommands,
  ...pluginSetupCommands,
  pluginLogs,
  ...pluginRepositoryCommands,
  scan,
  verify,
  ...settingsCommands,
  doctor,
]

/** Whether a word is a folder rather than a command. */
export const isPath = (word: string): boolean => /^(?:~?\/|\.\.?(?:\/|$)|~$)/.test(word)

/** With help, `command` is null for the overview, and an array for words that begin several commands. */
type FoundCommand =
  | { asksHelp: false; command: Command; rest: string[] }
  | { asksHelp: true; command: Command | readonly Command[] | null; rest: string[] }

/**
 * Finds the command at the beginning of a command line; returns it with the remaining words.
 * @throws CommandProblem if the first words are not a command
 */
export function findCommand(argv: readonly string[]): FoundCommand {
  const asksHelp = argv[0] === 'help' || argv.some((word, at) => (word === '--help' || word === '-h') && !argv.slice(0, at).includes('--'))
  const line = argv.filter((word, at) => !(asksHelp && (word === '--help' || word === '-h' || (at === 0 && word === 'help'))))
  const leading = line.slice(
    0,
    line.findIndex((word) => word.startsWith('-')) === -1 ? line.length : line.findIndex((word) => word.startsWith('-')),
  )
  const found = (command: Command, rest: string[]): FoundCommand => ({ command, rest, asksHelp })
  if (leading.length === 0) return asksHelp ? { command: null, rest: line, asksHelp } : found(commands[0]!, line)
  for (const command of commands) {
    const words = command.name.split(' ')
    if (words.every((word, at) => leading[at] === word)) return found(command, line.slice(words.length))
  }
  // A folder of books, as in `npm start -- ~/Comics`.
  if (isPath(leading[0]!)) return found(commands[0]!, line)
  const names = commands.map((command) => command.name)
  const given = leading.slice(0, 2).join(' ')
  const matching = commands.filter((command) => command.name.startsWith(`${leading[0]} `))
  if (asksHelp && matching.length > 0) return { command: matching, rest: line.slice(1), asksHelp }
  const within = matching.map((command) => command.name)
  if (within.length > 0) throw new CommandProblem(`Use ${typed(within.join(' or '))}.${didYouMean(given, within)}`)
  throw new CommandProblem(
    `There is no command "${leading[0]}".${didYouMean(leading[0]!, names, typed('')) || didYouMean(given, names, typed(''))} All commands: ${typed('--help')}`,
  )
}
