import t from 'tap'
import {
  countLines,
  DEPTH_MAX,
  type Line,
  newGroup,
  newLine,
  readDraft,
  withPart,
  writeDraft,
} from '../../../../../../web/src/pages/browse/filter/draft.ts'

const CONDITION = {
  allOf: [
    { anyOf: [{ tag: { operator: 'is', value: 'Sea' } }, { tag: { operator: 'is', value: 'Folklore' } }] },
    { year: { operator: 'between', min: 1990, max: 2026 } },
    { anyOf: [{ readStatus: { operator: 'is', value: 'unread' } }, { userRating: { operator: 'gte', value: 8 } }] },
    { not: { anyOf: [{ title: { operator: 'contains', value: 'x' } }, { dateAdded: { operator: 'after', value: '2024-02-29' } }] } },
    { libraryId: { operator: 'notIn', values: ['a', 'b'] } },
    { wantToRead: { operator: 'isTrue' } },
    { publisher: { operator: 'isNull' } },
  ],
}

const line = (field: string, change: Partial<Line>): Line => ({ ...newLine('series', field), ...change })

t.test('a condition is read and written as the same condition', (t) => {
  const draft = readDraft('series', CONDITION)
  t.ok(draft)
  if (!draft) return t.end()
  t.same(writeDraft('series', draft).condition, CONDITION)
  t.equal(countLines(draft), 9, 'several values of one field are one line')
  t.match(draft.parts[0], { kind: 'line', values: ['Sea', 'Folklore'] })
  t.end()
})

t.test('the places of lines are those that the API names in its errors', (t) => {
  const draft = readDraft('series', CONDITION)
  const places = draft && [...writeDraft('series', draft).places.keys()]
  t.same(places?.slice(0, 3), ['/condition/allOf/0', '/condition/allOf/1', '/condition/allOf/2/anyOf/0'])
  t.equal(places?.[4], '/condition/allOf/3/not/anyOf/0')
  t.end()
})

t.test('what this version does not know is not understood', (t) => {
  const nested = Array.from({ length: DEPTH_MAX + 1 }).reduce((inner: unknown) => ({ not: inner }), { wantToRead: { operator: 'isTrue' } })
  const bad = [
    null,
    'x',
    [],
    {},
    { allOf: 1 },
    { allOf: [null] },
    { color: { operator: 'is', value: 'red' } },
    { __proto__: null, toString: { operator: 'is', value: 'x' } },
    { tag: { operator: 'near', value: 'Sea' } },
    { tag: { operator: 'is', value: 1 } },
    { tag: { operator: 'is', value: 'a' }, genre: { operator: 'is', value: 'b' } },
    { readStatus: { operator: 'is', value: 'burnt' } },
    { year: { operator: 'gt', value: 'soon' } },
    { dateAdded: { operator: 'after', value: '2024-13-01' } },
    { anyOf: Array.from({ length: 201 }, () => ({ year: { operator: 'gt', value: 1 } })) },
    nested,
  ]
  for (const each of bad) t.equal(readDraft('series', each), null, JSON.stringify(each)?.slice(0, 80))
  t.end()
})

t.test('lines with faults are named and left out', (t) => {
  const lines = [
    line('tag', {}),
    line('year', { operator: 'gt', low: 'thirty' }),
    line('dateAdded', { operator: 'before', low: '31.12.2024' }),
    line('year', { operator: 'between' }),
    line('year', { operator: 'between', low: '9', high: '10' }),
    line('year', { operator: 'between', low: '10', high: '9' }),
    line('genre', { values: ['Drama'] }),
  ]
  const { condition, faults } = writeDraft('series', newGroup('all', [...lines, newGroup('any', [line('tag', {})])]))
  t.same([...faults.values()], ['valueMissing', 'noNumber', 'noDay', 'rangeMissing', 'rangeTurned', 'valueMissing'])
  t.same(condition, { allOf: [{ year: { operator: 'between', min: 9, max: 10 } }, { genre: { operator: 'is', value: 'Drama' } }] })
  t.equal(writeDraft('series', newGroup('none', [newGroup('all')])).condition, null, 'nothing restricts')
  t.end()
})

t.test('a part is changed and removed at any depth', (t) => {
  const deep = line('tag', { values: ['Sea'] })
  const root = newGroup('all', [newGroup('any', [newGroup('none', [deep])])])
  const changed = withPart(root, deep.id, (part) => ({ ...(part as Line), values: ['Fog'] }))
  t.same(writeDraft('series', changed).condition, { not: { tag: { operator: 'is', value: 'Fog' } } })
  t.equal(
    writeDraft(
      'series',
      withPart(root, deep.id, () => null),
    ).condition,
    null,
  )
  t.end()
})
