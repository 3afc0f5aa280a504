import t from 'tap'
import { NAMES_MAX } from '#core/metadata/name.ts'
import { addNames, checkRoom, removeNames, setNames } from '#core/metadata/taxonomy-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addLibrary } from '#test/support/library-rows.ts'

const namesFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => `Tag ${first + index}`)

t.test('a record has room for so many names, however often some are added', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const rows = ['full', 'half'].map((path) => ({ library_id, path, title: path }))
  const [full = '', half = ''] = (await database('series').insert(rows).returning('id')).map(({ id }) => id as string)
  const of = { taxonomy: 'tag', bearer: 'series', giver: 'user' } as const
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
  t.same(
    await addNames(database, { ...of, bearerIds: [full, half], names: [...namesFrom(0, 5), 'One more'], giver: 'embedded' }),
    new Set([half]),
  )
  t.equal(await countOf(full), NAMES_MAX, 'a machine fills what there is')
  t.equal(await countOf(half), 111)
})

t.test('people come first: what machines gave makes room, and what a person gave stays theirs', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const [{ id = '' } = {}] = await database('series').insert({ library_id, path: 'one', title: 'one' }).returning('id')
  const of = { taxonomy: 'tag', bearer: 'series', bearerIds: [id] } as const
  const givers = async () =>
    Object.fromEntries(
      (await database('series_tags').join('tags', 'tags.id', 'tag_id').select('name', 'given_by')).map((row) => [row.name, row.given_by]),
    )
  await addNames(database, { ...of, names: namesFrom(0, 100), giver: 'embedded' })
  await addNames(database, { ...of, names: namesFrom(50, 150), giver: 'plugin' })
  t.match(await givers(), { 'Tag 0': 'embedded', 'Tag 50': 'plugin', 'Tag 199': 'plugin' }, 'the stronger of two machines has given it')
  t.same(await addNames(database, { ...of, names: ['Tag 199'], giver: 'embedded' }), new Set(), 'the weaker one changes nothing')
  const mine = ['Tag 50', 'Mine', ...namesFrom(300, 60)]
  await checkRoom(database, { ...of, names: mine })
  t.same(await addNames(database, { ...of, names: mine, giver: 'user' }), new Set([id]))
  const given = await givers()
  t.equal(Object.keys(given).length, NAMES_MAX)
  t.equal(mine.filter((name) => given[name] === 'user').length, mine.length, 'all that the person gave')
  const count = (giver: string) => Object.values(given).filter((one) => one === giver).length
  t.same([count('embedded'), count('plugin')], [0, NAMES_MAX - mine.length], 'what files gave goes first')
  t.same(
    await removeNames(database, { ...of, names: ['Mine', 'Tag 199'], giver: 'embedded' }),
    new Set(),
    'a file takes only what a file gave',
  )
  t.same(await removeNames(database, { ...of, names: ['Mine', 'Tag 199'], giver: 'user' }), new Set([id]))
  const machine = Object.keys(given).find((name) => given[name] === 'plugin' && name !== 'Tag 199') as string
  await setNames(database, { ...of, bearerId: id, names: [machine] })
  t.same(await givers(), { [machine]: 'user' })
})
