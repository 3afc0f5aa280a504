import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import t from 'tap'
import type { Kind } from '#core/fields/record-kind.ts'
import { applyChange } from '#core/metadata/apply-change.ts'
import { addEntry, type EntrySet, editEntry, removeEntry, replaceEntries } from '#core/metadata/edit-entries.ts'
import { isNames, SETS, type SetEntries, type SetName } from '#core/metadata/metadata-set.ts'
import { loadStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

const VALUES: { readonly [Name in EntrySet]: readonly [SetEntries[Name], SetEntries[Name], SetEntries[Name]] } = {
  alternateTitles: [
    { label: 'ja', title: 'Mine' },
    { label: 'ja', title: 'Other' },
    { label: 'de', title: 'Mine' },
  ],
  externalIds: [
    { source: 'one', externalId: '1', externalUrl: 'https://one.example.org/1', metadataHash: 'h' },
    { source: 'two', externalId: '2' },
    { source: 'one', externalId: '3' },
  ],
  externalLinks: [
    { source: 'one', url: 'https://one.example.org/1' },
    { source: 'two', url: 'https://two.example.org' },
    { source: 'one', url: 'https://one.example.org/3' },
  ],
  externalRatings: [
    { source: 'one', rating: 10.5, voteCount: 3 },
    { source: 'two', rating: 20 },
    { source: 'one', rating: 30 },
  ],
}

async function openShelf(t: Parameters<typeof openTestDatabase>[0]) {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series = await addSeries(database, { library_id, title: 'One' })
  const book = await addBook(database, { library_id, series_id: series, title: 'One 1' })
  return { database, ids: { series, book } }
}

const entriesOf = async (database: Knex, kind: Kind, id: string, set: EntrySet) => [
  ...((await loadStates(database, kind, [id], [set])).get(id)?.sets[set]?.entries.values() ?? []),
]

/** A change by a plugin or a file. */
async function say(
  database: Knex,
  of: { kind: Kind; id: string; set: EntrySet },
  giver: 'plugin' | 'embedded',
  change: object,
): Promise<void> {
  await database.transaction(async (trx) => {
    const before = (await loadStates(trx, of.kind, [of.id], [of.set])).get(of.id)
    if (!before) throw new Error('It is there')
    const { next } = applyChange(of.kind, before, { sets: { [of.set]: change } }, giver)
    await storeStates(trx, of.kind, [{ before, next }])
  })
}

for (const kind of ['series', 'book'] as const) {
  const sets = (SETS[kind] as readonly SetName[]).filter((name): name is EntrySet => !isNames(name))
  t.test(`no machine changes or removes entries of a ${kind} that a person entered`, async (t) => {
    const { database, ids } = await openShelf(t)
    const id = ids[kind]
    for (const set of sets) {
      const of = { kind, id, set }
      const [mine, other, different] = VALUES[set] as [never, never, never]
      const added = await addEntry(database, of, mine)
      t.equal(added.isNew, true)
      const asEntered = await entriesOf(database, kind, id, set)
      t.match(asEntered, [{ id: added.id, value: mine, giver: 'user' }], set)
      for (const giver of ['plugin', 'embedded'] as const) {
        await say(database, of, giver, { add: [different, other], remove: 'others' })
        t.match((await entriesOf(database, kind, id, set))[0], { id: added.id, value: mine, giver: 'user' })
        await say(database, of, giver, { remove: 'others' })
        t.same(await entriesOf(database, kind, id, set), asEntered, `${set} after ${giver}`)
      }

      // A person who gives an entry of a machine becomes its source.
      await say(database, of, 'plugin', { add: [other] })
      const [, row] = await entriesOf(database, kind, id, set)
      t.same(await addEntry(database, of, other), { id: row?.id, isNew: false })
      await say(database, of, 'plugin', { remove: 'others' })
      t.equal((await entriesOf(database, kind, id, set)).length, 2)
      t.equal(await removeEntry(database, of, { id: added.id }), true)
      t.equal(await removeEntry(database, of, { id: added.id }), false)
      t.match(await entriesOf(database, kind, id, set), [{ id: row?.id, value: other, giver: 'user' }])
    }
  })
}

/** Entries that were inserted by one statement have no order. */
const byId = (entries: readonly { id?: string }[]) => Object.fromEntries(entries.map((entry) => [entry.id, entry]))

t.test('an edited entry keeps its row; replacing all entries keeps equal ones', async (t) => {
  const { database, ids } = await openShelf(t)
  const of = { kind: 'series', id: ids.series, set: 'alternateTitles' } as const
  await say(database, of, 'plugin', { add: [VALUES.alternateTitles[0], VALUES.alternateTitles[1]] })
  const given = await entriesOf(database, 'series', ids.series, 'alternateTitles')
  const [first, second] = VALUES.alternateTitles.map((value) => given.find((entry) => isDeepStrictEqual(entry.value, value)))
  await editEntry(database, of, { id: first?.id as string, change: { title: 'Edited' } })
  t.match(byId(await entriesOf(database, 'series', ids.series, 'alternateTitles')), {
    [first?.id as string]: { value: { label: 'ja', title: 'Edited' }, giver: 'user' },
    [second?.id as string]: { giver: 'plugin' },
  })
  await t.rejects(editEntry(database, of, { id: ids.series, change: { title: 'x' } }), { code: 'not_found' })
  await replaceEntries(database, of, [VALUES.alternateTitles[1], { label: 'fr', title: 'Nouveau' }])
  const replaced = await entriesOf(database, 'series', ids.series, 'alternateTitles')
  t.match(byId(replaced), { [second?.id as string]: { giver: 'plugin' } })
  t.match(
    replaced.filter(({ id }) => id !== second?.id),
    [{ value: { label: 'fr', title: 'Nouveau' }, giver: 'user' }],
  )
  await replaceEntries(database, of, [])
  t.same(await entriesOf(database, 'series', ids.series, 'alternateTitles'), [])
})

t.test('concurrent additions do not exceed the maximum', async (t) => {
  const { database, ids } = await openShelf(t)
  const of = { kind: 'series', id: ids.series, set: 'alternateTitles' } as const
  const titles = Array.from({ length: 54 }, (_, index) => ({ label: 'ja', title: `Title ${index}` }))
  const done = await Promise.allSettled(titles.map((title) => addEntry(database, of, title)))
  t.equal(done.filter(({ status }) => status === 'fulfilled').length, 50)
  const refused = done.find((one) => one.status === 'rejected')
  t.match(refused?.reason, { code: 'invalid_value', message: 'There are 50 further titles already; delete some first.' })
})
