import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020, type SchemaObject } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

/**
 * The reference of the API: a table with the response of each path, and the shapes of the responses in its own notation
 * (`{ name: string; year?: int32|null; tags: TagDto[] }`), which is converted to JSON Schema here.
 */
const file = fileURLToPath(new URL('../contract/interface-reference.md', import.meta.url))

export interface InterfaceReference {
  /** The successful response of a route in the notation of the reference: `SeriesDto[]`; '' when the body is unspecified. */
  answers: ReadonlyMap<string, string>
  /** The status of that response. */
  statuses: ReadonlyMap<string, string>
  /** Every operation of the reference. */
  operations: readonly ReferenceOperation[]
  /** The shapes by name, as JSON Schema. */
  shapes: Readonly<Record<string, SchemaObject>>
  /** The problems of a value that should have a type; none when it is valid. */
  check(type: string, value: unknown): string[]
}

export interface ReferenceOperation {
  /** See {@link nameOfRoute}. */
  name: string
  /** Query parameters with their types. */
  query: ReadonlyMap<string, SchemaObject>
  /** Type of the JSON body; null when it has none. */
  body: SchemaObject | null
}

let reference: InterfaceReference | undefined

export function findInterfaceReference(): InterfaceReference {
  reference ??= readReference(readFileSync(file, 'utf8'))
  return reference
}

/** A route without the names of its parameters: `GET /api/v1/books/{}`. */
export const nameOfRoute = (method: string, path: string) => `${method} ${path.replaceAll(/:\w+|\{\w+\}/g, '{}')}`

export function readReference(text: string): InterfaceReference {
  const answers = new Map<string, string>()
  const statuses = new Map<string, string>()
  const operations: ReferenceOperation[] = []
  const $defs: Record<string, SchemaObject> = {}
  for (const line of text.split('\n')) {
    const [, method, path, ...cells] = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
    if (method && path?.startsWith('/')) {
      const [, status, good] = /(?:^|, )(2\d\d) ?([^,]*)/.exec(cells[2] ?? '') ?? []
      if (status !== undefined) statuses.set(nameOfRoute(method, path), status)
      operations.push({
        name: nameOfRoute(method, path),
        query: new Map([...(cells[0] ?? '').matchAll(/(\w+)\??: ([^;]+)/g)].map(([, name = '', type = '']) => [name, readType(type)])),
        body: !cells[1] || cells[1].includes('multipart') ? null : readType(cells[1]),
      })
      // Bytes have no shape.
      if (good !== undefined) answers.set(nameOfRoute(method, path), good.includes('/') ? '' : good)
    }
    const [, name, shape] = /^- `(\w+)`: `(.+)`$/.exec(line) ?? []
    if (!name || !shape) continue
    const [from, to] = RENAMED[name] ?? ['', '']
    const more = (MORE_VALUES[name] ?? []).map((value) => ` | "${value}"`).join('')
    $defs[name] = readType(from ? shape.replaceAll(new RegExp(`\\b${from}\\b`, 'g'), to) : shape + more)
  }
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, code: { optimize: false } })
  formats.default(ajv)
  ajv.addSchema({ $id: 'reference', $defs })
  const checks = new Map<string, ReturnType<Ajv2020['compile']>>()
  return {
    answers,
    statuses,
    operations,
    shapes: $defs,
    check(type, value) {
      const validate = checks.get(type) ?? ajv.compile(readType(type))
      checks.set(type, validate)
      validate(value)
      return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message} (reference ${type.slice(0, 60)})`)
    },
  }
}

/** Members whose names differ from the reference by decision, by shape. */
const RENAMED: Record<string, readonly [from: string, to: string]> = {
  // A service is called `source` in contexts and addresses, so also in the API.
  BookExternalLinkDto: ['sourceName', 'source'],
  ExternalLinkDto: ['sourceName', 'source'],
  ExternalRatingDto: ['sourceName', 'source'],
  CreateBookExternalLinkRequest: ['sourceName', 'source'],
  CreateExternalLinkRequest: ['sourceName', 'source'],
  CreateExternalRatingRequest: ['sourceName', 'source'],
}

/** Values beside those of the reference, by decision; with compatibility.legacyNames others are sent instead. */
const MORE_VALUES: Record<string, readonly string[]> = { SeriesStrategy: ['auto'] }

const WORDS: Record<string, SchemaObject> = {
  any: {},
  null: { type: 'null' },
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  object: { type: 'object' },
  integer: { type: 'integer' },
  int32: { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
  int64: { type: 'integer' },
  float: { type: 'number' },
  double: { type: 'number' },
  uuid: { type: 'string', format: 'uuid' },
  datetime: { type: 'string', format: 'date-time' },
}

/** Parses one type of the notation. @throws Error for invalid notation */
export function readType(text: string): SchemaObject {
  const tokens = text.match(/"[^"]*"|[\w]+|\[\]|[^\s]/g) ?? []
  let at = 0
  const is = (token: string) => tokens[at] === token && ++at > 0
  const want = (token: string) => {
    if (!is(token)) throw new Error(`${token} is expected before "${tokens.slice(at, at + 5).join(' ')}" in ${text}`)
  }
  const many = (read: () => SchemaObject, sign: string, word: string): SchemaObject => {
    const parts = [read()]
    while (is(sign)) parts.push(read())
    return parts.length === 1 ? (parts[0] as SchemaObject) : { [word]: parts }
  }
  const readUnion = (): SchemaObject => many(() => many(readSuffixed, '&', 'allOf'), '|', 'anyOf')
  const readSuffixed = (): SchemaObject => {
    let schema = readOne()
    while (is('[]')) schema = { type: 'array', items: schema }
    return schema
  }
  const readOne = (): SchemaObject => {
    if (is('(')) {
      const inner = readUnion()
      want(')')
      return inner
    }
    if (is('{')) return readMembers()
    const word = tokens[at++] ?? ''
    if (word.startsWith('"')) return { const: word.slice(1, -1) }
    if (word === 'map') {
      want('<')
      const additionalProperties = readUnion()
      want('>')
      return { type: 'object', additionalProperties }
    }
    if (!/^\w+$/.test(word)) throw new Error(`"${word}" is not a type, in ${text}`)
    return WORDS[word] ?? { $ref: `reference#/$defs/${word}` }
  }
  const readMembers = (): SchemaObject => {
    const properties: Record<string, SchemaObject> = {}
    const required: string[] = []
    while (!is('}')) {
      const name = tokens[at++] ?? ''
      if (!is('?')) required.push(name)
      want(':')
      properties[name] = readUnion()
      if (tokens[at] !== '}') want(';')
    }
    return { type: 'object', properties, required }
  }
  const schema = readUnion()
  if (at < tokens.length) throw new Error(`"${tokens[at]}" is not expected in ${text}`)
  return schema
}
