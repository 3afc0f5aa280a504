import t from 'tap'
import { readKomgaCondition } from '#api/komga/condition.ts'
import { compileSent } from '#api/komga/own-condition.ts'
import { DEPTH_MAX, LEAVES_MAX, VALUE_LENGTH_MAX } from '#core/catalog/list-condition.ts'

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
      t.ok(compileSent(readKomgaCondition(condition, target), target, caller).sql, `${target} ${JSON.stringify(condition)}`)
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
    [{ libraryId: { operator: 'is', value: 7 } }, /libraryId\/value must be a text/],
    [{ releaseDate: { operator: 'isInTheLast', duration: 'a while' } }, /duration must be a time/],
    [{ releaseDate: { operator: 'after', dateTime: 'soon' } }, /condition\/releaseDate\/dateTime must be a day/],
    [{ author: { operator: 'is', value: {} } }, /needs a name, a role or both/],
    [{ poster: { operator: 'is', value: 'GENERATED' } }, /value must be an object/],
    [{ poster: { operator: 'is', value: { type: 'constructor' } } }, /type must be one of GENERATED/],
    [{ poster: { operator: 'is', value: { selected: 'yes' } } }, /selected must be true or false/],
    [{ poster: { operator: 'isNull' } }, /is no operator/],
  ]
  for (const [given, message] of table)
    t.throws(
      () => compileSent(readKomgaCondition(given, 'books'), 'books', caller),
      { code: 'invalid_request', message },
      JSON.stringify(given),
    )
  let deep: unknown = { title: { operator: 'is', value: 'x' } }
  for (let depth = 0; depth < DEPTH_MAX; depth++) deep = { allOf: [deep] }
  t.throws(() => compileSent(readKomgaCondition(deep, 'books'), 'books', caller), { code: 'invalid_request', message: /deeper/ })
})

t.test('an error of a condition names the member as it was sent, not the one that it becomes here', async (t) => {
  const long = 'x'.repeat(VALUE_LENGTH_MAX + 1)
  const isTag = { tag: { operator: 'is', value: 'x' } }
  const table: ['books' | 'series', unknown, string][] = [
    ['series', { sharingLabel: { operator: 'is', value: 7 } }, '/condition/sharingLabel/value'],
    ['series', { titleSort: { operator: 'doesNotEndWith', value: 7 } }, '/condition/titleSort/value'],
    ['books', { numberSort: { operator: 'is', value: 'x' } }, '/condition/numberSort/value'],
    ['books', { ...isTag, title: { operator: 'is', value: long } }, '/condition/title/value'],
    ['books', { anyOf: [isTag, { ...isTag, title: { operator: 'is', value: 7 } }] }, '/condition/anyOf/1/title/value'],
    ['books', { allOf: [{ ...isTag, releaseDate: { operator: 'before', dateTime: 7 } }] }, '/condition/allOf/0/releaseDate/dateTime'],
    ['series', { author: { operator: 'isNot', value: { name: long, role: 'writer' } } }, '/condition/author'],
    ['books', { anyOf: Array.from({ length: LEAVES_MAX + 1 }, () => isTag) }, `/condition/anyOf/${LEAVES_MAX}/tag`],
  ]
  for (const [target, given, path] of table)
    t.throws(
      () => compileSent(readKomgaCondition(given, target), target, caller),
      { code: 'invalid_request', message: new RegExp(`^The member ${path.slice(1)} `), details: [{ path }] },
      path,
    )
  const reader = { userId: ID, permissions: new Set() } as never
  const labeled = readKomgaCondition({ sharingLabel: { operator: 'is', value: 'x' } }, 'series')
  t.throws(() => compileSent(labeled, 'series', reader), {
    code: 'forbidden',
    message: 'A filter of this request requires the permission system-admin.',
    details: { permission: 'system-admin' },
  })
})
