import { didYouMean } from '#core/foundation/nearest-name.ts'
import { type DescribedFlag, type HelpLayout, renderCommandPage, renderProgramPage } from '#core/settings/command-line.ts'
import { bench, replay } from './call-commands.ts'
import { type Command, ToolProblem } from './command.ts'
import { dev } from './dev-command.ts'
import { index } from './index-command.ts'
import { pack, sign, validate } from './package-commands.ts'
import { test } from './test-command.ts'
import { typed } from './typed.ts'
import { types } from './types-command.ts'

/** All commands, in the order in which an author needs them. */
export const commands: readonly Command[] = [dev, types, test, validate, pack, sign, index, replay, bench]

/** A flag of every command. */
export const FOLDER: DescribedFlag = {
  name: 'folder',
  value: 'path',
  isSwitch: false,
  repeatable: false,
  about: 'The folder of the plugin; by default the current folder.',
}

/** @throws ToolProblem */
export function getCommand(name: string): Command {
  const found = commands.find((command) => command.name === name)
  if (found) return found
  const names = commands.map((command) => command.name)
  throw new ToolProblem(`There is no command "${name}".${didYouMean(name, names)} All commands: ${typed('--help')}`)
}

/** The default width of terminals. */
const LAYOUT: HelpLayout = { typed, columns: 80 }

export function renderOverview(version: string): string {
  return [
    `carrel-plugin ${version}: the tool for authors of Carrel plugins`,
    '',
    renderProgramPage('<command> [flags]', commands, LAYOUT),
    '',
    `${typed('<command> --help')} describes each command. By default the current folder is the folder of the plugin.`,
  ].join('\n')
}

export const renderHelp = (command: Command): string => renderCommandPage({ ...command, flags: [...command.flags, FOLDER] }, LAYOUT)
