import t from 'tap'
import Type from 'typebox'
import { openComponents } from '#api/docs/openapi-components.ts'
import { Paginated } from '#api/http/pagination.ts'
import { Noun } from '#core/foundation/schema.ts'

const Author = Noun('Author')({ name: Type.String() })
const Book = Noun('Book')({ title: Type.String(), authors: Type.Array(Author) })

t.test('what has a title is said once, wherever it stands', async (t) => {
  const components = openComponents()
  t.same(components.ofAnswer(Book), { $ref: '#/components/schemas/Book' })
  t.same(components.ofAnswer(Type.Object({ book: Type.Union([Book, Type.Null()]) })), {
    type: 'object',
    required: ['book'],
    properties: { book: { anyOf: [{ $ref: '#/components/schemas/Book' }, { type: 'null' }] } },
  })
  const { schemas } = components.finish()
  t.same(Object.keys(schemas), ['Author', 'Book'])
  t.match(schemas['Book'], { properties: { authors: { items: { $ref: '#/components/schemas/Author' } } } })
})

t.test('pages are named after what is on them', async (t) => {
  const components = openComponents()
  t.same(components.ofAnswer(Paginated(Book)), { $ref: '#/components/schemas/PaginatedBook' })
  t.match(components.ofAnswer(Paginated(Type.Object({}))), { type: 'object' })
  t.ok(components.finish().schemas['Links'])
})

t.test('what requests close and answers leave open has two names, and what is closed anyhow one', async (t) => {
  const components = openComponents()
  const Closed = Type.Object({ name: Type.String() }, { additionalProperties: false, title: 'Closed' })
  const request = components.ofRequest(Type.Object({ book: Book, closed: Closed }, { title: 'NewBook' }))
  components.ofAnswer(Type.Array(Book))
  components.ofAnswer(Closed)
  const { schemas } = components.finish()
  t.same(request, { $ref: '#/components/schemas/NewBook' })
  t.same(Object.keys(schemas), ['Author', 'AuthorInput', 'Book', 'BookInput', 'Closed', 'NewBook'])
  t.match(schemas['BookInput'], {
    additionalProperties: false,
    properties: { authors: { items: { $ref: '#/components/schemas/AuthorInput' } } },
  })
  t.notOk('additionalProperties' in (schemas['Book'] ?? {}))
})

t.test('one title for two shapes is refused, of answers and of requests', async (t) => {
  const Other = Noun('Book')({ title: Type.Integer() })
  const answers = openComponents()
  answers.ofAnswer(Book)
  t.throws(() => answers.ofAnswer(Other), /Two different schemas have the title Book/)
  const both = openComponents()
  both.ofAnswer(Book)
  both.ofRequest(Other)
  t.throws(() => both.finish(), /Two different schemas have the title Book/)
  const requests = openComponents()
  requests.ofRequest(Book)
  requests.ofRequest(Other)
  t.throws(() => requests.finish(), /Two different schemas have the title Book/)
})

t.test('parameters that many routes have are said once', async (t) => {
  const components = openComponents()
  const page = (maximum: number) => ({ name: 'page', in: 'query', required: false, schema: { type: 'integer', maximum } })
  const places = [9, 9, 9, 5].map((maximum) => components.parameter(page(maximum)))
  const { parameters } = components.finish()
  t.same(parameters, { 'query.page': page(9) })
  t.same(places, [...Array(3).fill({ $ref: '#/components/parameters/query.page' }), page(5)])
})

t.test('any name is said so that generators of clients read it', async (t) => {
  const schema = openComponents().ofAnswer(Type.Record(Type.String(), Type.Integer()))
  t.same(schema, { type: 'object', additionalProperties: { type: 'integer' } })
})

t.test('data that is called title is no name', async (t) => {
  const components = openComponents()
  components.ofAnswer(Type.Object({ title: Type.String() }, { default: { title: 'Dune' } }))
  t.same(components.finish().schemas, {})
})
