import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Check, Errors } from 'typebox/value'
import { type Command, CommandProblem } from '#api/cli/command.ts'
import {
  BOOK_STRATEGIES,
  NUMBER_STRATEGIES,
  type ScanningConfig,
  SERIES_STRATEGIES,
  UpdateLibraryRequest,
  WATCH_MODES,
} from '#core/catalog/library.ts'
import { BOOK_FORMATS } from '#core/fields/book-format.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import { absolutePath } from '#core/settings/setting-table.ts'

/** A file of settings is written by a person; more is probably another file. */
const CONFIG_BYTES_MAX = 64 * 1024
const NONE = 'none'

type Flag = Command['flags'][number]
const flagOf = (name: string, value: string, about: string): Flag => ({ name, value, about })

/** Which files are books, how they become series, and what their titles and numbers are. */
export const LAYOUT_FLAGS: readonly Flag[] = [
  flagOf('series-strategy', 'strategy', `How files become series: ${SERIES_STRATEGIES.join(', ')}.`),
  flagOf(
    'config',
    'file',
    'JSON file with settings of a library, named as in the API, such as {"seriesConfig": {"skipDepth": 2}}. Flags come before it.',
  ),
  flagOf('exclude', 'globs', `Files and folders that are left out, with commas between them: "*.pdf,Extras". "${NONE}" for none.`),
  flagOf(
    'link-targets',
    'paths',
    'Folders outside of the library that links in it may lead to, separated by colons; an empty text for none.',
  ),
  flagOf('formats', 'formats', `The only formats, with commas between them: ${BOOK_FORMATS.join(', ')}; or "all".`),
  flagOf('book-strategy', 'strategy', `Where titles of books come from: ${BOOK_STRATEGIES.join(', ')}.`),
  flagOf('number-strategy', 'strategy', `Where numbers of books come from: ${NUMBER_STRATEGIES.join(', ')}.`),
]

/** The settings of a library that commands add or change. */
export const LIBRARY_FLAGS: readonly Flag[] = [
  ...LAYOUT_FLAGS,
  flagOf(
    'watch',
    'how',
    'How new files are noticed: auto (by events, if the drive reports them), on (by events), poll (by scans in an interval), off.',
  ),
  flagOf('schedule', 'cron', `When the library is scanned: five fields, in UTC, such as "0 3 * * *". "${NONE}" ends the schedule.`),
]

/**
 * The settings of a library in the flags; empty without any.
 * @param scanned how the library is scanned until now
 * @throws CommandProblem for what no library can have
 */
export async function readLibraryFlags(
  flag: (name: string) => string | undefined,
  cwd: string,
  scanned: ScanningConfig | null = null,
): Promise<UpdateLibraryRequest> {
  const [file, exclude, formats, targets] = [flag('config'), flag('exclude'), flag('formats'), flag('link-targets')]
  const settings = file === undefined ? {} : await readConfig(path.resolve(cwd, file))
  const strategies = {
    seriesStrategy: oneOf(flag, 'series-strategy', SERIES_STRATEGIES),
    bookStrategy: oneOf(flag, 'book-strategy', BOOK_STRATEGIES),
    numberStrategy: oneOf(flag, 'number-strategy', NUMBER_STRATEGIES),
  }
  return {
    ...settings,
    ...Object.fromEntries(Object.entries(strategies).filter(([, strategy]) => strategy !== undefined)),
    ...(exclude !== undefined && { excludedPatterns: exclude === NONE ? null : listed(exclude).join('\n') }),
    ...(formats !== undefined && { allowedFormats: formats === 'all' ? null : listed(formats) }),
    ...(targets !== undefined && { linkTargets: targets.split(':').flatMap((folder) => (folder === '' ? [] : absolutePath(folder, cwd))) }),
    ...scanningOf(flag, settings.scanningConfig ?? scanned),
  }
}

/** Of a library for which nobody has decided anything: it is scanned at each start. */
const UNDECIDED: ScanningConfig = { enabled: true, scanMode: 'normal', scanOnStart: true }

/** When a library is scanned, and how changes are noticed; empty if no flag says. @param before the configuration so far */
function scanningOf(flag: (name: string) => string | undefined, before: ScanningConfig | null): { scanningConfig?: ScanningConfig } {
  const schedule = flag('schedule')
  const watch = oneOf(flag, 'watch', WATCH_MODES)
  if (schedule === undefined && watch === undefined) return {}
  const { pollMinutes, ...config } = before ?? UNDECIDED
  return {
    scanningConfig: {
      ...config,
      ...((watch ?? 'poll') === 'poll' && pollMinutes ? { pollMinutes } : {}),
      ...(watch && { watch }),
      ...(schedule !== undefined && (schedule === NONE ? { cronSchedule: null } : { cronSchedule: schedule, enabled: true })),
    },
  }
}

/** Texts with commas between them; those of "*.{pdf,epub}" belong to the pattern. */
function listed(text: string): string[] {
  let depth = 0
  let lines = ''
  for (const letter of text) {
    depth += letter === '{' ? 1 : letter === '}' ? -1 : 0
    lines += letter === ',' && depth <= 0 ? '\n' : letter
  }
  return lines.split('\n').flatMap((line) => line.trim() || [])
}

function oneOf<Value extends string>(flag: (name: string) => string | undefined, name: string, all: readonly Value[]): Value | undefined {
  const given = flag(name)
  if (given === undefined || (all as readonly string[]).includes(given)) return given as Value | undefined
  throw new CommandProblem(`There is no ${name.replace('-', ' ')} "${given}".${didYouMean(given, all)} All: ${all.join(', ')}.`)
}

async function readConfig(file: string): Promise<UpdateLibraryRequest> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandProblem(`${escapedText(file)} cannot be read (${error.code}). Check the path.`, { cause: error })
  })
  if (text.length > CONFIG_BYTES_MAX) throw new CommandProblem(`${escapedText(file)} is longer than ${CONFIG_BYTES_MAX} characters.`)
  let settings: unknown
  try {
    settings = JSON.parse(text)
  } catch (error) {
    throw new CommandProblem(`${escapedText(file)} is no JSON: ${escapedText((error as Error).message)}`, { cause: error })
  }
  const unknown = Object.keys(Object(settings)).find((name) => !(name in UpdateLibraryRequest.properties))
  if (unknown !== undefined) throw new CommandProblem(`${escapedText(file)}: a library has no setting "${escapedText(unknown)}".`)
  if (!Check(UpdateLibraryRequest, settings)) {
    const [error] = Errors(UpdateLibraryRequest, settings)
    throw new CommandProblem(`${escapedText(file)}: ${error?.instancePath || '/'} ${error?.message}.`)
  }
  return settings
}
