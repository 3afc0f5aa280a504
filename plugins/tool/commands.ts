import { didYouMean } from '#core/setting/nearest-name.ts'
import { bench, replay } from './call-commands.ts'
import { type Command, type ToolFlag, ToolProblem } from './command.ts'
import { dev } from './dev-command.ts'
import { index } from './index-command.ts'
import { pack, sign, validate } from './package-commands.ts'
import { test } from './test-command.ts'
import { typed } from './typed.ts'
import { types } from './types-command.ts'

/** All commands, in the order in which a plugin needs them. */
export const commands: readonly Command[] = [dev, types, test, validate, pack, sign, index, replay, bench]

/** Every command has it. */
export const FOLDER: ToolFlag = {
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

const call = ({ name, usage }: Command): string => (usage === '' ? name : `${name} ${usage}`)

export function renderOverview(version: string): string {
  const width = Math.max(...commands.map((command) => call(command).length))
  return [
    `carrel-plugin ${version}: everything that the author of a plugin for Carrel needs`,
    '',
    `Usage: ${typed('<command> [flags]')}      (in the folder of a plugin)`,
    '',
    ...commands.map((command) => `  ${call(command).padEnd(width)}  ${command.summary}`),
    '',
    `${typed('<command> --help')} tells more about each.`,
  ].join('\n')
}

export function renderHelp(command: Command): string {
  return [
    `Usage: ${typed(`${call(command)} [flags]`)}`,
    '',
    ...wrap(command.about, ''),
    '',
    'Flags:',
    ...[...command.flags, FOLDER].flatMap(({ name, value, about }) => [
      `  --${name}${value === undefined ? '' : ` <${value}>`}`,
      ...wrap(about, '      '),
    ]),
  ].join('\n')
}

/** As wide as terminals are that nobody has made wider. */
const COLUMNS = 80

function wrap(text: string, indent: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= COLUMNS) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(`${indent}${word}`)
  }
  return lines
}
