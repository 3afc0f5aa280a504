import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { chooseLibrary } from '#api/cli/library.ts'
import { withDatabase } from '#api/cli/open-database.ts'
import { typed } from '#api/cli/typed.ts'
import { listRotted } from '#core/analysis/verify-store.ts'
import { listLibrariesByName } from '#core/scan/library-progress-query.ts'

const PROGRESS_MS = 1_000
/** A screen has room for no more. */
const LISTED_MAX = 20

export const verify: Command = {
  name: 'verify',
  usage: '[library]',
  summary: 'finds files whose content has changed without their date, in one library or in all',
  about:
    'Reads every file of a library, given by name, id or folder, or of all, and compares it with the hash and the checksums that were recorded when it was analyzed. A running server does it in the background; otherwise the command itself does it. Nothing is written to the files. The setting verification.megabytes_per_second limits how fast it reads.',
  flags: [],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const { log, out } = input
  return await withDatabase(input, 'change', async (opened) => {
    const { database } = opened
    const all = await listLibrariesByName(database)
    const chosen = input.words[0] === undefined ? all : [chooseLibrary(all, input.words[0], input.cwd)]
    if (chosen.length === 0) throw new CommandProblem(`There is no library to verify. Add one: ${typed('library add DIR')}`)
    const [{ openWork }, { requestVerification }] = await Promise.all([
      import('#api/compose.ts'),
      import('#core/analysis/verify-library.ts'),
    ])
    const work = await openWork({ settings: opened.settings, log, database })
    try {
      const taskIds: string[] = []
      for (const { id } of chosen) taskIds.push((await requestVerification({ database, tasks: work.tasks }, null, id)).taskId)
      if (opened.serverRuns) {
        for (const { name } of chosen) out.line(`${name}: the running server verifies it.`)
        return 0
      }
      out.line('No server uses this data folder; this command verifies.')
      await work.tasks.start()
      for (const taskId of taskIds) if (!(await waitFor(input, database, taskId))) return 130
    } finally {
      await work.close()
    }
    return await report(
      input,
      database,
      chosen.map(({ id }) => id),
    )
  })
}

/** False when the command was stopped. */
async function waitFor({ out, stop }: CommandInput, database: Knex, taskId: string): Promise<boolean> {
  const { getTask } = await import('#core/tasks/task-query.ts')
  for (;;) {
    const { status, progress, lastError } = await getTask(database, taskId)
    if (status === 'completed') break
    if (status === 'failed' || status === 'cancelled') throw new CommandProblem(`The verification has not ended: ${lastError ?? status}`)
    if (progress) out.progress(`${progress.current} of ${progress.total} files${progress.message ? `, ${progress.message}` : ''}`)
    await sleep(PROGRESS_MS, undefined, { signal: stop }).catch(() => {})
    if (!stop.aborted) continue
    out.progressDone()
    out.line('Stopped. The next start of the server, or the next verification, continues.')
    return false
  }
  out.progressDone()
  return true
}

async function report({ out }: CommandInput, database: Knex, libraryIds: readonly string[]): Promise<number> {
  const rotted = await listRotted(database, libraryIds)
  if (rotted.length === 0) {
    out.line('Every file has the content that it had when it was analyzed.')
    return 0
  }
  out.line(`The content of ${rotted.length} files has changed, but not their date. Put them back from a backup, or accept the new content.`)
  for (const path of rotted.slice(0, LISTED_MAX)) out.line(`  ${path}`)
  if (rotted.length > LISTED_MAX) out.line(`  and ${rotted.length - LISTED_MAX} more`)
  return 1
}
