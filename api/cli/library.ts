import path from 'node:path'
import { type Command, CommandProblem } from '#api/cli/command.ts'
import { count, printable } from '#api/cli/library-report.ts'
import { openCommandDatabase } from '#api/cli/open-database.ts'
import { typed } from '#api/cli/typed.ts'
import { getLibrarySummary, type ListedLibrary } from '#core/library/library-progress-query.ts'
import { didYouMean } from '#core/setting/nearest-name.ts'
import { absolutePath } from '#core/setting/setting-table.ts'

/** The library that a person means by its name, id or folder. @throws CommandProblem when there is none, or more than one */
export function chooseLibrary(libraries: readonly ListedLibrary[], word: string, cwd: string): ListedLibrary {
  const folder = path.resolve(cwd, word)
  const found = libraries.filter((library) => library.id === word || library.name === word || library.path === folder)
  if (found.length === 1) return found[0]!
  if (found.length > 1)
    throw new CommandProblem(`More than one library is called "${word}": ${found.map((library) => library.id).join(', ')}. Give the id.`)
  const names = libraries.map((library) => library.name)
  throw new CommandProblem(`There is no library "${word}".${didYouMean(word, names)} All libraries: ${typed('library list')}`)
}

export const libraryAdd: Command = {
  name: 'library add',
  usage: '<folder>',
  summary: 'makes a folder of books a library',
  about:
    'Makes a folder of books a library. A running server scans it at once; otherwise its books appear with the next scan, or the next start of the server.',
  flags: [{ name: 'name', value: 'text', isSwitch: false, repeatable: false, about: 'Name of the library. Default: that of the folder.' }],
  wordsMin: 1,
  wordsMax: 1,
  async run({ settings, words, flag, cwd, out, log, stop }) {
    const folder = absolutePath(words[0]!, cwd)
    const opened = await openCommandDatabase({ settings, log, stop }, 'make')
    try {
      const name = flag('name')
      const [{ openWork }, { addLibrary }] = await Promise.all([import('#api/composition.ts'), import('#core/library/add-library.ts')])
      const work = await openWork({ settings: opened.settings, log, database: opened.database })
      try {
        const parts = { database: opened.database, scans: work.scans, rules: work.rules, settings: opened.settings }
        const { library, created } = await addLibrary(parts, { folder, ...(name === undefined ? {} : { name }) })
        if (!created) {
          out.line(`${printable(library.path)} is the library "${printable(library.name)}" already.`)
          return 0
        }
        out.line(`Added the library "${printable(library.name)}" (${printable(library.path)}).`)
        if (opened.serverRuns) await work.scans.start(library.id)
        out.line(opened.serverRuns ? 'The running server scans it.' : `It is scanned when the server starts, or now: ${typed('scan')}`)
      } finally {
        await work.close()
      }
      return 0
    } finally {
      await opened.close()
    }
  },
}

export const libraryList: Command = {
  name: 'library list',
  usage: '',
  summary: 'lists the libraries',
  about: 'Lists the libraries: name, folder, how many books, and how the last scan went.',
  flags: [],
  wordsMin: 0,
  wordsMax: 0,
  async run({ settings, out, log, stop }) {
    const opened = await openCommandDatabase({ settings, log, stop }, 'look')
    try {
      const { libraries } = await getLibrarySummary(opened.database)
      for (const library of libraries) {
        const scan = library.scanStatus === null ? 'never scanned' : `last scan ${library.scanStatus}`
        out.line(`${printable(library.name)}  ${printable(library.path)}  ${count(library.books, 'book')}, ${scan}`)
      }
      if (libraries.length === 0) out.line(`There is no library yet. Add one: ${typed('library add DIR')}`)
      return 0
    } finally {
      await opened.close()
    }
  },
}
