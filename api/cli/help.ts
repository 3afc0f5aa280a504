import type { Command } from '#api/cli/command.ts'
import { typed } from '#api/cli/typed.ts'
import { NAME, VERSION } from '#api/http/version.ts'
import { type HelpLayout, renderCommandPage, renderProgramPage } from '#core/settings/command-line.ts'
import { renderSettingsHelp } from '#core/settings/settings-text.ts'

/** Terminals wrap lines themselves, and the descriptions of settings are long too. */
const LAYOUT: HelpLayout = { typed, columns: Number.POSITIVE_INFINITY }

/** The output of `carrel --help`. */
export function renderOverview(commands: readonly Command[]): string {
  return [
    `${NAME} ${VERSION}, a digital library server`,
    '',
    renderProgramPage('[command] [flags]', commands, LAYOUT),
    '',
    `Settings, as flags, as environment variables or in the config file (${typed('<command> --help')} shows those of a command):`,
    renderSettingsHelp(),
  ].join('\n')
}

/** The output of `carrel <command> --help`; for several commands with the same beginning, one after the other. */
export function renderCommandHelp(topic: Command | readonly Command[]): string {
  const all = 'name' in topic ? [topic] : topic
  const serves = all.some((command) => command.name === 'serve')
  const more = serves ? renderSettingsHelp() : '  --data-dir, DATABASE_URL and all others; see ' + typed('--help')
  return [...all.flatMap((command) => [renderCommandPage(command, LAYOUT), '']), 'Settings:', more].join('\n')
}
