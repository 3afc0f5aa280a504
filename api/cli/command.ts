import type { Terminal } from '#api/cli/terminal.ts'
import type { Log } from '#core/foundation/log.ts'
import type { DescribedCommand } from '#core/settings/command-line.ts'
import type { Settings } from '#core/settings/settings.ts'

/** What a command is given. */
export interface CommandInput {
  settings: Settings
  /** Words after the command's own. */
  words: readonly string[]
  /** Value of one of the command's flags, the last one given. */
  flag(name: string): string | undefined
  env: Readonly<Record<string, string | undefined>>
  /** Where the user stands. */
  cwd: string
  out: Terminal
  log: Log
  /** Aborts when the process is asked to end. */
  stop: AbortSignal
}

/** One thing that carrel does; its flags stand beside the settings. `run` answers the exit code. */
export interface Command extends DescribedCommand {
  /** How many words it takes after its name. */
  wordsMin: number
  wordsMax: number
  run(input: CommandInput): Promise<number>
}

/** Something the user can mend; shown without a stack. */
export class CommandProblem extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'CommandProblem'
  }
}
