import t from 'tap'
import { down, up } from '#migrations/0017_who_gave_it.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('what files say is theirs, and all else that is there counts as a person’s', async (t) => {
  const { database } = await openTestDatabase(t)
  await down(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'One' })
  const book_id = await addBook(database, { library_id, series_id, title: 'One 1' })
  const tags = ['Ärger  von  Haus', 'Mine'].map((name) => ({
    name: name.replaceAll(/\s+/g, ' '),
    name_key: name.replaceAll(/\s+/g, ' ').toLowerCase(),
  }))
  const ids = (await database('tags').insert(tags).returning('id')).map(({ id }) => id as string)
  await database('book_tags').insert(ids.map((tag_id) => ({ book_id, tag_id })))
  await database('series_tags').insert(ids.map((tag_id) => ({ series_id, tag_id })))
  const link = { source: 'web', url: 'https://example.org/a' }
  await database('book_external_links').insert([link, { source: 'mine', url: 'https://example.org/b' }].map((one) => ({ book_id, ...one })))
  await database('series_external_links').insert({ series_id, ...link })
  await database('book_external_ids').insert([
    { book_id, source: 'goodreads', external_id: '1' },
    { book_id, source: 'mine', external_id: '2' },
  ])
  await database('series_alternate_titles').insert([
    { series_id, label: 'ja', title: 'いち "1"' },
    { series_id, label: 'de', title: 'Eins' },
  ])
  const embedded = { tags: [' ÄRGER von\tHaus'], links: [link], externalIds: { goodreads: '1', mine: '3' }, series: { links: [link] } }
  await database('book_metadata').insert({ book_id, embedded: JSON.stringify(embedded) })
  const seeded = { tags: ['ärger von haus'], alternateTitles: [JSON.stringify(['ja', 'いち "1"'])] }
  await database('series_metadata').insert({ series_id, seeded: JSON.stringify(seeded) })

  await up(database)
  const giversOf = async (table: string, column: string, name = false) => {
    const query = database(table)
    if (name) query.join('tags', 'tags.id', 'tag_id')
    return Object.fromEntries((await query).map((row) => [row[column], row.given_by]))
  }
  const names = { 'Ärger von Haus': 'embedded', Mine: 'user' }
  t.same(await giversOf('book_tags', 'name', true), names)
  t.same(await giversOf('series_tags', 'name', true), names)
  t.same(await giversOf('book_external_links', 'source'), { web: 'embedded', mine: 'user' })
  t.same(await giversOf('series_external_links', 'source'), { web: 'embedded' })
  t.same(await giversOf('book_external_ids', 'source'), { goodreads: 'embedded', mine: 'user' })
  t.same(await giversOf('series_alternate_titles', 'label'), { ja: 'embedded', de: 'user' })
})
