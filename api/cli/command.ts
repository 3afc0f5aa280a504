import type { Terminal } from '#api/cli/terminal.ts'
import type { Log } from '#core/foundation/log.ts'
import type { DescribedCommand } from '#core/settings/command-line.ts'
import type { Settings } from '#core/settings/settings.ts'
import type { EgressNetwork } from '#plugins/network/egress.ts'

/** What a command receives. */
export interface CommandInput {
  settings: Settings
  /** Words after the name of the command. */
  words: readonly string[]
  /** Value of a flag; the last one if it was given more than once. */
  flag(name: string): string | undefined
  env: Readonly<Record<string, string | undefined>>
  /** The user's working folder. */
  cwd: string
  out: Terminal
  log: Log
  /** Aborts when the process should end. */
  stop: AbortSignal
  /** How plugins and their repositories are reached; tests replace it. */
  network?: EgressNetwork
}

/** A command; its flags are listed besides the settings. `run` returns the exit code. */
export interface Command extends DescribedCommand {
  run(input: CommandInput): Promise<number>
}

/** A problem that the user can solve; printed without a stack. */
export class CommandProblem extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'CommandProblem'
  }
}
