import t from 'tap'
import { NAMES_MAX } from '#core/taxonomy/name.ts'
import { addNames, checkRoom, setNames } from '#core/taxonomy/taxonomy-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addLibrary } from '#test/support/library-rows.ts'

const namesFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => `Tag ${first + index}`)

t.test('a record has room for so many names, however often some are added', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const rows = ['full', 'half'].map((path) => ({ library_id, path, title: path }))
  const [full = '', half = ''] = (await database('series').insert(rows).returning('id')).map(({ id }) => id as string)
  const of = { taxonomy: 'tag', bearer: 'series' } as const
  const countOf = async (series_id: string) => Number((await database('series_tags').where({ series_id }).count({ count: '*' }))[0]?.count)
  await setNames(database, { ...of, bearerId: full, names: namesFrom(0, 150) })
  await setNames(database, { ...of, bearerId: half, names: namesFrom(0, 10) })

  const names = namesFrom(100, 100)
  await checkRoom(database, { ...of, bearerIds: [full, half], names })
  t.same(await addNames(database, { ...of, bearerIds: [full, half], names }), new Set([full, half]))
  t.equal(await countOf(full), NAMES_MAX, 'those that it had already count once')
  t.equal(await countOf(half), 110)

  await t.rejects(checkRoom(database, { ...of, bearerIds: [half, full], names: ['One more'] }), { code: 'invalid_value', message: full })
  await checkRoom(database, { ...of, bearerIds: [half, full], names: ['Tag 0'] })
  t.same(await addNames(database, { ...of, bearerIds: [full, half], names: [...namesFrom(0, 5), 'One more'] }), new Set([half]))
  t.equal(await countOf(full), NAMES_MAX, 'a machine fills what there is')
  t.equal(await countOf(half), 111)
})
