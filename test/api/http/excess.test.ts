import { randomUUID } from 'node:crypto'
import t from 'tap'
import Type from 'typebox'
import { compileInput } from '#api/http/input.ts'
import { Nullable, Uuid } from '#core/foundation/schema.ts'
import { jsonRequest } from '#test/support/json-request.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { endpoint } from '#test/support/route.ts'

const Body = Type.Object({
  ids: Type.Optional(Type.Array(Uuid, { maxItems: 5_000, uniqueItems: true })),
  map: Type.Optional(Type.Record(Type.String(), Type.Array(Type.Integer(), { maxItems: 3 }), { maxProperties: 10 })),
  'a/b': Type.Optional(Nullable(Type.Array(Type.Integer(), { maxItems: 2 }))),
  either: Type.Optional(
    Type.Union([Type.Array(Type.Integer(), { maxItems: 2 }), Type.Array(Type.String({ maxLength: 9 }), { maxItems: 4 })]),
  ),
})
const read = compileInput(
  endpoint({
    method: 'POST',
    changes: null,
    path: '/lists',
    summary: 'lists',
    tag: 'test',
    allow: { who: 'public' },
    body: Body,
    reply: Type.Null(),
    run: async () => null,
  }),
  { onUnknownQuery: null, bodyDeadlineMs: 30_000 },
)
const bodyOf = async (body: unknown) => (await read(jsonRequest(JSON.stringify(body)), {}, '')).body
const refused = (path: string, message: string, code = 'invalid_value') => ({ code, details: [{ path, message }] })

t.test('a list or map that is too long is told by itself', async (t) => {
  await t.rejects(bodyOf({ ids: Array.from({ length: 5_001 }, () => 'x') }), refused('/ids', 'must not have more than 5000 items'))
  const id = randomUUID()
  await t.rejects(bodyOf({ ids: [id, randomUUID(), id] }), refused('/ids', 'must not have duplicate items'))
  await t.rejects(bodyOf({ map: { 'x/y': [1, 2, 3, 4] } }), refused('/map/x~1y', 'must not have more than 3 items'))
  const names = Object.fromEntries(Array.from({ length: 11 }, (_entry, index) => [`n${index}`, []]))
  await t.rejects(bodyOf({ map: names }), refused('/map', 'must not have more than 10 properties'))
  await t.rejects(bodyOf({ 'a/b': [1, 2, 3] }), refused('/a~1b', 'must not have more than 2 items'))
  await t.rejects(bodyOf({ either: ['a', 'b', 'c', 'd', 'e'] }), { code: 'invalid_value' })
})

t.test('what fits passes, and other faults are told as before', async (t) => {
  const fit = [{}, { ids: [randomUUID()], 'a/b': null }, { either: ['a', 'b', 'c', 'd'] }, { map: { a: [1] } }]
  for (const body of fit) t.same(await bodyOf(body), body)
  await t.rejects(bodyOf({ ids: ['x'], more: 1 }), { code: 'invalid_request', details: { length: 2 } })
})

t.test('bodies of as many values as there may be are refused quickly', onlyCost, async (t) => {
  const many = Array.from({ length: 95_000 }, (_entry, index) => index)
  const attacks = [
    { ids: Array.from({ length: 27_000 }, () => randomUUID()) },
    { ids: many },
    { ids: Array.from({ length: 5_000 }, () => 'x') },
    { ids: Array.from({ length: 5_000 }, (_entry, index) => String(index)) },
    Object.fromEntries(many.map((index) => [`m${index}`, 1])),
    { map: Object.fromEntries(many.map((index) => [`m${index}`, 1])) },
  ]
  const begun = process.cpuUsage()
  for (const body of attacks) await t.rejects(bodyOf(body))
  const { user } = process.cpuUsage(begun)
  t.comment(`${Math.round(user / 1000)} ms`)
  t.ok(user < 4_000_000, 'each value is looked at once')
})
