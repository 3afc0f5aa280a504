import type { TSchema } from 'typebox'
import { HEADERS, type HeaderName, type Json } from '#api/docs/openapi-headers.ts'
import { FreeJson } from '#core/foundation/schema.ts'

/** What the description says once and refers to from everywhere. */
export interface Components {
  /** Puts references in place of the titled schemas within the schema of an answer, a body or a parameter. @throws Error when one title names two shapes */
  schema(schema: TSchema): Json
  /** Told of a parameter, answers a place that is the parameter itself, or a reference to it where others are equal. @param area tells shapes of one name apart */
  parameter(parameter: Json, area: string): Json
  /** A reference to a header. */
  header(name: HeaderName): Json
  /** A reference to the response of this name, which is made when it is asked for the first time. */
  response(name: string, make: () => Json): Json
  /** All of them, when everything has been told. */
  finish(): Record<'schemas' | 'responses' | 'parameters' | 'headers', Record<string, Json>>
}

/** Members whose values are data: what is called title there is none. */
const DATA = new Set(['const', 'default', 'example', 'examples'])
/** How the name of a component is written. */
const NAME = /^[A-Z][A-Za-z0-9]*$/
/** A parameter that so many routes have is said once. */
const PARAMETER_USES_MIN = 2

export function openComponents(): Components {
  const schemas = new Map<string, Json>()
  const parameters: GivenParameter[] = []
  const headers = new Map<string, Json>()
  const responses = new Map<string, Json>()

  return {
    schema: (schema) =>
      walk(plain(schema), (title, found) => {
        keep(schemas, title, untitled(found))
        return referTo('schemas', title)
      }),
    parameter(given, area) {
      const place = {}
      parameters.push({ given, place, area })
      return place
    },
    header(name) {
      headers.set(name, HEADERS[name])
      return referTo('headers', name)
    },
    response(name, make) {
      if (!responses.has(name)) responses.set(name, make())
      return referTo('responses', name)
    },
    finish: () => ({
      schemas: sorted(schemas),
      responses: sorted(responses),
      parameters: sorted(shareParameters(parameters)),
      headers: sorted(headers),
    }),
  }
}

interface GivenParameter {
  given: Json
  place: Json
  area: string
}

/** Of the parameters of one name and place the shape that most routes have keeps the name; others have that of their area with it. */
function shareParameters(parameters: readonly GivenParameter[]): Map<string, Json> {
  const uses = new Map<string, { given: Json; count: number; area: string }>()
  for (const { given, area } of parameters) {
    const known = uses.get(textOf(given))
    if (known) known.count += 1
    else uses.set(textOf(given), { given, count: 1, area })
  }
  const shared = new Map<string, Json>()
  const names = new Map<string, string>()
  for (const [text, { given, count, area }] of [...uses].sort(([a, m], [b, n]) => n.count - m.count || (a < b ? -1 : 1))) {
    const own = String(given['name'])
    const name = [own, `${own}.${given['in']}`, `${own}.${area}`].find((one) => !shared.has(one))
    if (count < PARAMETER_USES_MIN || name === undefined) continue
    shared.set(name, given)
    names.set(text, name)
  }
  for (const { given, place } of parameters) {
    const name = names.get(textOf(given))
    Object.assign(place, name === undefined ? given : referTo('parameters', name))
  }
  return shared
}

/** Copies a schema; `hoist` is given what has a name, and answers what shall stand in its place. */
function walk(schema: Json, hoist: (title: string, schema: Json) => Json): Json {
  const copyOf = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(copyOf)
    if (typeof node !== 'object' || node === null) return node
    const copy: Json = {}
    for (const [key, member] of Object.entries(node)) {
      // Generators of clients do not read patterns of names; any name is said otherwise too.
      // Of a time its form says more than its length.
      if (key === 'maxLength' && 'format' in node && node.format === 'date-time') continue
      if (key === 'patternProperties' && isAnyName(member)) copy['additionalProperties'] = copyOf(Object.values(member as object)[0])
      else copy[key] = DATA.has(key) ? member : copyOf(member)
    }
    // Words say by themselves that they are texts; the mark is for the server.
    if (Array.isArray(copy['enum'])) delete copy['type']
    delete copy['x-limited-by']
    // Bodies are closed unless they say otherwise; that is said once, by the document.
    if (copy['additionalProperties'] === false) delete copy['additionalProperties']
    const { title } = copy
    if (textOf(copy) === ANY_JSON) return hoist('Json', copy)
    return typeof title === 'string' && NAME.test(title) ? hoist(title, copy) : withTypes(copy)
  }
  return copyOf(schema) as Json
}

const PLAIN_TYPES = new Set(['string', 'integer', 'number', 'boolean'])

/** A plain value that may be null, as a schema of two types instead of a choice of two schemas. */
function withTypes(schema: Json): Json {
  const { anyOf, ...own } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || 'type' in own) return schema
  const [value, nothing] = anyOf as [Json, Json]
  if (textOf(nothing) === '{"type":"null"}' && Array.isArray(value['enum'])) return { ...value, ...own, enum: [...value['enum'], null] }
  if (textOf(nothing) !== '{"type":"null"}' || !PLAIN_TYPES.has(value['type'] as string) || 'const' in value) return schema
  return { ...value, ...own, type: [value['type'], 'null'] }
}

/** A component is called by its name. */
function untitled({ title: _, ...schema }: Json): Json {
  return schema
}

/** Free JSON as it stands in many schemas. */
const { 'x-limited-by': _, ...ANY } = plain(FreeJson)
const ANY_JSON = textOf(ANY)

const isAnyName = (patterns: unknown): boolean => Object.keys(patterns as object).join() === '^.*$'

/** Without what only libraries see. */
function plain(schema: TSchema): Json {
  return JSON.parse(JSON.stringify(schema))
}
function textOf(schema: Json): string {
  return JSON.stringify(schema)
}
const referTo = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` })

function keep(all: Map<string, Json>, name: string, schema: Json): void {
  const known = all.get(name)
  if (known && textOf(known) !== textOf(schema)) throw differing(name)
  all.set(name, schema)
}

const differing = (title: string) =>
  new Error(
    `Two different schemas have the title ${title}. Give one of them another title; what differs in requests has a title of its own.`,
  )

const sorted = <Value>(named: ReadonlyMap<string, Value>): Record<string, Value> =>
  Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1)))
