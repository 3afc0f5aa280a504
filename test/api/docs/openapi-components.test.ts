import t from 'tap'
import Type from 'typebox'
import { Components } from '#api/docs/openapi-components.ts'
import { Paginated } from '#api/http/pagination.ts'
import { describedAs, FreeJson, Noun, Nullable, OneOf, Timestamp } from '#core/foundation/schema.ts'

const Author = Noun('Author')({ name: Type.String() })
const Book = Noun('Book')({ title: Type.String(), authors: Type.Array(Author) })

t.test('what has a title is said once, wherever it stands', async (t) => {
  const components = new Components()
  t.same(components.schema(Book), { $ref: '#/components/schemas/Book' })
  t.same(components.schema(Type.Object({ book: Type.Union([Book, Type.Null()]) })), {
    type: 'object',
    required: ['book'],
    properties: { book: { anyOf: [{ $ref: '#/components/schemas/Book' }, { type: 'null' }] } },
  })
  const { schemas } = components.finish()
  t.same(Object.keys(schemas), ['Author', 'Book'])
  t.match(schemas['Book'], { properties: { authors: { items: { $ref: '#/components/schemas/Author' } } } })
})

t.test('pages are named after what is on them', async (t) => {
  const components = new Components()
  t.same(components.schema(Paginated(Book)), { $ref: '#/components/schemas/PaginatedBook' })
  t.match(components.schema(Paginated(Type.Object({}))), { type: 'object' })
  t.ok(components.finish().schemas['Links'])
})

t.test('one title for two shapes is refused', async (t) => {
  const components = new Components()
  components.schema(Book)
  t.throws(() => components.schema(Noun('Book')({ title: Type.Integer() })), /Two different schemas have the title Book/)
})

t.test('bodies and answers have one shape under one name, closed or not', async (t) => {
  const components = new Components()
  components.schema(Type.Object({ name: Type.String() }, { additionalProperties: false, title: 'Closed' }))
  components.schema(Noun('Closed')({ name: Type.String() }))
  t.same(components.finish().schemas['Closed'], { type: 'object', required: ['name'], properties: { name: { type: 'string' } } })
})

t.test('a plain value that may be null has two types, and so do words', async (t) => {
  const components = new Components()
  t.same(components.schema(Nullable(Type.Integer({ minimum: 1, description: 'inner' }), { description: 'outer' })), {
    type: ['integer', 'null'],
    minimum: 1,
    description: 'outer',
  })
  t.same(components.schema(Nullable(OneOf(['a', 'b']))), { type: ['string', 'null'], enum: ['a', 'b', null] })
  t.same(components.schema(Nullable(Author)), { anyOf: [{ $ref: '#/components/schemas/Author' }, { type: 'null' }] })
  t.same(components.schema(Timestamp), { type: 'string', format: 'date-time' })
})

t.test('words have a type, however they are declared', async (t) => {
  const components = new Components()
  t.same(components.schema(Type.Enum(['a', 'b'])), { type: 'string', enum: ['a', 'b'] })
  t.same(components.schema(OneOf(['a', 'b'])), { type: 'string', enum: ['a', 'b'] })
})

t.test('a value with a reader of its own is shown by its grammar', async (t) => {
  const shown = Type.Object({ not: Type.Optional(Type.Unsafe({ $ref: '#/components/schemas/Rule' })) }, { title: 'Rule' })
  const components = new Components()
  t.same(components.schema(Type.Object({ rule: describedAs(FreeJson, shown) })), {
    type: 'object',
    required: ['rule'],
    properties: { rule: { $ref: '#/components/schemas/Rule' } },
  })
  t.match(components.finish().schemas['Rule'], { properties: { not: { $ref: '#/components/schemas/Rule' } } })
})

t.test('any JSON has one name', async (t) => {
  const components = new Components()
  t.same(components.schema(Type.Object({ kept: FreeJson })), {
    type: 'object',
    required: ['kept'],
    properties: { kept: { $ref: '#/components/schemas/Json' } },
  })
})

t.test('parameters that several routes have are said once, those of another shape with their place or area', async (t) => {
  const components = new Components()
  const page = (maximum: number) => ({ name: 'page', in: 'query', schema: { type: 'integer', maximum } })
  const places = [9, 9, 9, 5, 5, 4, 4, 3].map((maximum) => components.parameter(page(maximum), 'books'))
  const { parameters } = components.finish()
  t.same(parameters, { page: page(9), 'page.query': page(4), 'page.books': page(5) })
  const to = (name: string) => ({ $ref: `#/components/parameters/${name}` })
  t.same(places, [...Array(3).fill(to('page')), ...Array(2).fill(to('page.books')), ...Array(2).fill(to('page.query')), page(3)])
})

t.test('headers are said once', async (t) => {
  const components = new Components()
  t.same(components.header('ETag'), { $ref: '#/components/headers/ETag' })
  t.match(components.finish().headers, { ETag: { description: /If-None-Match/, schema: { type: 'string' } } })
})

t.test('any name is said so that generators of clients read it', async (t) => {
  const schema = new Components().schema(Type.Record(Type.String(), Type.Integer()))
  t.same(schema, { type: 'object', additionalProperties: { type: 'integer' } })
})

t.test('data that is called title is no name', async (t) => {
  const components = new Components()
  components.schema(Type.Object({ title: Type.String() }, { default: { title: 'Dune' } }))
  t.same(components.finish().schemas, {})
})
