import type { TSchema } from 'typebox'
import { BookContext, SeriesContext } from '#core/conditions/context.ts'
import { serviceOf } from '#core/fields/source-key.ts'
import { COMPARED_LENGTH_MAX, editDistance, nearestName } from '#core/foundation/nearest-name.ts'

/** One field that templates and conditions can use. */
interface ContextField {
  /** As written in templates; `[]` means an entry of a list, `<…>` a name that varies. */
  path: string
  /** A description of the type: text, number, whole number, true or false, list of texts, … */
  type: string
  nullable: boolean
  description: string
}

export type ContextKind = 'book' | 'series'

const fieldsOf: Record<ContextKind, readonly ContextField[]> = {
  book: [...walk(BookContext as TSchema, '')],
  series: [...walk(SeriesContext as TSchema, '')],
}

/** All fields of a context, in the order of its schema. */
export const listFields = (kind: ContextKind): readonly ContextField[] => fieldsOf[kind]

interface Shape {
  type?: string
  description?: string
  anyOf?: Shape[]
  items?: Shape
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  enum?: string[]
  const?: string
  format?: string
}

function* walk(schema: Shape, path: string): Generator<ContextField> {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`)
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const nullable = (member.anyOf ?? []).some(({ type }) => type === 'null')
    const shape = nullable ? ((member.anyOf ?? []).find(({ type }) => type !== 'null') as Shape) : member
    yield { path: at(name), type: typeOf(shape), nullable, description: member.description ?? shape.description ?? '' }
    const free = Object.values(shape.patternProperties ?? {})[0]
    if (name === 'externalIds' && free) yield* walk(free, `${at(name)}.<source>`)
    else if (name === 'customMetadata')
      yield { path: `${at(name)}.<field>`, type: 'anything', nullable: true, description: 'A field of custom metadata.' }
    else if (shape.type === 'array' && shape.items) yield* walk(shape.items, `${at(name)}[]`)
    else yield* walk(shape, at(name))
  }
}

function typeOf(shape: Shape): string {
  if (shape.const !== undefined) return `"${shape.const}"`
  if (shape.enum) return shape.enum.map((word) => `"${word}"`).join(' or ')
  if (shape.format === 'uuid') return 'UUID'
  if (shape.type === 'array') return shape.items?.properties ? 'list of objects' : 'list of texts'
  return (
    { string: 'text', integer: 'whole number', number: 'number', boolean: 'true or false', object: 'object' }[shape.type ?? ''] ??
    'anything'
  )
}

/** Members of every list and text that templates may use besides the fields. */
const ALWAYS = new Set(['length'])

/** The path with `[]` in place of numbers, as field paths are written. */
const asField = (path: string) => path.replace(/\.\d+(?=\.|$)/g, '[]')

const OF_IDENTIFIER = /^(?:series\.)?externalIds\.(.+)$/
/** Of each identifier, in a block. */
const EACH_IDENTIFIER = /^(?:series\.)?externalIds\[\](?:\.(?:id|url|hash))?$/
const MEMBER = /\.(?:id|url|hash)$/

/**
 * The keys of identifiers that a path may mean: a path that ends like a member of an identifier may be a key as a whole. Empty for a path that
 * leads elsewhere.
 */
export function keysUsed(path: string): string[] {
  const [, rest] = OF_IDENTIFIER.exec(path) ?? []
  if (rest === undefined) return []
  const key = rest.replace(/\.length$/, '')
  return [...new Set([key, key.replace(MEMBER, '')])]
}

/** The path with the nearest of these keys in place of its own; null when none is near. */
export function nearestIdentifier(path: string, keys: readonly string[]): string | null {
  const key = keysUsed(path).at(-1)
  if (key === undefined) return null
  // Without a prefix, the plugin's identifier is meant.
  const nearest = keys.find((known) => serviceOf(known) === serviceOf(key)) ?? nearestName(key, keys)
  const member = MEMBER.exec(path)?.[0] ?? '.id'
  return nearest === null ? null : `${path.startsWith('series.') ? 'series.' : ''}externalIds.${nearest}${member}`
}

/** Whether a path, with `[]` for entries of lists, exists in some context; any key of an identifier counts. */
export function isField(kind: ContextKind, path: string): boolean {
  const known = fieldsOf[kind]
  const wanted = asField(path)
  if (known.some((field) => isSamePath(field.path, wanted))) return true
  const keys = keysUsed(wanted)
  const isOfIdentifier = EACH_IDENTIFIER.test(wanted) || (keys.length > 0 && keys.every((key) => key !== ''))
  if (isOfIdentifier && (kind === 'book' || !wanted.startsWith('series.'))) return true
  const dot = wanted.lastIndexOf('.')
  return ALWAYS.has(wanted.slice(dot + 1)) && known.some((field) => isSamePath(field.path, wanted.slice(0, dot)))
}

/** The field whose name is nearest to an unknown path; null when none is near, or the path is longer than any field's. */
export function nearestField(kind: ContextKind, path: string): string | null {
  const wanted = asField(path)
  if (wanted.length > COMPARED_LENGTH_MAX) return null
  const most = Math.max(3, Math.floor(wanted.length / 3))
  const name = lastOf(wanted)
  let best: { path: string; distance: number } | null = null
  for (const field of fieldsOf[kind]) {
    const distance = editDistance(field.path.toLowerCase(), wanted.toLowerCase(), most)
    // `title` means `metadata.title`, not the title of the series.
    const byName = editDistance(lastOf(field.path), name, Math.floor(name.length / 3)) * 2 + 1
    const least = Math.min(distance, byName + (field.path.startsWith('series.') && !wanted.startsWith('series.') ? 1 : 0))
    if (best === null || least < best.distance) best = { path: field.path, distance: least }
  }
  return best !== null && best.distance <= most ? best.path : null
}

const lastOf = (path: string) => (path.split('.').at(-1) as string).toLowerCase()

/** Names in `<…>` match anything, including dots; so does everything below custom metadata. A field contains at most one. */
function isSamePath(field: string, wanted: string): boolean {
  const [before = '', behind] = field.split(/<[^<>]+>/, 2)
  if (behind === undefined) return field === wanted
  return wanted.length > before.length + behind.length && wanted.startsWith(before) && wanted.endsWith(behind)
}
