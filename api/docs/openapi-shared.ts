import type { Json } from '#api/docs/openapi-headers.ts'

interface Shape extends Json {
  properties: Record<string, unknown>
}
type Schemas = Record<string, Json>

/** The parts of a document that refer to each other. */
export interface Described {
  paths: Record<string, Record<string, Json>>
  schemas: Schemas
  responses: Record<string, Json>
  parameters: Record<string, Json>
}

/** Names all shapes that a client meets, and turns repeated parts into components. Changes the document in place. */
export function shareComponents(document: Described): void {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods)) as Operation[]
  for (const item of Object.values(document.paths)) shareParameters(item, document.parameters)
  for (const operation of operations) nameShapes(operation, document.schemas)
  for (const shape of shapesIn(document.schemas)) dropLockDescriptions(shape)
  dropLimitsOfAnswers(operations, document.schemas)
  shareAnswers(operations, document.responses)
}

/** Moves the path parameters that all operations of a path share to the path. */
function shareParameters(item: Json, components: Record<string, Json>): void {
  const operations = Object.values(item) as Operation[]
  const isInPath = (parameter: Json) => {
    const name = String(parameter['$ref'] ?? '').replace('#/components/parameters/', '')
    return (components[name] ?? parameter)['in'] === 'path'
  }
  const [first, ...others] = operations.map(({ parameters = [] }) => parameters.filter(isInPath).map((one) => textOf(one)))
  const common = new Set(first?.filter((text) => others.every((texts) => texts.includes(text))))
  if (others.length === 0 || common.size === 0) return
  for (const operation of operations) {
    operation.parameters = operation.parameters?.filter((parameter) => !common.has(textOf(parameter))) ?? []
    if (operation.parameters.length === 0) delete operation.parameters
  }
  item['parameters'] = [...common].map((text) => JSON.parse(text ?? ''))
}

type Content = Record<string, { schema?: Json }>
interface Answer extends Json {
  description?: string
  content?: Content
}
interface Operation extends Json {
  operationId: string
  requestBody?: { content: Content }
  parameters?: Json[]
  responses: Record<string, Answer>
}

/** Names a body or an answer without a title after its operation; equal shapes share one name. */
function nameShapes({ operationId, requestBody, responses }: Operation, schemas: Schemas): void {
  const known = new Map(Object.entries(schemas).map(([name, schema]) => [textOf(schema), name]))
  const nameIn = (content: Content = {}, suffix: string) => {
    for (const media of Object.values(content)) {
      const { schema } = media
      if (schema === undefined || (schema['type'] !== 'object' && !Array.isArray(schema['anyOf']))) continue
      const name = known.get(textOf(schema)) ?? `${operationId.slice(0, 1).toUpperCase()}${operationId.slice(1)}${suffix}`
      if (name in schemas && textOf(schemas[name]) !== textOf(schema)) throw new Error(`There are two schemas ${name}: give one a title.`)
      schemas[name] = schema
      media.schema = { $ref: `#/components/schemas/${name}` }
    }
  }
  nameIn(requestBody?.content, 'Body')
  for (const { content } of Object.values(responses)) nameIn(content, 'Answer')
}

const LOCK = /^Whether \w+ is kept from being changed by machines\.$/

/** Drops the description of single locks: a lock means the same for every field, and the shape of all locks describes it. */
function dropLockDescriptions({ properties }: Shape): void {
  for (const member of Object.values(properties) as Json[])
    if (member['type'] === 'boolean' && LOCK.test(String(member['description']))) delete member['description']
}

const LIMITS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'maxProperties', 'pattern', 'uniqueItems']

/** Drops limits from shapes that occur only in answers: limits concern senders. */
function dropLimitsOfAnswers(operations: readonly Operation[], schemas: Schemas): void {
  const sent = new Set<string>()
  const follow = (node: unknown): void => {
    for (const [, name = ''] of (textOf(node) ?? '').matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (sent.has(name)) continue
      sent.add(name)
      follow(schemas[name])
    }
  }
  for (const { requestBody, parameters } of operations) follow({ requestBody, parameters })
  const drop = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    // The members of `properties` are schemas, whose names may equal a keyword.
    for (const [key, member] of Object.entries(node)) {
      if (key === 'properties') for (const schema of Object.values(member as Json)) drop(schema)
      else if (LIMITS.includes(key)) delete (node as Json)[key]
      else if (key !== 'enum' && key !== 'const') drop(member)
    }
  }
  for (const [name, schema] of Object.entries(schemas)) if (!sent.has(name)) drop(schema)
}

/** Turns equal answers of several operations into components, named after their schema. */
function shareAnswers(operations: readonly Operation[], components: Record<string, Json>): void {
  const uses = new Map<string, number>()
  const all = operations.flatMap(({ responses }) => Object.entries(responses).map(([status, answer]) => ({ responses, status, answer })))
  for (const { answer } of all) uses.set(JSON.stringify(answer), (uses.get(JSON.stringify(answer)) ?? 0) + 1)
  for (const { responses, status, answer } of all) {
    const { $ref, items } = (answer.content?.['application/json']?.schema ?? {}) as { $ref?: string; items?: { $ref?: string } }
    const [mediaType = ''] = Object.keys(answer.content ?? {})
    const reference = $ref ?? items?.$ref ?? mediaType
    if (reference === '' || reference === 'application/json' || (uses.get(JSON.stringify(answer)) ?? 0) < 2) continue
    const word = status === '200' ? '' : answer.description?.replaceAll(' ', '')
    const [subject = ''] = reference.split('/').slice(-1)
    const name = `${subject.slice(0, 1).toUpperCase()}${subject.slice(1)}${items?.$ref ? 'List' : ''}${word}Response`
    if (name in components && textOf(components[name]) !== textOf(answer)) continue
    components[name] = answer
    responses[status] = { $ref: `#/components/responses/${name}` }
  }
}

const isShape = (node: Json): node is Shape => node['type'] === 'object' && typeof node['properties'] === 'object'
const textOf = (node: unknown): string | undefined => JSON.stringify(node)

function shapesIn(node: unknown): Shape[] {
  if (typeof node !== 'object' || node === null) return []
  const inner = Object.entries(node).flatMap(([key, member]) => (key === 'example' ? [] : shapesIn(member)))
  return isShape(node as Json) ? [node as Shape, ...inner] : inner
}
