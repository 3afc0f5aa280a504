import type { SchemaObject } from 'ajv/dist/2020.js'
import type { OpenApi } from '#api/docs/openapi.ts'
import { LISTS_OF_SERIES } from '#test/support/expected-shapes.ts'
import { type InterfaceReference, nameOfRoute, readType } from '#test/support/interface-reference.ts'

/**
 * The differences between our OpenAPI document and the API reference, shape by shape: a missing operation, query parameter or member, an optional
 * member of a response, a required member of a request, another type. Each is `<shape>.<member>` or `<operation>` with its difference. Additional
 * members are not differences; neither are statuses, which have their own table.
 */
export function listDifferences(reference: InterfaceReference, described: OpenApi): ReadonlyMap<string, string> {
  const differences = new Map<string, string>()
  const ours = new Map(
    Object.entries(described.paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([method]) => method !== 'parameters')
        .map(([method, operation]) => [nameOfRoute(method.toUpperCase(), path), operation as unknown as Operation]),
    ),
  )
  const find = {
    theirs: (schema: SchemaObject) => reference.shapes[nameOf(schema) ?? ''] ?? schema,
    ours: (schema: SchemaObject) => deref(described, schema),
  }
  for (const { name, query, body } of reference.operations) {
    const operation = ours.get(name)
    if (operation === undefined) {
      differences.set(name, 'is not there')
      continue
    }
    const compare = (direction: Direction, theirs: SchemaObject, own: SchemaObject | undefined) =>
      own === undefined
        ? differences.set(name, `${direction} is no JSON`)
        : compareShapes({ direction, find, differences }, { at: name, theirs, own })
    const parameters = (operation.parameters ?? []).map((parameter) => deref(described, parameter))
    for (const [parameter, type] of query) {
      const own = parameters.find((one) => one['in'] === 'query' && one['name'] === parameter)
      if (own === undefined) differences.set(`${name} ?${parameter}`, 'is not there')
      // A query has no null.
      else
        compareShapes(
          { direction: 'request', find, differences },
          { at: `${name} ?${parameter}`, theirs: withoutNull(type), own: own['schema'] },
        )
    }
    if (body) compare('request', body, operation.requestBody?.content?.['application/json']?.schema)
    const answer = LISTS_OF_SERIES.has(name) ? SERIES_LIST : reference.answers.get(name)
    const [good] = Object.entries(operation.responses).find(([status]) => status < '300') ?? []
    if (answer && good) {
      const { content } = deref(described, operation.responses[good] as SchemaObject)
      compare('answer', readType(answer), content?.['application/json']?.schema)
    }
  }
  return differences
}

type Direction = 'request' | 'answer'
interface Operation {
  parameters?: SchemaObject[]
  requestBody?: { content?: Record<string, { schema: SchemaObject }> }
  responses: Record<string, SchemaObject>
}
interface Comparison {
  direction: Direction
  find: Record<'theirs' | 'ours', (schema: SchemaObject) => SchemaObject>
  differences: Map<string, string>
}

/** The reference names one shape for every list; these lists have series. */
const SERIES_LIST = '{ data: SeriesDto[]; links: PaginationLinks; page: int64; pageSize: int64; total: int64; totalPages: int64 }'
/** Deeper than any shape of the reference; none of them refers to itself. */
const DEPTH_MAX = 12

function compareShapes(comparison: Comparison, place: { at: string; theirs: SchemaObject; own: SchemaObject; depth?: number }): void {
  const { direction, find, differences } = comparison
  const { theirs, own, depth = 0 } = place
  if (depth > DEPTH_MAX) return
  const [a, b] = [alternatives(theirs, find.theirs), alternatives(own, find.ours)]
  const [named] = a.flatMap(({ name }) => name ?? [])
  const at = named ?? place.at
  const [left, right] = [new Set(a.map(({ schema }) => typeOf(schema))), new Set(b.map(({ schema }) => typeOf(schema)))]
  if (left.has('any') || right.has('any')) return
  const [given, taken] = direction === 'answer' ? [right, left] : [left, right]
  const strange = [...given].filter((type) => !taken.has(type) && !(type === 'integer' && taken.has('number')))
  if (strange.length > 0)
    differences.set(place.at, direction === 'answer' ? `may be ${strange.sort().join(' or ')}` : `cannot be ${strange.sort().join(' or ')}`)
  const [known, objects] = [objectOf(a), objectOf(b)]
  if (known && objects) {
    for (const [name, member] of Object.entries(known.properties)) {
      const mine = objects.properties[name]
      if (mine === undefined) differences.set(`${at}.${name}`, 'is not there')
      else if (direction === 'answer' && known.required.has(name) && !objects.required.has(name))
        differences.set(`${at}.${name}`, 'may be absent')
      if (mine !== undefined) compareShapes(comparison, { at: `${at}.${name}`, theirs: member, own: mine, depth: depth + 1 })
    }
    if (direction === 'request')
      for (const name of objects.required) if (!known.required.has(name)) differences.set(`${at}.${name}`, 'is required')
  }
  const [items, ownItems] = [a, b].map((all) => all.find(({ schema }) => schema['items'] !== undefined)?.schema['items'])
  if (items && ownItems) compareShapes(comparison, { at: `${at}[]`, theirs: items, own: ownItems, depth: depth + 1 })
  compareWords(comparison, at, [a, b])
}

function compareWords({ direction, differences }: Comparison, at: string, sides: [Alternative[], Alternative[]]): void {
  const [theirs, own] = sides.map((side) =>
    side.flatMap(
      ({ schema }) => schema['enum']?.filter((word: unknown) => word !== null) ?? (schema['const'] === undefined ? [] : [schema['const']]),
    ),
  )
  if (!theirs?.length || !own?.length) return
  const [given, taken] = direction === 'answer' ? [own, theirs] : [theirs, own]
  const strange = given.filter((word) => !taken.includes(word))
  if (strange.length > 0)
    differences.set(at, `${direction === 'answer' ? 'may be' : 'cannot be'} ${strange.map((word) => `"${word}"`).join(', ')}`)
}

interface Alternative {
  schema: SchemaObject
  /** The name of the type in the reference. */
  name?: string
}

function alternatives(given: SchemaObject, find: (schema: SchemaObject) => SchemaObject): Alternative[] {
  const schema = find(given)
  const any = schema['anyOf'] ?? schema['oneOf']
  const name = given === schema ? undefined : nameOf(given)
  if (Array.isArray(any))
    return any.flatMap((one) => alternatives(one, find)).map((one) => ({ ...(name !== undefined && { name }), ...one }))
  if (Array.isArray(schema['allOf'])) {
    const { allOf, ...own } = schema
    const parts = [...(allOf as SchemaObject[]).flatMap((one) => alternatives(one, find)).map((part) => part.schema), own]
    const properties = Object.assign({}, ...parts.map((part) => part['properties'] ?? {}))
    return [
      {
        schema: { type: 'object', properties, required: parts.flatMap((part) => part['required'] ?? []) },
        ...(name !== undefined && { name }),
      },
    ]
  }
  // A list of words has no type beside them; null may be one of them.
  const words = schema['enum'] as unknown[] | undefined
  const wordTypes = words?.includes(null) ? ['string', 'null'] : words && ['string']
  const types = Array.isArray(schema['type'])
    ? schema['type']
    : [schema['type'] ?? (words && typeof words[0] === 'string' ? wordTypes : undefined)].flat()
  return types.map((type) => ({ schema: { ...schema, type }, ...(name !== undefined && { name }) }))
}

/** Merges all objects of a union: a member has the types of all of them, and is required if all of them require it. */
function objectOf(all: readonly Alternative[]) {
  const objects = all.map(({ schema }) => schema).filter(({ type, properties }) => type === 'object' && properties !== undefined)
  const [first, ...others] = objects
  if (first === undefined) return null
  const required = (first['required'] ?? []) as string[]
  return {
    properties: mergeProperties(objects.map(({ properties }) => properties)),
    required: new Set(required.filter((name) => others.every((one) => one['required']?.includes(name)))),
  }
}

function mergeProperties(all: readonly Record<string, SchemaObject>[]): Record<string, SchemaObject> {
  const merged: Record<string, SchemaObject> = {}
  for (const properties of all)
    for (const [name, schema] of Object.entries(properties)) {
      const known = merged[name]
      merged[name] = known === undefined || JSON.stringify(known) === JSON.stringify(schema) ? schema : { anyOf: [known, schema] }
    }
  return merged
}

function typeOf(schema: SchemaObject): string {
  if (schema['type'] !== undefined) return schema['type']
  const [word = schema['const']] = schema['enum'] ?? []
  return word === undefined ? 'any' : typeof word
}

const nameOf = (schema: SchemaObject): string | undefined => /#\/\$defs\/(\w+)$/.exec(schema['$ref'] ?? '')?.[1]
const withoutNull = (schema: SchemaObject): SchemaObject =>
  schema['anyOf'] ? { anyOf: schema['anyOf'].filter((one: SchemaObject) => one['type'] !== 'null') } : schema

function deref(described: OpenApi, schema: SchemaObject): SchemaObject {
  const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec(schema['$ref'] ?? '') ?? []
  const components = described.components as Record<string, Record<string, SchemaObject>>
  return kind && name ? deref(described, components[kind]?.[name] ?? {}) : schema
}
