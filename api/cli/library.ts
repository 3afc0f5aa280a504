import { stat } from 'node:fs/promises'
import path from 'node:path'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { LIBRARY_FLAGS, readLibraryFlags } from '#api/cli/library-flags.ts'
import { count } from '#api/cli/library-report.ts'
import { type OpenedDatabase, withDatabase } from '#api/cli/open-database.ts'
import { quoted, typed } from '#api/cli/typed.ts'
import type { Work } from '#api/compose.ts'
import type { ScanningConfig } from '#core/catalog/library.ts'
import { findLibraryRow, type LibraryRow } from '#core/catalog/library-store.ts'
import { AppError } from '#core/foundation/errors.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import { getLibrarySummary, type ListedLibrary, listLibrariesByName } from '#core/scan/library-progress-query.ts'
import { absolutePath } from '#core/settings/setting-table.ts'

/** Finds a library by name, id or folder. @throws CommandProblem if there is none, or more than one */
export function chooseLibrary(libraries: readonly ListedLibrary[], word: string, cwd: string): ListedLibrary {
  const folder = path.resolve(cwd, word)
  const found = libraries.filter((library) => library.id === word || library.name === word || library.path === folder)
  if (found.length === 1) return found[0]!
  if (found.length > 1)
    throw new CommandProblem(`More than one library has the name "${word}": ${found.map((library) => library.id).join(', ')}. Give the id.`)
  const names = libraries.map((library) => library.name)
  throw new CommandProblem(`There is no library "${word}".${didYouMean(word, names)} List all: ${typed('library list')}`)
}

/** The refusal of a folder, with what to do if it does not exist: the core does not know who can mount its disk. */
async function withRemedy(refusal: unknown, folder: string): Promise<unknown> {
  const code = await stat(folder).then(
    () => null,
    (error: NodeJS.ErrnoException) => error.code,
  )
  if (!(refusal instanceof AppError) || code !== 'ENOENT') return refusal
  return new CommandProblem(`${escapedText(folder)} does not exist. Check the path, or mount its disk.`, { cause: refusal })
}

export const libraryAdd: Command = {
  name: 'library add',
  usage: '<folder>',
  summary: 'adds a folder of books as a library',
  about:
    'Adds a folder of books as a library. A running server scans it at once; otherwise its books appear after the next scan, or the next start of the server.',
  flags: [{ name: 'name', value: 'text', about: 'Name of the library. Default: name of the folder.' }, ...LIBRARY_FLAGS],
  async run({ settings, words, flag, cwd, out, log, stop }) {
    const folder = absolutePath(words[0]!, cwd)
    const layout = await readLibraryFlags(flag, cwd)
    return await withDatabase({ settings, log, stop }, 'make', async (opened) => {
      const name = flag('name')
      const [{ openWork }, { addLibrary }] = await Promise.all([import('#api/compose.ts'), import('#core/scan/add-library.ts')])
      const work = await openWork({ settings: opened.settings, log, database: opened.database })
      try {
        const dependencies = { database: opened.database, scans: work.scans, rules: work.rules, settings: opened.settings }
        const adding = addLibrary(dependencies, { folder, layout, ...(name === undefined ? {} : { name }) })
        const { library, created } = await adding.catch(async (refusal: unknown) => {
          throw await withRemedy(refusal, folder)
        })
        if (!created) {
          out.line(`The folder ${escapedText(library.path)} is already the library "${escapedText(library.name)}".`)
          return 0
        }
        out.line(`Added the library "${escapedText(library.name)}" (${escapedText(library.path)}).`)
        if (opened.serverRuns) await work.scans.start(library.id)
        out.line(
          opened.serverRuns ? 'The running server scans it.' : `The next start of the server scans it. To scan it now: ${typed('scan')}`,
        )
      } finally {
        await work.close()
      }
      return 0
    })
  },
}

export const libraryList: Command = {
  name: 'library list',
  usage: '',
  summary: 'lists the libraries',
  about: 'Lists the libraries: name, folder, number of books, and result of the last scan.',
  flags: [],
  async run({ settings, out, log, stop }) {
    return await withDatabase({ settings, log, stop }, 'look', async (opened) => {
      const { libraries } = await getLibrarySummary(opened.database)
      for (const library of libraries) {
        const scan = library.scanStatus === null ? 'never scanned' : `last scan ${library.scanStatus}`
        out.line(`${escapedText(library.name)}  ${escapedText(library.path)}  ${count(library.books, 'book')}, ${scan}`)
      }
      if (libraries.length === 0) out.line(`There is no library yet. Add one: ${typed('library add DIR')}`)
      return 0
    })
  },
}

/** Opens what commands that change a library need. */
export async function withLibrary(
  input: CommandInput,
  work: (dependencies: { library: ListedLibrary; opened: OpenedDatabase; work: Work }) => Promise<void>,
): Promise<number> {
  return await withDatabase(input, 'change', async (opened) => {
    const library = chooseLibrary(await listLibrariesByName(opened.database), input.words[0] as string, input.cwd)
    const { openWork } = await import('#api/compose.ts')
    const dependencies = await openWork({ settings: opened.settings, log: input.log, database: opened.database })
    try {
      await work({ library, opened, work: dependencies })
      return 0
    } finally {
      await dependencies.close()
    }
  })
}

export const libraryRemove: Command = {
  name: 'library remove',
  usage: '<library>',
  summary: 'removes a library; its files stay',
  about:
    'Removes a library, given by name, id or folder, with the metadata, progress and ratings of its books. The files stay. Confirm with --yes.',
  flags: [{ name: 'yes', isSwitch: true, about: 'Confirms the removal.' }],
  run: (input) =>
    withLibrary(input, async ({ library, opened, work }) => {
      const { libraries } = await getLibrarySummary(opened.database)
      const books = count(libraries.find(({ path: place }) => place === library.path)?.books ?? 0, 'book')
      if (input.flag('yes') !== 'true')
        throw new CommandProblem(
          `This removes the records of ${books} of "${escapedText(library.name)}". To confirm: ${typed(`library remove ${quoted(input.words[0] as string)} --yes`)}`,
        )
      const { removeLibrary } = await import('#core/scan/edit-library.ts')
      await removeLibrary({ database: opened.database, scans: work.scans, dataFolder: opened.settings.dataFolder }, library.id)
      input.out.line(`Removed the library "${escapedText(library.name)}"; its files stay in ${escapedText(library.path)}.`)
    }),
}

export const libraryEdit: Command = {
  name: 'library edit',
  usage: '<library>',
  summary: 'changes the name, folder, settings or state of a library',
  about:
    'Changes a library, given by name, id or folder. If its folder has moved, the records of its books move with it. With another series strategy, its books move to other series and keep everything.',
  flags: [
    { name: 'name', value: 'text', about: 'New name.' },
    { name: 'folder', value: 'path', about: 'New path of its folder.' },
    { name: 'active', isSwitch: true, about: 'Whether it is scanned and visible: --active, or --no-active.' },
    ...LIBRARY_FLAGS,
  ],
  run: (input) =>
    withLibrary(input, async ({ library, opened, work }) => {
      const [name, folder, active] = ['name', 'folder', 'active'].map((flag) => input.flag(flag))
      const { scanning_config: scanned } = (await findLibraryRow(opened.database, library.id)) as LibraryRow
      const layout = await readLibraryFlags(input.flag, input.cwd, scanned as ScanningConfig | null)
      if (name === undefined && folder === undefined && active === undefined && Object.keys(layout).length === 0)
        throw new CommandProblem(`Give at least one of ${libraryEdit.flags.map((flag) => `--${flag.name}`).join(', ')}.`)
      const { editLibrary } = await import('#core/scan/edit-library.ts')
      await editLibrary({ database: opened.database, rules: work.rules, settings: opened.settings, tasks: work.tasks }, library.id, {
        ...layout,
        ...(name !== undefined && { name }),
        ...(folder !== undefined && { path: absolutePath(folder, input.cwd) }),
        ...(active !== undefined && { isActive: active === 'true' }),
      })
      const [after] = (await listLibrariesByName(opened.database)).filter(({ id }) => id === library.id)
      if (after) input.out.line(`${escapedText(after.name)}  ${escapedText(after.path)}${after.isActive ? '' : '  inactive'}`)
    }),
}
