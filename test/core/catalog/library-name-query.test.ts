import t from 'tap'
import { requestLibraryAnalysis } from '#core/analysis/request-analyses.ts'
import { requestThumbnails } from '#core/analysis/request-thumbnails.ts'
import { getLibraryName, listLibraryNames, listVisibleLibraryIds } from '#core/catalog/library-name-query.ts'
import { getLibrary, listLibraries } from '#core/catalog/library-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { purgeDeletedOf, requestPurge } from '#core/scan/purge-deleted.ts'
import { reprocessLibraryTitles, reprocessTitles } from '#core/scan/reprocess-titles.ts'
import type { TaskAdder } from '#core/tasks/task.ts'
import { setTestRule } from '#test/support/access-rules.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller, addLibrary } from '#test/support/library-rows.ts'

const NOWHERE = '00000000-0000-4000-8000-000000000000'
const tasks: TaskAdder = { add: async () => refuse('conflict', 'Queued'), addMany: async () => refuse('conflict', 'Queued') }

t.test('a library that the caller may not see is answered like one that never existed', async (t) => {
  const { database } = await openTestDatabase(t)
  const kids = await addLibrary(database, { name: 'Kids' })
  const adults = await addLibrary(database, { name: 'Adults' })
  const caller = await addCaller(database, { role: 'maintainer' })
  await setTestRule(database, { user_id: caller.userId }, { libraries: [kids] })
  const dependencies = { database, tasks, dataFolder: '/nowhere' }
  const asks: Record<string, (libraryId: string) => Promise<unknown>> = {
    name: (libraryId) => getLibraryName(database, caller, libraryId),
    record: (libraryId) => getLibrary(database, caller, libraryId),
    analysis: (libraryId) => requestLibraryAnalysis(dependencies, caller, { libraryId, scope: 'all' }),
    thumbnails: (libraryId) => requestThumbnails(dependencies, caller, { of: 'books', libraryId }),
    purge: (libraryId) => requestPurge(dependencies, caller, libraryId),
    'purge at once': (libraryId) => purgeDeletedOf(dependencies, caller, libraryId),
    titles: (libraryId) => reprocessLibraryTitles(dependencies, caller, { libraryId }),
    'titles of all series': (libraryId) => reprocessTitles(dependencies, caller, { libraryId }),
  }
  for (const [what, ask] of Object.entries(asks)) {
    const refused = async (id: string) => await ask(id).then(String, ({ code, message }) => `${code}: ${message}`.replaceAll(id, '<id>'))
    t.equal(await refused(adults), 'not_found: There is no library <id>.', what)
    t.equal(await refused(adults), await refused(NOWHERE), what)
    t.not(await refused(kids), await refused(NOWHERE), `${what} of one that they see`)
  }
  t.same(await listVisibleLibraryIds(database, caller, [kids, adults, NOWHERE]), new Set([kids]))
  t.same(await listLibraryNames(database, caller, 10), [{ id: kids, name: 'Kids' }])
  t.match(await listLibraries(database, caller, { offset: 0, limit: 10 }), { items: [{ id: kids }], total: 1 })
})
