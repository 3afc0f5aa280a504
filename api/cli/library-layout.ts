import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Check, Errors } from 'typebox/value'
import { type Command, CommandProblem } from '#api/cli/command.ts'
import { count } from '#api/cli/library-report.ts'
import { withDatabase } from '#api/cli/open-database.ts'
import type { Terminal } from '#api/cli/terminal.ts'
import { typed } from '#api/cli/typed.ts'
import { SERIES_STRATEGIES, type SeriesStrategy, UpdateLibraryRequest } from '#core/catalog/library.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import type { ScanPreview } from '#core/scan/preview-scan.ts'
import { absolutePath } from '#core/settings/setting-table.ts'

/** A file of settings is written by a person; more is probably another file. */
const CONFIG_BYTES_MAX = 64 * 1024

/** How files become series, for commands that make, change or preview a library. */
export const LAYOUT_FLAGS: Command['flags'] = [
  {
    name: 'series-strategy',
    value: 'strategy',
    isSwitch: false,
    repeatable: false,
    about: `How files become series: ${SERIES_STRATEGIES.join(', ')}.`,
  },
  {
    name: 'config',
    value: 'file',
    isSwitch: false,
    repeatable: false,
    about: 'JSON file with settings of a library, named as in the API, such as {"seriesConfig": {"skipDepth": 2}}.',
  },
  {
    name: 'link-targets',
    value: 'paths',
    isSwitch: false,
    repeatable: false,
    about: 'Folders outside of the library that links in it may lead to, separated by colons; an empty text for none.',
  },
]

/** The settings of a library in the flags; empty without any. @throws CommandProblem for what no library can have */
export async function readLayoutFlags(flag: (name: string) => string | undefined, cwd: string): Promise<UpdateLibraryRequest> {
  const file = flag('config')
  const settings = file === undefined ? {} : await readConfig(path.resolve(cwd, file))
  const targets = flag('link-targets')
  if (targets !== undefined) settings.linkTargets = targets.split(':').flatMap((folder) => (folder === '' ? [] : absolutePath(folder, cwd)))
  const strategy = flag('series-strategy')
  if (strategy === undefined) return settings
  if (!(SERIES_STRATEGIES as readonly string[]).includes(strategy))
    throw new CommandProblem(
      `There is no series strategy "${strategy}".${didYouMean(strategy, SERIES_STRATEGIES)} All: ${SERIES_STRATEGIES.join(', ')}.`,
    )
  return { ...settings, seriesStrategy: strategy as SeriesStrategy }
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

export const libraryPreview: Command = {
  name: 'library preview',
  usage: '<folder>',
  summary: 'shows the series that a folder would have as a library',
  about: 'Shows what a scan would make of a folder, and why, and compares the strategies. Changes nothing.',
  flags: LAYOUT_FLAGS,
  wordsMin: 1,
  wordsMax: 1,
  async run({ settings, words, flag, cwd, out, log, stop }) {
    const folder = absolutePath(words[0] as string, cwd)
    const layout = await readLayoutFlags(flag, cwd)
    return await withDatabase({ settings, log, stop }, 'change', async (opened) => {
      const { openWork } = await import('#api/compose.ts')
      const { previewScan } = await import('#core/scan/preview-scan.ts')
      const work = await openWork({ settings: opened.settings, log, database: opened.database })
      try {
        const dependencies = { database: opened.database, rules: work.rules, settings: opened.settings }
        printPreview(out, await previewScan(dependencies, { ...layout, caller: null, folder }, stop ?? new AbortController().signal))
      } finally {
        await work.close()
      }
      return 0
    })
  },
}

function printPreview(out: Terminal, { series, leftOut, alternatives, suggested, totalFiles, isTruncated }: ScanPreview): void {
  for (const { name, path: place, why, bookCount, books } of series) {
    out.line(`${escapedText(name)}  ${escapedText(place)}: ${count(bookCount, 'book')}`)
    out.line(`  ${why}`)
    for (const { fileName, volume, chapter, number } of books) {
      const numbers = Object.entries({ volume, chapter, number }).filter(([, value]) => value !== null)
      out.line(
        `    ${escapedText(fileName)}${numbers.length > 0 ? `  ${numbers.map(([what, value]) => `${what} ${value}`).join(', ')}` : ''}`,
      )
    }
    if (bookCount > books.length) out.line(`    and ${count(bookCount - books.length, 'more book')}`)
  }
  for (const { reason, count: files, examples } of leftOut)
    out.line(`Left out (${reason.replace('_', ' ')}): ${files}, such as ${examples.map(escapedText).join(', ')}`)
  out.line(`${count(totalFiles, 'file')} in ${count(series.length, 'series')}${isTruncated ? '; the preview is incomplete' : ''}.`)
  for (const { strategy, series: all, single, mixed } of alternatives) {
    const mark = strategy === suggested ? '  (suggested)' : ''
    out.line(`  ${strategy.padEnd(22)} ${count(all, 'series')}, ${single} of one book, ${mixed} with mixed titles${mark}`)
  }
  out.line(`To add the folder: ${typed('library add DIR --series-strategy STRATEGY')}`)
}
