import t from 'tap'
import { recordEmbedded } from '#core/analysis/record-embedded.ts'
import type { Embedded } from '#core/fields/embedded.ts'
import { applyChange, type MetadataChange } from '#core/metadata/apply-change.ts'
import { SETS } from '#core/metadata/metadata-set.ts'
import { loadStates, type StoredState, storeStates } from '#core/metadata/metadata-state-store.ts'
import { reapplyEmbedded } from '#core/metadata/reapply-embedded.ts'
import { differenceOf, undoDifference } from '#core/metadata/undo-change.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

const NAME = '02 From the name.cbz'

t.test('undo restores the current metadata of the file, not what the file no longer contains', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  await database('libraries').update({ book_strategy: 'metadata_first' })
  const series_id = await addSeries(database, { library_id, title: 'One' })
  const bookId = await addBook(database, { library_id, series_id, title: 'One', file_name: NAME })
  const read = async (embedded: Embedded) =>
    await database.transaction((trx) =>
      recordEmbedded(trx, [{ bookId, fileName: NAME, bookStrategy: 'metadata_first', numberStrategy: 'smart', embedded }]),
    )
  const load = async () => (await loadStates(database, 'book', [bookId], SETS.book)).get(bookId) as StoredState
  const change: MetadataChange<'book'> = {
    values: { title: 'Plugin', summary: 'Plugin', year: 2020, publisher: 'Plugin', authors: [{ name: 'Plugin', role: 'writer' }] },
    sets: {
      genres: { add: ['Plugin'], remove: 'others' },
      tags: { add: ['Plugin'], remove: 'others' },
      externalIds: { add: [{ source: 'goodreads', externalId: 'plugin' }] },
      externalLinks: { add: [{ source: 'site', url: 'https://example.org/plugin' }] },
    },
  }

  await read({
    ...{ title: 'Old', genres: ['Old', 'Kept'], tags: ['Old', 'Kept'], externalIds: { goodreads: '1' } },
    links: [{ source: 'site', url: 'https://example.org/old' }],
    book: { summary: 'Old', year: 1990, publisher: 'Kept', authors: [{ name: 'Old', role: 'writer' }] },
  })
  const before = await load()
  const { next } = applyChange('book', before, change, 'plugin')
  await storeStates(database, 'book', [{ before, next }])
  const difference = differenceOf('book', before, await load())
  const same = undoDifference('book', await load(), difference)
  const { values, sources } = await reapplyEmbedded(database, { ...(await load()), ...same.next }, same.undone)
  t.same([values, sources], [before.values, before.sources], 'a file with the same metadata')

  await read({ genres: ['Kept'], tags: ['Kept'], book: { publisher: 'Kept', year: 1991, authors: [{ name: 'New', role: 'writer' }] } })
  const hidden = await load()
  t.match(hidden.values, { title: 'Plugin', summary: 'Plugin', year: 2020 })
  const undone = undoDifference('book', hidden, difference)
  const after = await reapplyEmbedded(database, { ...hidden, ...undone.next }, undone.undone)
  t.match(after.values, { title: 'From the name', year: 1991, publisher: 'Kept', authors: [{ name: 'New' }] })
  t.match(after.sources, { title: 'file_name', year: 'embedded', publisher: 'embedded' })
  t.equal(after.values['summary'], undefined)
  for (const name of SETS.book)
    t.same([...(after.sets[name]?.entries.keys() ?? [])], name === 'genres' || name === 'tags' ? ['kept'] : [], name)
})
