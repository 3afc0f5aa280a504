import t from 'tap'
import { readKomgaCondition } from '#api/komga/condition.ts'
import { compileFilter } from '#core/catalog/filter-query.ts'
import { DEPTH_MAX } from '#core/catalog/list-condition.ts'

const ID = '00000000-0000-4000-8000-000000000000'
const caller = { userId: ID, permissions: new Set(['system-admin', 'progress-read']) } as never

t.test('every comparison that Komga knows is one of ours', async (t) => {
  const text = ['is', 'isNot', 'contains', 'doesNotContain', 'beginsWith', 'doesNotBeginWith', 'endsWith', 'doesNotEndWith']
  const texts = (field: string) => text.map((operator) => ({ [field]: { operator, value: 'x' } }))
  const either = (field: string, value: unknown) => ['is', 'isNot', 'IS'].map((operator) => ({ [field]: { operator, value } }))
  const none = (field: string) => ['isNull', 'isNotNull', 'isNullT'].map((operator) => ({ [field]: { operator } }))
  const flags = (field: string) => ['isTrue', 'IsFalse'].map((operator) => ({ [field]: { operator } }))
  const days = [
    { releaseDate: { operator: 'after', dateTime: '2024-01-01T00:00:00Z' } },
    { releaseDate: { operator: 'before', dateTime: '2024-01-01T00:00:00+01:00[Europe/Paris]' } },
    { releaseDate: { operator: 'isInTheLast', duration: 'P7D' } },
    { releaseDate: { operator: 'isNotInTheLast', duration: 'PT36H30M' } },
    ...none('releaseDate'),
  ]
  const author = either('author', { name: 'Ada', role: 'writer' }).concat(
    either('author', { name: 'Ada' }),
    either('author', { role: 'cover' }),
  )
  const common = [
    ...either('libraryId', ID),
    ...texts('title'),
    ...days,
    ...either('tag', 'x'),
    ...either('readStatus', 'in_progress'),
    ...author,
  ]
  const ofSeries = [
    ...[...common, ...either('collectionId', ID), ...flags('deleted'), ...flags('complete'), ...flags('oneShot'), ...texts('titleSort')],
    ...[...either('genre', 'x'), ...none('genre'), ...either('sharingLabel', 'x'), ...texts('publisher'), ...either('language', 'en')],
    ...[
      ...either('ageRating', 13),
      ...none('ageRating'),
      { ageRating: { operator: 'greaterThan', value: 3 } },
      ...either('seriesStatus', 'ongoing'),
    ],
  ]
  const ofBooks = [
    ...[...common, ...either('seriesId', ID), ...either('readListId', ID), ...flags('deleted'), ...flags('oneShot')],
    ...[{ type: 'GENERATED' }, { type: 'sidecar', selected: true }, { selected: false }, { type: null, selected: null }, {}].flatMap(
      (value) => either('poster', value),
    ),
    ...[{ numberSort: { operator: 'lessThan', value: 1.5 } }, ...either('mediaStatus', 'ready'), ...either('mediaProfile', 'Divina')],
  ]
  for (const [target, conditions] of [
    ['series', ofSeries],
    ['books', ofBooks],
  ] as const) {
    for (const condition of conditions)
      t.ok(compileFilter(readKomgaCondition(condition, target), target, caller).sql, `${target} ${JSON.stringify(condition)}`)
  }
})

t.test('several members of one object must all hold', async (t) => {
  const given = { seriesId: { operator: 'is', value: ID }, deleted: { operator: 'isFalse' }, tag: null }
  const said = { deleted: false, now: false }
  t.match(readKomgaCondition(given, 'books', said), { allOf: [{ seriesId: {} }, { deleted: { operator: 'isFalse' } }] })
  t.same(said, { deleted: true, now: false })
  const recent = { operator: 'isNotInTheLast', duration: 'P7D' }
  readKomgaCondition({ anyOf: [{ releaseDate: recent }] }, 'books', said)
  t.ok(said.now)
  t.same(readKomgaCondition({}, 'books'), { allOf: [] })
})

t.test('what is refused, with the path of the member', async (t) => {
  const table: [unknown, RegExp][] = [
    ['x', /condition must be an object/],
    [{ nope: { operator: 'is' } }, /condition\/nope is no field/],
    [{ constructor: { operator: 'is' } }, /constructor is no field/],
    [{ allOf: {} }, /allOf must be a list/],
    [{ allOf: [{ anyOf: [7] }] }, /allOf\/0\/anyOf\/0 must be an object/],
    [{ title: 'x' }, /title must be an object/],
    [{ title: { operator: 'toString', value: 'x' } }, /title\/operator is "tostring"/],
    [{ title: { operator: 'is', value: 7 } }, /title\/value must be a text/],
    [{ readStatus: { operator: 'is', value: 'half' } }, /value must be one of UNREAD/],
    [{ readStatus: { operator: 'is', value: 'constructor' } }, /value must be one of/],
    [{ libraryId: { operator: 'is', value: 'x' } }, /must be a UUID/],
    [{ releaseDate: { operator: 'isInTheLast', duration: 'a while' } }, /duration must be a time/],
    [{ releaseDate: { operator: 'after', dateTime: 'soon' } }, /must be a day/],
    [{ author: { operator: 'is', value: {} } }, /needs a name, a role or both/],
    [{ poster: { operator: 'is', value: 'GENERATED' } }, /value must be an object/],
    [{ poster: { operator: 'is', value: { type: 'constructor' } } }, /type must be one of GENERATED/],
    [{ poster: { operator: 'is', value: { selected: 'yes' } } }, /selected must be true or false/],
    [{ poster: { operator: 'isNull' } }, /is no operator/],
  ]
  for (const [given, message] of table)
    t.throws(
      () => compileFilter(readKomgaCondition(given, 'books'), 'books', caller),
      { code: 'invalid_request', message },
      JSON.stringify(given),
    )
  let deep: unknown = { title: { operator: 'is', value: 'x' } }
  for (let depth = 0; depth < DEPTH_MAX; depth++) deep = { allOf: [deep] }
  t.throws(() => compileFilter(readKomgaCondition(deep, 'books'), 'books', caller), { code: 'invalid_request', message: /deeper/ })
})
