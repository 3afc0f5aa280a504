import type { Command } from '#api/cli/command.ts'
import { NAME, VERSION } from '#api/version.ts'
import { renderSettingsHelp } from '#core/setting/settings-text.ts'

/** How the user calls us: npm takes its own flags first, hence the two dashes. */
const CALL = 'carrel'

/** What `carrel --help` prints. */
export function renderOverview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => call(command).length))
  return [
    `${NAME} ${VERSION}, a digital library server`,
    '',
    `Usage: ${CALL} [command] [flags]      (in the repository: npm run carrel -- [command] [flags])`,
    '',
    'Commands:',
    ...commands.map((command) => `  ${call(command).padEnd(width)}  ${command.summary}`),
    '',
    `Settings, as flags, as environment variables or in the config file (${CALL} <command> --help shows those of a command):`,
    renderSettingsHelp(),
  ].join('\n')
}

/** What `carrel <command> --help` prints; of several commands that begin alike, each in turn. */
export function renderCommandHelp(asked: Command | readonly Command[]): string {
  const all = 'name' in asked ? [asked] : asked
  const serves = all.some((command) => command.name === 'serve')
  const more = serves ? renderSettingsHelp() : '  --data-dir, DATABASE_URL and all others; see carrel --help'
  return [...all.flatMap((command) => [...renderUsage(command), '']), 'Settings:', more].join('\n')
}

function renderUsage(command: Command): string[] {
  const lines = [`Usage: ${CALL} ${call(command)} [flags]`, '', command.about]
  if (command.flags.length > 0) lines.push('', 'Flags:')
  for (const flag of command.flags) lines.push(`  --${flag.name}${flag.value ? ` <${flag.value}>` : ''}\n      ${flag.about}`)
  return lines
}

function call(command: Command): string {
  return command.usage ? `${command.name} ${command.usage}` : command.name
}
