import { type Command, CommandProblem } from '#api/cli/command.ts'
import { withLibrary } from '#api/cli/library.ts'
import { count } from '#api/cli/library-report.ts'
import { quoted, typed } from '#api/cli/typed.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import { listMissingBooks } from '#core/scan/missing-book-query.ts'

/** More would fill the terminal many times over; the API lists all of them in pages. */
const LISTED_MAX = 1_000

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const WHY = { file: 'its file is gone', folder: 'its folder is gone or empty', withheld: 'not marked as deleted: its disk may be missing' }

export const libraryMissing: Command = {
  name: 'library missing',
  usage: '<library>',
  summary: 'lists the missing books of a library, and removes them',
  about:
    'Lists the books of a library, given by name, id or folder, whose files are missing: since when and why. Removes books from the database with --remove or --remove-all; books whose disk may be missing stay.',
  flags: [
    { name: 'remove', value: 'ids', about: 'Removes these books: their ids, separated by commas.' },
    { name: 'remove-all', isSwitch: true, about: 'Removes all books that are marked as deleted. Confirm with --yes.' },
    { name: 'yes', isSwitch: true, about: 'Confirms --remove-all.' },
  ],
  run: (input) =>
    withLibrary(input, async ({ library, opened }) => {
      const { out } = input
      const { database, settings } = opened
      const chosen = input.flag('remove')?.split(',') ?? []
      const wrong = chosen.find((id) => !UUID.test(id))
      if (wrong !== undefined)
        throw new CommandProblem(`"${escapedText(wrong)}" is not the id of a book. Without --remove, this command lists the ids.`)
      const isAll = input.flag('remove-all') === 'true'
      if (isAll && chosen.length > 0) throw new CommandProblem('Use --remove or --remove-all, not both.')
      const { books, total } = await listMissingBooks(database, library.id, LISTED_MAX)
      if (isAll && input.flag('yes') !== 'true') {
        const again = typed(`library missing ${quoted(input.words[0] as string)} --remove-all --yes`)
        throw new CommandProblem(
          `This removes the missing books of "${escapedText(library.name)}" with their progress. To confirm: ${again}`,
        )
      }
      if (isAll || chosen.length > 0) {
        const { purgeBooks, purgeDeleted } = await import('#core/scan/purge-deleted.ts')
        const parts = { database, dataFolder: settings.dataFolder }
        const removed = isAll ? await purgeDeleted(parts, library.id) : await purgeBooks(parts, null, chosen)
        out.line(`Removed ${count(removed, 'book')}.`)
        return
      }
      for (const { id, path, since, why } of books) {
        out.line(escapedText(path.slice(library.path.length + 1)))
        out.line(`  ${id}  since ${since.toISOString().slice(0, 10)}: ${WHY[why]}`)
      }
      if (total > books.length) out.line(`and ${count(total - books.length, 'more book')}`)
      if (total === 0) out.line('No book is missing.')
    }),
}
