import type { Command } from '#api/cli/command.ts'
import { typed } from '#api/cli/typed.ts'
import { NAME, VERSION } from '#api/version.ts'
import { renderSettingsHelp } from '#core/setting/settings-text.ts'

/** What `carrel --help` prints. */
export function renderOverview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => call(command).length))
  return [
    `${NAME} ${VERSION}, a digital library server`,
    '',
    `Usage: ${typed('[command] [flags]')}`,
    '',
    'Commands:',
    ...commands.map((command) => `  ${call(command).padEnd(width)}  ${command.summary}`),
    '',
    `Settings, as flags, as environment variables or in the config file (${typed('<command> --help')} shows those of a command):`,
    renderSettingsHelp(),
  ].join('\n')
}

/** What `carrel <command> --help` prints; of several commands that begin alike, each in turn. */
export function renderCommandHelp(asked: Command | readonly Command[]): string {
  const all = 'name' in asked ? [asked] : asked
  const serves = all.some((command) => command.name === 'serve')
  const more = serves ? renderSettingsHelp() : '  --data-dir, DATABASE_URL and all others; see ' + typed('--help')
  return [...all.flatMap((command) => [...renderUsage(command), '']), 'Settings:', more].join('\n')
}

function renderUsage(command: Command): string[] {
  const lines = [`Usage: ${typed(`${call(command)} [flags]`)}`, '', command.about]
  if (command.flags.length > 0) lines.push('', 'Flags:')
  for (const flag of command.flags) lines.push(`  --${flag.name}${flag.value ? ` <${flag.value}>` : ''}\n      ${flag.about}`)
  return lines
}

function call(command: Command): string {
  return command.usage ? `${command.name} ${command.usage}` : command.name
}
