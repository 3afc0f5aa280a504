import t from 'tap'
import { type Described, shareComponents } from '#api/docs/openapi-shared.ts'

const object = (members: string, required: string[] = []) => ({
  type: 'object',
  ...(required.length > 0 && { required }),
  properties: Object.fromEntries([...members].map((name) => [name, { type: 'string', description: `the ${name} of it` }])),
})
const to = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` })
const answer = (schema: object) => ({ description: 'OK', content: { 'application/json': { schema } } })
const documentOf = (parts: Partial<Described>): Described => ({ paths: {}, schemas: {}, responses: {}, parameters: {}, ...parts })

t.test('bodies and answers without a name are called after what is done', async (t) => {
  const document = documentOf({
    paths: {
      '/a': {
        post: {
          operationId: 'makeA',
          requestBody: { content: { 'application/json': { schema: object('ab') } } },
          responses: { 200: answer(object('c')) },
        },
      },
      '/b': { get: { operationId: 'getB', responses: { 200: answer(object('c')) } } },
    },
  })
  shareComponents(document)
  t.same(document.schemas, { MakeABody: object('ab'), MakeAAnswer: object('c') })
  t.match(document.paths['/a'], { post: { requestBody: { content: { 'application/json': { schema: to('schemas', 'MakeABody') } } } } })
  t.same(document.responses, { MakeAAnswerResponse: answer(to('schemas', 'MakeAAnswer')) }, 'and what two answer is said once')
  t.match(document.paths['/b'], { get: { responses: { 200: to('responses', 'MakeAAnswerResponse') } } })
})

t.test('a name that another shape has is refused', async (t) => {
  const document = documentOf({
    schemas: { GetBAnswer: object('x') },
    paths: { '/b': { get: { operationId: 'getB', responses: { 200: answer(object('c')) } } } },
  })
  t.throws(() => shareComponents(document), /two schemas GetBAnswer/)
})

t.test('limits are told to those who send', async (t) => {
  const limited = () => ({ type: 'object', properties: { maximum: { type: 'integer', maximum: 9 } } })
  const document = documentOf({
    schemas: { Sent: limited(), Told: limited() },
    paths: {
      '/a': { post: { operationId: 'send', requestBody: { content: { x: { schema: to('schemas', 'Sent') } } }, responses: {} } },
    },
  })
  shareComponents(document)
  t.same(document.schemas, { Sent: limited(), Told: { type: 'object', properties: { maximum: { type: 'integer' } } } })
})

t.test('parameters of the path stand beside the methods that share them', async (t) => {
  const id = { name: 'id', in: 'path', required: true }
  const page = { name: 'page', in: 'query' }
  const document = documentOf({
    parameters: { id },
    paths: {
      '/a/{id}': {
        get: { operationId: 'getA', parameters: [to('parameters', 'id'), page], responses: {} },
        delete: { operationId: 'deleteA', parameters: [to('parameters', 'id')], responses: {} },
      },
      '/b/{id}': { get: { operationId: 'getB', parameters: [id], responses: {} } },
    },
  })
  shareComponents(document)
  t.same(document.paths, {
    '/a/{id}': {
      parameters: [to('parameters', 'id')],
      get: { operationId: 'getA', parameters: [page], responses: {} },
      delete: { operationId: 'deleteA', responses: {} },
    },
    '/b/{id}': { get: { operationId: 'getB', parameters: [id], responses: {} } },
  })
})
