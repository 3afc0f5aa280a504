import t from 'tap'
import { eachById, eachId } from '#core/database/each-by-id.ts'
import { openTestDatabase } from '#test/support/database.ts'

t.test('rows are walked in the order of their ids, some at a time', async (t) => {
  const { database } = await openTestDatabase(t)
  const tags = ['a', 'b', 'c', 'd'].map((name) => ({ name }))
  const inserted: { id: string }[] = await database('sharing_tags').insert(tags, ['id'])
  const ids = inserted.map(({ id }) => id).sort()
  const pages: string[][] = []
  for await (const page of eachId(database('sharing_tags'), 3)) pages.push(page)
  t.same(pages, [ids.slice(0, 3), ids.slice(3)])

  const names: string[] = []
  for await (const rows of eachById<{ id: string; name: string }>(database('sharing_tags').select('id', 'name'), 2)) {
    names.push(...rows.map(({ name }) => name))
    await database('sharing_tags').whereIn('id', ids.slice(0, 2)).delete()
  }
  t.same(names.sort(), ['a', 'b', 'c', 'd'], 'rows that are removed meanwhile make it skip none')
  for await (const page of eachId(database('sharing_tags').where('name', 'nobody'), 2)) t.fail(`there is none: ${page}`)
})
