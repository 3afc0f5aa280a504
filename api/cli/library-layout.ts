import type { Knex } from 'knex'
import type { Command, CommandInput } from '#api/cli/command.ts'
import { LAYOUT_FLAGS, readLibraryFlags } from '#api/cli/library-flags.ts'
import { count } from '#api/cli/library-report.ts'
import { NoDatabase, withDatabase } from '#api/cli/open-database.ts'
import type { Terminal } from '#api/cli/terminal.ts'
import { typed } from '#api/cli/typed.ts'
import { titleOfFileName } from '#core/fields/file-name.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import type { ScanPreview } from '#core/scan/preview-scan.ts'
import { absolutePath } from '#core/settings/setting-table.ts'
import type { Settings } from '#core/settings/settings.ts'

export const libraryPreview: Command = {
  name: 'library preview',
  usage: '<folder>',
  summary: 'shows the series that a folder would have as a library',
  about: 'Shows what a scan would make of a folder, and why, and compares the strategies. Changes nothing.',
  flags: LAYOUT_FLAGS,
  async run(input) {
    try {
      return await withDatabase(input, 'look', async ({ database, settings }) => await preview(input, { database, settings }))
    } catch (error) {
      // No server has run yet: there is no library that the folder could overlap.
      if (!(error instanceof NoDatabase)) throw error
      return await preview(input, { database: null, settings: input.settings })
    }
  },
}

async function preview(
  { words, flag, cwd, out, log, stop }: CommandInput,
  { database, settings }: { database: Knex | null; settings: Settings },
): Promise<number> {
  const layout = await readLibraryFlags(flag, cwd)
  const [{ Supervisor }, { openRules }, { previewScan }] = await Promise.all([
    import('#plugins/runtime/supervisor.ts'),
    import('#plugins/templates/rules.ts'),
    import('#core/scan/preview-scan.ts'),
  ])
  const supervisor = new Supervisor({ log, spare: false })
  try {
    const request = { ...layout, caller: null, folder: absolutePath(words[0] as string, cwd) }
    printPreview(out, await previewScan({ database, rules: openRules(supervisor), settings }, request, stop))
    return 0
  } finally {
    supervisor.close()
  }
}

function printPreview(out: Terminal, { series, leftOut, alternatives, suggested, totalFiles, isTruncated }: ScanPreview): void {
  for (const { name, path: place, why, bookCount, books } of series) {
    out.line(`${escapedText(name)}  ${escapedText(place)}: ${count(bookCount, 'book')}`)
    out.line(`  ${why}`)
    for (const { fileName, title, volume, chapter, number } of books) {
      const numbers = Object.entries({ volume, chapter, number }).flatMap(([what, value]) => (value === null ? [] : `${what} ${value}`))
      const facts = [...(title === titleOfFileName(fileName) ? [] : [`"${escapedText(title)}"`]), ...numbers]
      out.line(`    ${[escapedText(fileName), ...(facts.length > 0 ? [facts.join(', ')] : [])].join('  ')}`)
    }
    if (bookCount > books.length) out.line(`    and ${count(bookCount - books.length, 'more book')}`)
  }
  for (const { reason, count: files, examples } of leftOut) {
    out.line(`Left out (${reason.replace('_', ' ')}): ${files}`)
    for (const example of examples) out.line(`    ${escapedText(example)}`)
    if (files > examples.length) out.line(`    and ${files - examples.length} more`)
  }
  out.line(`${count(totalFiles, 'file')} in ${count(series.length, 'series')}${isTruncated ? '; the preview is incomplete' : ''}.`)
  for (const { strategy, series: all, single, mixed } of alternatives) {
    const mark = strategy === suggested ? '  (suggested)' : ''
    out.line(`  ${strategy.padEnd(22)} ${count(all, 'series')}, ${single} of one book, ${mixed} with mixed titles${mark}`)
  }
  out.line(`To add the folder: ${typed('library add DIR --series-strategy STRATEGY')}`)
}
