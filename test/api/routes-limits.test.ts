import t from 'tap'
import Type from 'typebox'
import { closeObjects } from '#api/http/input.ts'
import { routes } from '#api/routes.ts'
import { FreeJson, FreeObject } from '#core/foundation/schema.ts'
import { unboundedIn } from '#test/support/schema-limits.ts'

t.test('every text, number, list and map that a request may hold has a limit', async (t) => {
  let count = 0
  const found: string[] = []
  for (const route of routes) {
    const { params, query } = route
    const body = route.kind === 'endpoint' ? route.body : undefined
    for (const [place, schema] of Object.entries({ params, query, body })) {
      if (schema === undefined) continue
      count++
      found.push(...unboundedIn(closeObjects(schema), `${route.method} ${route.path} ${place}`))
    }
  }
  t.ok(count > 200, 'the walk finds the schemas')
  t.same(found, [])
})

t.test('a schema without a limit is found by the walk', async (t) => {
  const open = [
    Type.String(),
    Type.String({ pattern: '^a{3}$' }),
    Type.String({ format: 'date-time' }),
    Type.Array(Type.Integer(), { maxItems: 3 }),
    Type.Array(Type.Integer({ minimum: 0, maximum: 9 })),
    Type.Number({ minimum: 0 }),
    Type.Number({ maximum: 0 }),
    Type.Array(Type.String(), { maxItems: 3 }),
    Type.Record(Type.String(), Type.Integer({ minimum: 0, maximum: 9 })),
    Type.Record(Type.String(), Type.Unknown(), { maxProperties: 3 }),
    Type.Unknown(),
    Type.Object({ a: Type.Optional(Type.Union([Type.String(), Type.Null()])) }),
    Type.Object({}, { additionalProperties: true }),
    Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({})]),
  ]
  for (const schema of open) t.not(unboundedIn(closeObjects(schema), 'it').length, 0, JSON.stringify(schema))
  const bounded = [
    Type.String({ maxLength: 3 }),
    Type.Enum(['a', 'b']),
    Type.Number({ minimum: 0, exclusiveMaximum: 3 }),
    Type.Object({ a: Type.Array(Type.String({ maxLength: 3 }), { maxItems: 3 }), b: Type.Optional(Type.Boolean()) }),
    FreeJson,
    FreeObject(),
  ]
  for (const schema of bounded) t.same(unboundedIn(closeObjects(schema), 'it'), [], JSON.stringify(schema))
})
