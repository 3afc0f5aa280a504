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

/** All commands, in the order in which a plugin needs them. */
export const commands: readonly Command[] = [dev, types, test, validate, pack, sign, index, replay, bench]

/** Every command has it. */
export const FOLDER: DescribedFlag = {
  name: 'folder',
  value: 'path',
  isSwitch: false,
  repeatable: false,
  about: 'The folder of the plugin; the one you are in unless given.',
}

/** @throws ToolProblem */
export function getCommand(name: string): Command {
  const found = commands.find((command) => command.name === name)
  if (found) return found
  const names = commands.map((command) => command.name)
  throw new ToolProblem(`There is no command "${name}".${didYouMean(name, names)} All commands: ${typed('--help')}`)
}

/** As wide as terminals are that nobody has made wider. */
const LAYOUT: HelpLayout = { typed, columns: 80 }

export function renderOverview(version: string): string {
  return [
    `carrel-plugin ${version}: everything that the author of a plugin for Carrel needs`,
    '',
    renderProgramPage('<command> [flags]', commands, LAYOUT),
    '',
    `${typed('<command> --help')} tells more about each; the folder of the plugin is the one you are in.`,
  ].join('\n')
}

export const renderHelp = (command: Command): string => renderCommandPage({ ...command, flags: [...command.flags, FOLDER] }, LAYOUT)
