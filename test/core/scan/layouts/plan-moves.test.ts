import fc from 'fast-check'
import t from 'tap'
import { planMoves } from '#core/scan/layouts/plan-moves.ts'

const books = (moves: [from: string, to: string, count: number][]) =>
  moves.flatMap(([seriesId, target, count], index) =>
    Array.from({ length: count }, (_, n) => ({ id: `${seriesId}-${index}-${n}`, seriesId, target })),
  )
const ids = (...keys: string[]) => new Map(keys.map((key) => [key, `at ${key}`]))

t.test('series that keep their place are in no group', async (t) => {
  t.same(planMoves(books([['a', 'at a', 3]]), ids('a')), [])
})

t.test('several series become one: the largest keeps its row', async (t) => {
  const [group] = planMoves(
    books([
      ['a', 'new', 1],
      ['b', 'new', 2],
    ]),
    ids('a', 'b'),
  )
  t.equal(group?.targets.get('new')?.keeps, 'b')
  t.same(group?.emptied, ['a'])
})

t.test('the series that is there already keeps its row, although another one is larger', async (t) => {
  const [group] = planMoves(
    books([
      ['a', 'at b', 9],
      ['b', 'at b', 2],
    ]),
    ids('a', 'b'),
  )
  t.equal(group?.targets.get('at b')?.keeps, 'b')
})

t.test('a series that is split keeps its row with more than half of its books', async (t) => {
  const [group] = planMoves(
    books([
      ['a', 'one', 3],
      ['a', 'two', 2],
    ]),
    ids('a'),
  )
  t.equal(group?.targets.get('one')?.keeps, 'a')
  t.equal(group?.targets.get('two')?.keeps, null)
  t.same(group?.emptied, [])
  const [half] = planMoves(
    books([
      ['a', 'one', 2],
      ['a', 'two', 2],
    ]),
    ids('a'),
  )
  t.same([half?.targets.get('one')?.keeps, half?.targets.get('two')?.keeps], [null, null])
  t.same(half?.emptied, ['a'])
})

t.test('two series that exchange their places are one group', async (t) => {
  const groups = planMoves(
    books([
      ['a', 'at b', 1],
      ['b', 'at a', 1],
    ]),
    ids('a', 'b'),
  )
  t.equal(groups.length, 1)
  t.equal(groups[0]?.targets.get('at b')?.keeps, 'a')
})

t.test('any plan: each book once, each row at most once, and no row both kept and emptied', async (t) => {
  const key = fc.integer({ min: 0, max: 6 }).map(String)
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.array(fc.tuple(key, key), { maxLength: 40 }), (pairs) => {
        const given = pairs.map(([from, to], index) => ({ id: String(index), seriesId: from, target: `at ${to}` }))
        const groups = planMoves(given, ids('0', '1', '2', '3', '4', '5', '6'))
        const targets = groups.flatMap((group) => [...group.targets.values()])
        const moved = targets.flatMap((target) => target.books.map(({ id }) => id))
        const kept = targets.flatMap(({ keeps }) => keeps ?? [])
        const emptied = groups.flatMap((group) => group.emptied)
        const rest = given.filter(({ id }) => !moved.includes(id))
        return (
          new Set(moved).size === moved.length &&
          new Set([...kept, ...emptied]).size === kept.length + emptied.length &&
          rest.every(({ seriesId, target }) => `at ${seriesId}` === target)
        )
      }),
    ),
  )
})
