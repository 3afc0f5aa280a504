import { randomUUID } from 'node:crypto'
import type { TSchema } from 'typebox'
import type { Endpoint, Route } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'

/** Values by parameter name, for parameters whose schema does not show their meaning. */
export type KnownValues = Record<string, string | number | boolean>

/** A request that a route accepts. */
export interface BuiltRequest {
  path: string
  headers: Record<string, string>
  body?: string | FormData
  /** Whether the path or the body names a hidden entity, so that success would mean that the server found it. */
  echoes: boolean
}

/** Names of parameters that refer to a book, a series or a list of them; and to a library, if that is hidden too. */
const HIDDEN_NAMES = /^(bookIds?|seriesIds?|coverId|collectionId|readListId|document)$/
const WITH_LIBRARIES = /^(bookIds?|seriesIds?|coverId|collectionId|readListId|document|libraryIds?|library_id|jobId)$/
const namesHidden = (name: string, known: KnownValues) => (known['hidesLibrary'] ? WITH_LIBRARIES : HIDDEN_NAMES).test(name)

/**
 * Builds a request for a route, with a value for every required parameter, from its schemas; or returns the parameter without a known value.
 * @param known values by name; lists of ids begin with `besideBookId` or `besideSeriesId`; with `hidesLibrary` the library is a hidden entity too
 */
export function buildRequest(route: Route<Services>, known: KnownValues): BuiltRequest | { unknown: string } {
  let echoes = false
  let path = route.path
  for (const [, name = ''] of route.path.matchAll(/:(\w+)/g)) {
    const value = known[name]
    if (value === undefined) return { unknown: `the path parameter ${name}` }
    echoes ||= namesHidden(name, known)
    path = path.replace(new RegExp(`:${name}\\b\\*?`), encodeURIComponent(String(value)))
  }
  const query = new URLSearchParams()
  for (const [name, schema] of Object.entries(propertiesOf(route.query))) {
    if (namesHidden(name, known) && known[name] !== undefined) {
      query.set(name, String(known[name]))
      echoes ||= name.startsWith('library')
    } else if (requiredOf(route.query).includes(name)) {
      const value = known[name] ?? sampleOf(schema, name, known)
      if (value === undefined) return { unknown: `the query parameter ${name}` }
      query.set(name, String(value))
    }
  }
  if (query.size > 0) path += `?${query}`
  const { body: schema, upload } = route as Endpoint<Services>
  if (/\/(read-lists\/import|readlists\/match\/comicrack)$/.test(path)) {
    // An answer to a match repeats the titles of the file.
    const title = path.endsWith('import') ? known['seriesTitle'] : 'A title'
    const form = new FormData()
    form.set(
      'file',
      new Blob([`<ReadingList><Name>A list</Name><Books><Book Series="${title}" Number="1"/></Books></ReadingList>`]),
      'x.cbl',
    )
    return { path, headers: {}, body: form, echoes }
  }
  if (upload) {
    const form = new FormData()
    form.set('file', new Blob(['GIF89a']), 'x.gif')
    return { path, headers: {}, body: form, echoes }
  }
  if (!schema) return { path, headers: {}, echoes }
  const body = sampleOf(schema as TSchema, 'body', known)
  if (body === undefined) return { unknown: 'the body' }
  // One entity at a time.
  if (/\/(templates\/render|conditions\/evaluate)$/.test(path)) delete (body as Shape)['seriesId']
  const text = JSON.stringify(body)
  const named = ['bookId', 'seriesId', 'document', ...(known['hidesLibrary'] ? ['libraryId'] : [])]
  echoes ||= named.some((name) => text.includes(String(known[name])))
  return { path, headers: { 'content-type': 'application/json' }, body: text, echoes }
}

type Shape = { [key: string]: unknown }
const propertiesOf = (schema: unknown): Record<string, Shape> =>
  ((schema as Shape | undefined)?.['properties'] as Record<string, Shape>) ?? {}
const requiredOf = (schema: unknown): string[] => ((schema as Shape | undefined)?.['required'] as string[]) ?? []

/** A value for a schema. Names of ids get the ids of hidden entities. Undefined when no value is known. */
function sampleOf(given: unknown, name: string, known: KnownValues): unknown {
  const schema = given as Shape
  if (name === 'bookIds') return [known['besideBookId'], known['bookId']].filter((id) => id !== undefined)
  if (name === 'seriesIds') return [known['besideSeriesId'], known['seriesId']].filter((id) => id !== undefined)
  if (name === 'sharingTagIds') return []
  if (name === 'source' && schema['pattern'] !== undefined) return `book:${known['bookId']}`
  if (HIDDEN_NAMES.test(name) && known[name] !== undefined) return known[name]
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  if (schema['const'] !== undefined) return schema['const']
  for (const choice of ['anyOf', 'oneOf']) {
    for (const branch of (schema[choice] as unknown[] | undefined) ?? []) {
      const value = sampleOf(branch, name, known)
      if (value !== undefined) return value
    }
  }
  if (Array.isArray(schema['allOf'])) return Object.assign({}, ...schema['allOf'].map((part) => sampleOf(part, name, known)))
  switch (schema['type']) {
    case 'object': {
      const members: Shape = {}
      for (const [member, shape] of Object.entries(propertiesOf(schema))) {
        const needed = requiredOf(schema).includes(member)
        if (!needed && !/Ids?$/.test(member)) continue
        const value = sampleOf(shape, member, known)
        if (value === undefined && needed) return undefined
        if (value !== undefined) members[member] = value
      }
      return members
    }
    case 'array': {
      if (!schema['minItems'] && !/Ids$/.test(name)) return []
      const item = sampleOf(schema['items'], name.replace(/s$/, ''), known)
      return item === undefined ? undefined : [item]
    }
    case 'string':
      if (known[name] !== undefined && /Id$/.test(name)) return known[name]
      if (schema['format'] === 'uuid') return /Id$/.test(name) ? undefined : randomUUID()
      if (schema['format'] === 'email') return `${randomUUID()}@example.org`
      if (schema['format'] === 'date-time') return '2026-01-01T00:00:00Z'
      if (name === 'url') return 'https://example.org/1'
      if (name === 'path') return `/nowhere/${randomUUID()}`
      return randomUUID().slice(0, 12)
    case 'integer':
    case 'number':
      return Math.max(1, Number(schema['minimum'] ?? 1))
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      // Any JSON value.
      return Object.keys(schema).some((key) => key === 'type') ? undefined : {}
  }
}
