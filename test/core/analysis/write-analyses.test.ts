import t from 'tap'
import { analyzeBook } from '#core/analysis/analyze-book.ts'
import type { NewAnnouncement } from '#core/events/event.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openLibraryFixture } from '#test/support/library-fixture.ts'
import { comicOfPages } from '#test/support/paged-comics.ts'
import { findPool } from '#test/support/pool.ts'

t.setTimeout(240_000)

t.test('the event of a file with another content names it, but not of one with the same pages', async (t) => {
  const fixture = await openLibraryFixture(t)
  fixture.put('a.cbz', comicOfPages('one'))
  await fixture.scan()
  const bookId = (await fixture.books()).get('a.cbz')?.id as string
  const announced: NewAnnouncement[] = []
  const { analyze } = findPool()
  const announcer = { soon: (some: readonly NewAnnouncement[]) => void announced.push(...some), close: async () => {} }
  const handler = analyzeBook({ database: fixture.database, analyze, dataFolder: fixture.dataFolder, log: silentLog, announcer })
  const run = {
    id: 'x',
    type: 'analyze_book' as const,
    params: {},
    bookId,
    progress() {},
    signal: new AbortController().signal,
    attempt: 1,
  }
  const fieldsAfter = async (content: string) => {
    announced.length = 0
    fixture.put('a.cbz', comicOfPages(content))
    await handler(run)
    return announced.flatMap(({ event }) => ('fields' in event ? (event.fields ?? []) : []))
  }
  const tagged = await fieldsAfter('one+tag')
  t.ok(tagged.includes('fileHash') && !tagged.includes('content'))
  t.ok((await fieldsAfter('two')).includes('content'))
})
