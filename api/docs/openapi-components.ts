import type { TSchema } from 'typebox'
import { HEADERS, type HeaderName, type Json } from '#api/docs/openapi-headers.ts'
import { FreeJson } from '#core/foundation/schema.ts'

/** Keywords whose values are data, where a member `title` is not a title. */
const DATA = new Set(['const', 'default', 'example', 'examples'])
/** The syntax of component names. */
const NAME = /^[A-Z][A-Za-z0-9]*$/
/** A parameter of at least this many routes becomes a component. */
const PARAMETER_USES_MIN = 2

/** The components of the document: parts that are described once and referenced. */
export class Components {
  readonly #schemas = new Map<string, Json>()
  readonly #parameters: GivenParameter[] = []
  readonly #headers = new Map<string, Json>()
  readonly #responses = new Map<string, Json>()

  /** Replaces titled schemas in the schema of an answer, a body or a parameter by references. @throws Error if two schemas have one title */
  schema(schema: TSchema): Json {
    return walk(plain(schema), (title, found) => {
      keep(this.#schemas, title, untitled(found))
      return referTo('schemas', title)
    })
  }

  /** Adds a parameter; returns an object that becomes the parameter itself or, if others are equal, a reference. @param area distinguishes parameters of one name */
  parameter(given: Json, area: string): Json {
    const place = {}
    this.#parameters.push({ given, place, area })
    return place
  }

  /** Returns a reference to a header. */
  header(name: HeaderName): Json {
    this.#headers.set(name, HEADERS[name])
    return referTo('headers', name)
  }

  /** Returns a reference to the response of this name; creates it on first use. */
  response(name: string, make: () => Json): Json {
    if (!this.#responses.has(name)) this.#responses.set(name, make())
    return referTo('responses', name)
  }

  /** Returns all components, after everything was added. */
  finish(): Record<'schemas' | 'responses' | 'parameters' | 'headers', Record<string, Json>> {
    return {
      schemas: sorted(this.#schemas),
      responses: sorted(this.#responses),
      parameters: sorted(shareParameters(this.#parameters)),
      headers: sorted(this.#headers),
    }
  }
}

interface GivenParameter {
  given: Json
  place: Json
  area: string
}

/** Of the parameters with one name and place, the most frequent shape gets the name; others get the name of their area with it. */
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

/** Copies a schema; `hoist` receives each titled schema and returns its replacement. */
function walk(schema: Json, hoist: (title: string, schema: Json) => Json): Json {
  const copyOf = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(copyOf)
    if (typeof node !== 'object' || node === null) return node
    if ('x-described-as' in node) return copyOf(node['x-described-as'])
    const copy: Json = {}
    for (const [key, member] of Object.entries(node)) {
      // Client generators do not support patternProperties; a pattern for any name equals additionalProperties.
      // For a timestamp the format says more than the length.
      if (key === 'maxLength' && 'format' in node && node.format === 'date-time') continue
      if (key === 'patternProperties' && isAnyName(member)) copy['additionalProperties'] = copyOf(Object.values(member as object)[0])
      else copy[key] = DATA.has(key) ? member : copyOf(member)
    }
    // Generators of clients read a type, even where words imply it.
    if (Array.isArray(copy['enum']) && copy['enum'].every((word) => typeof word === 'string')) copy['type'] = 'string'
    delete copy['x-limited-by']
    // The document says once that bodies are closed unless they say otherwise.
    if (copy['additionalProperties'] === false) delete copy['additionalProperties']
    const { title } = copy
    if (textOf(copy) === ANY_JSON) return hoist('Json', copy)
    return typeof title === 'string' && NAME.test(title) ? hoist(title, copy) : withTypes(copy)
  }
  return copyOf(schema) as Json
}

const PLAIN_TYPES = new Set(['string', 'integer', 'number', 'boolean'])

/** Writes a nullable plain value as one schema with two types instead of `anyOf`. */
function withTypes(schema: Json): Json {
  const { anyOf, ...own } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || 'type' in own) return schema
  const [value, nothing] = anyOf as [Json, Json]
  if (textOf(nothing) === '{"type":"null"}' && Array.isArray(value['enum']))
    return { ...value, ...own, type: ['string', 'null'], enum: [...value['enum'], null] }
  if (textOf(nothing) !== '{"type":"null"}' || !PLAIN_TYPES.has(value['type'] as string) || 'const' in value) return schema
  return { ...value, ...own, type: [value['type'], 'null'] }
}

/** A component has its title as its name. */
function untitled({ title: _, ...schema }: Json): Json {
  return schema
}

/** The schema of free JSON, which many schemas contain. */
const { 'x-limited-by': _, ...ANY } = plain(FreeJson)
const ANY_JSON = textOf(ANY)

const isAnyName = (patterns: unknown): boolean => Object.keys(patterns as object).join() === '^.*$'

/** Drops symbols and other members that only libraries see. */
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

const differing = (title: string) => new Error(`Two different schemas have the title ${title}. Give one of them another title.`)

const sorted = <Value>(named: ReadonlyMap<string, Value>): Record<string, Value> =>
  Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1)))
