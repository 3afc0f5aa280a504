import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { chooseLibrary } from '#api/cli/library.ts'
import { printSummary, renderProgress } from '#api/cli/library-report.ts'
import { withDatabase } from '#api/cli/open-database.ts'
import { typed } from '#api/cli/typed.ts'
import { AppError } from '#core/foundation/errors.ts'
import { getLibraryProgress, getLibrarySummary, listLibrariesByName } from '#core/scan/library-progress-query.ts'

const PROGRESS_MS = 1_000
/** A file may be found while it is copied, and be complete soon after. */
const QUIET_TIMES = 2

export const scan: Command = {
  name: 'scan',
  usage: '[library]',
  summary: 'finds new, changed and missing books, in one library or in all',
  about:
    'Finds new, changed and missing books in a library, given by name, id or folder, or in all. A running server scans in the background; otherwise the command itself scans, and ends when all books are analyzed.',
  flags: [
    { name: 'deep', isSwitch: true, about: 'Also analyzes unchanged books, and checks every page.' },
    {
      name: 'confirm',
      isSwitch: true,
      about:
        'Confirms that missing books are deleted, even if they are most of a library. Check its folder first: its disk may not be mounted.',
    },
    {
      name: 'confirm-folder',
      value: 'folder',
      about: 'The same for one folder, relative to the library, that the last scan has named. Give the library too.',
    },
  ],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const { log, out } = input
  const mode = input.flag('deep') === 'true' ? 'deep' : 'normal'
  const folder = input.flag('confirm-folder')
  if (folder !== undefined && input.words[0] === undefined) throw new CommandProblem('Name the library whose folder you confirm.')
  const confirm = input.flag('confirm') === 'true' || (folder !== undefined && [folder])
  return await withDatabase(input, 'change', async (opened) => {
    const all = await listLibrariesByName(opened.database)
    const chosen =
      input.words[0] === undefined ? all.filter((library) => library.isActive) : [chooseLibrary(all, input.words[0], input.cwd)]
    if (chosen.length === 0) throw new CommandProblem(`There is no library to scan. Add one: ${typed('library add DIR')}`)
    const { openWork } = await import('#api/compose.ts')
    const work = await openWork({ settings: opened.settings, log, database: opened.database })
    try {
      for (const library of chosen) {
        try {
          await work.scans.start(library.id, mode, null, { confirm })
          if (opened.serverRuns) out.line(`${library.name}: the running server scans it.`)
        } catch (error) {
          if (!(error instanceof AppError && error.code === 'scan_running')) throw error
          out.line(`${library.name}: a scan is already waiting or running.`)
        }
      }
      if (opened.serverRuns) return 0
      out.line('No server uses this data folder; this command scans.')
      await work.tasks.start()
      // Files that were copied just now are analyzed as well, but those of a long download are left to the server.
      return await waitUntilDone(input, opened.database, Date.now() + QUIET_TIMES * opened.settings.quietMs)
    } finally {
      await work.close()
    }
  })
}

async function waitUntilDone(
  { out, stop }: CommandInput,
  database: Parameters<typeof getLibraryProgress>[0],
  waitsUntil: number,
): Promise<number> {
  for (;;) {
    const secondsAhead = Math.max(0, waitsUntil - Date.now()) / 1000
    const progress = renderProgress(await getLibraryProgress(database, secondsAhead))
    if (progress === null) break
    out.progress(progress)
    await sleep(PROGRESS_MS, undefined, { signal: stop }).catch(() => {})
    if (stop.aborted) {
      out.progressDone()
      out.line('Stopped. The next start of the server, or the next scan, continues.')
      return 130
    }
  }
  out.progressDone()
  const summary = await getLibrarySummary(database)
  printSummary(out, summary)
  return summary.libraries.some((library) => library.scanStatus === 'failed') ? 1 : 0
}
