import fc from 'fast-check'
import t from 'tap'
import {
  DEPTH_MAX,
  type FilterField,
  GROUPS_MAX,
  LEAVES_MAX,
  readCondition,
  VALUES_MAX,
  VALUES_TOTAL_MAX,
} from '#core/catalog/list-condition.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const FIELDS: Record<string, FilterField> = {
  title: { family: 'text' },
  readStatus: { family: 'word', words: ['read', 'unread'] },
  libraryId: { family: 'uuid' },
  hasError: { family: 'bool' },
  year: { family: 'number' },
  dateAdded: { family: 'date' },
}
const ID = '00000000-0000-4000-8000-000000000000'
const is = (value: unknown) => ({ operator: 'is', value })
const sets = (count: number) => ({
  anyOf: Array.from({ length: count }, () => ({ libraryId: { operator: 'in', values: Array(VALUES_MAX).fill(ID) } })),
})

t.test('invalid conditions are refused with the path of the member', async (t) => {
  const deep = (levels: number): unknown => (levels === 1 ? { title: is('x') } : { allOf: [deep(levels - 1)] })
  const table: [unknown, RegExp][] = [
    [null, /condition must be an object/],
    ['x', /condition must be an object/],
    [[], /condition must be an object/],
    [{}, /exactly one member/],
    [{ title: is('x'), year: { operator: 'eq', value: 1 } }, /exactly one member/],
    [{ allOf: { title: is('x') } }, /condition\/allOf must be a list/],
    [{ allOf: [{ title: is('x') }, { nope: is('x') }] }, /condition\/allOf\/1\/nope is not a filter field/],
    [{ constructor: is('x') }, /constructor is not a filter field/],
    [{ __proto__x: is('x') }, /is not a filter field/],
    [{ not: [] }, /condition\/not must be an object/],
    [{ title: 'x' }, /condition\/title must be an object/],
    [{ title: {} }, /title\/operator must be one of is, isNot/],
    [{ title: { operator: 'gt', value: 'x' } }, /title\/operator must be one of/],
    [{ title: { operator: 'toString', value: 'x' } }, /title\/operator/],
    [{ title: { operator: 'is' } }, /title\/value must be a text/],
    [{ title: is(5) }, /title\/value must be a text/],
    [{ title: is('x'.repeat(501)) }, /title\/value is longer/],
    [{ title: { operator: 'is', value: 'x', values: [] } }, /title\/values is not allowed/],
    [{ title: { operator: 'isNull', value: 'x' } }, /title\/value is not allowed/],
    [{ readStatus: is('half') }, /readStatus\/value must be one of read, unread/],
    [{ readStatus: { operator: 'contains', value: 'read' } }, /readStatus\/operator/],
    [{ libraryId: is('x') }, /libraryId\/value must be a UUID/],
    [{ libraryId: { operator: 'in', values: [ID, 'x'] } }, /libraryId\/values\/1 must be a UUID/],
    [{ libraryId: { operator: 'in', value: ID } }, /libraryId/],
    [{ libraryId: { operator: 'in', values: Array.from({ length: 501 }, () => ID) } }, /more than 500/],
    [sets(VALUES_TOTAL_MAX / VALUES_MAX + 1), /anyOf\/10\/libraryId\/values has too many entries: all sets together may have 5000/],
    [{ hasError: { operator: 'isTrue', value: true } }, /hasError\/value is not allowed/],
    [{ year: { operator: 'eq', value: '5' } }, /year\/value must be a number/],
    [{ year: { operator: 'between' } }, /year needs min, max/],
    [{ year: { operator: 'between', min: 1, maximum: 2 } }, /year\/maximum is not allowed/],
    [{ dateAdded: { operator: 'after', value: '0000-00-00' } }, /not a valid date/],
    [{ dateAdded: { operator: 'after', value: '2023-02-29' } }, /not a valid date/],
    [{ dateAdded: { operator: 'after', value: 'yesterday' } }, /must be a day/],
    [{ dateAdded: { operator: 'between', start: '2024-01-01', end: 5 } }, /dateAdded\/end must be a day/],
    [deep(DEPTH_MAX + 1), /deeper than 10/],
    [{ anyOf: Array.from({ length: LEAVES_MAX + 1 }, () => ({ title: is('x') })) }, /exceeds the limit of/],
    [{ anyOf: Array.from({ length: GROUPS_MAX }, () => ({ allOf: [] })) }, /anyOf\/499\/allOf exceeds the limit of 500 groups/],
  ]
  for (const [given, message] of table)
    t.throws(() => readCondition(given, FIELDS), { code: 'invalid_request', message }, JSON.stringify(given)?.slice(0, 80))
  t.doesNotThrow(() => readCondition(deep(DEPTH_MAX), FIELDS))
  t.doesNotThrow(() => readCondition({ anyOf: Array.from({ length: GROUPS_MAX - 1 }, () => ({ allOf: [] })) }, FIELDS))
  t.doesNotThrow(() => readCondition(sets(VALUES_TOTAL_MAX / VALUES_MAX), FIELDS))
  t.doesNotThrow(() => readCondition({ anyOf: Array.from({ length: LEAVES_MAX }, () => ({ title: is('x') })) }, FIELDS))
})

t.test('days last until the next, moments do not', async (t) => {
  const read = (operator: string, value: string) => readCondition({ dateAdded: { operator, value } }, FIELDS)
  t.match(read('after', '2024-02-29'), { operand: { low: { from: '2024-02-29T00:00:00.000Z', until: '2024-03-01T00:00:00.000Z' } } })
  t.match(read('after', '2024-02-29T10:00:00+02:00'), {
    operand: { low: { from: '2024-02-29T08:00:00.000Z', until: '2024-02-29T08:00:00.000Z' } },
  })
})

t.test('any input is parsed or refused', async () => {
  const anything = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue(),
      fc.record({ allOf: fc.array(tie('node'), { maxLength: 3 }) }),
      fc.record({ not: tie('node') }),
      fc.dictionary(
        fc.constantFrom(...Object.keys(FIELDS)),
        fc.record({ operator: fc.constantFrom('is', 'eq', 'between', 'in', 'isNull'), value: fc.jsonValue() }),
      ),
    ),
  })).node
  assertInTime(
    fc.property(anything, (given) => {
      try {
        readCondition(given, FIELDS)
      } catch (error) {
        if ((error as { code?: string }).code !== 'invalid_request') throw error
      }
    }),
    { numRuns: 500 },
  )
})
