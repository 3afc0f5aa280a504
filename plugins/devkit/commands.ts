import { didYouMean } from '#core/foundation/nearest-name.ts'
import { type DescribedFlag, type HelpLayout, renderCommandPage, renderProgramPage } from '#core/settings/command-line.ts'
import { bench, replay } from './call-commands.ts'
import { type ToolCommand, ToolProblem } from './command.ts'
import { dev } from './dev-command.ts'
import { index } from './index-command.ts'
import { pack, sign, validate } from './package-commands.ts'
import { release } from './release-command.ts'
import { test } from './test-command.ts'
import { typedCreate, typedTool } from './typed.ts'
import { types } from './types-command.ts'

/** All commands, in the order in which an author needs them. */
export const toolCommands: readonly ToolCommand[] = [dev, types, test, validate, pack, sign, release, index, replay, bench]

/** A flag of every command. */
export const FOLDER: DescribedFlag = { name: 'folder', value: 'path', about: 'The folder of the plugin; by default the current folder.' }

/** What other tools call them. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  build: 'pack',
  bundle: 'pack',
  package: 'pack',
  publish: 'release',
  version: 'release',
  deploy: 'release',
  start: 'dev',
  serve: 'dev',
  watch: 'dev',
  lint: 'validate',
  check: 'validate',
  call: 'replay',
  run: 'replay',
  record: 'test',
}

/** @throws ToolProblem */
export function getCommand(name: string): ToolCommand {
  const found = toolCommands.find((command) => command.name === name)
  if (found) return found
  if (['create', 'init', 'new'].includes(name)) throw new ToolProblem(`A plugin is not created by this tool. Create one: ${typedCreate()}`)
  const own = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined
  if (own !== undefined) throw new ToolProblem(`There is no command "${name}". That is ${own} here: ${typedTool(`${own} --help`)}`)
  const names = toolCommands.map((command) => command.name)
  throw new ToolProblem(`There is no command "${name}".${didYouMean(name, names)} All commands: ${typedTool('--help')}`)
}

/** The default width of terminals. */
const LAYOUT: HelpLayout = { typed: typedTool, columns: 80 }

export function renderToolOverview(version: string): string {
  return [
    `carrel-plugin ${version}: the tool for authors of Carrel plugins`,
    `A new plugin: ${typedCreate()}`,
    '',
    renderProgramPage('<command> [flags]', toolCommands, LAYOUT),
    '',
    `${typedTool('<command> --help')} describes each command. By default the current folder is the folder of the plugin.`,
  ].join('\n')
}

export const renderHelp = (command: ToolCommand): string => renderCommandPage({ ...command, flags: [...command.flags, FOLDER] }, LAYOUT)
