import t from 'tap'
import Type from 'typebox'
import { readId, trimTexts } from '#api/http/trim.ts'
import { FreeJson, FreeObject, Nullable, OneOf, Secret, UNTRIMMED, Uuid } from '#core/foundation/schema.ts'

t.test('texts lose the white space at their ends, wherever they stand', async (t) => {
  const schema = Type.Object({
    name: Type.String(),
    summary: Type.Optional(Nullable(Type.String())),
    tags: Type.Array(Type.String()),
    people: Type.Array(Type.Object({ name: Type.String() })),
    one: Type.Union([Type.Object({ text: Type.String() }), Type.Object({ other: Type.String() })]),
  })
  const body = {
    ...{ name: ' \t Saga\u00a0\n', summary: '\n\na  b\r\n', tags: ['  ', ' a b ', 'c'], people: [{ name: ' Ada ' }] },
    one: { other: ' x ' },
  }
  trimTexts(schema as never, body)
  t.same(body, { name: 'Saga', summary: 'a  b', tags: ['', 'a b', 'c'], people: [{ name: 'Ada' }], one: { other: 'x' } })
})

t.test('but not secrets, words of a list, what says so, and what no schema describes', async (t) => {
  const schema = Type.Object({
    password: Secret({ maxLength: 20 }),
    token: Nullable(Secret({ maxLength: 20 })),
    template: Type.String(UNTRIMMED),
    word: OneOf(['a', 'b']),
    own: FreeObject(),
    any: FreeJson,
    credentials: Type.Record(Type.String(), Type.String()),
  })
  const body = {
    ...{
      password: ' p ',
      token: ' t ',
      template: '{{title}} ',
      word: ' a ',
      own: { ' k ': ' v ' },
      any: [' x '],
      credentials: { key: ' k ' },
    },
    unknown: ' u ',
  }
  const before = structuredClone(body)
  trimTexts(schema as never, body)
  t.same(body, before)
})

t.test('identifiers become those that are kept, wherever a schema says that one stands', (t) => {
  const ID = '0198A0B1-0000-7000-8000-00000000ABCD'
  const own = ID.toLowerCase()
  const schema = Type.Object({
    id: Uuid,
    maybe: Nullable(Uuid),
    ids: Type.Array(Uuid),
    nested: Type.Object({ id: Type.Optional(Uuid) }),
    name: Type.String(),
    any: FreeJson,
  })
  const body = { id: ` ${ID} `, maybe: ID, ids: [ID, own], nested: { id: ID }, name: ID, any: { id: ID } }
  trimTexts(schema as never, body)
  t.same(body, { id: own, maybe: own, ids: [own, own], nested: { id: own }, name: ID, any: { id: ID } })
  t.equal(readId(Uuid as never, 'NOT ONE'), 'NOT ONE', 'what is none is told as it came')
  t.equal(readId(Type.String() as never, ID), ID)
  t.end()
})
