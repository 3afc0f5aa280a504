import type { TSchema } from 'typebox'
import { BookContext, SeriesContext } from '#core/template/context.ts'

/** One thing that templates and conditions can ask for. */
export interface ContextField {
  /** As templates write it; `[]` stands for an entry of a list, `<…>` for a name that differs. */
  path: string
  /** In words: text, number, whole number, true or false, list of texts, … */
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
      yield { path: `${at(name)}.<field>`, type: 'anything', nullable: true, description: 'A field of your own.' }
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

/** Members of every list and text that templates may ask for beside the fields. */
const ALWAYS = new Set(['length'])

/**
 * Whether a path, with `[]` for entries of lists, can lead anywhere; where not, the field whose name is nearest.
 * @returns null when it can
 */
export function nearestTo(kind: ContextKind, path: string): { nearest: string | null } | null {
  const known = fieldsOf[kind]
  const wanted = path.replace(/\.\d+(?=\.|$)/g, '[]')
  if (known.some((field) => isSamePath(field.path, wanted))) return null
  const [, before = '', last = ''] = /^(.*)\.([^.]+)$/.exec(wanted) ?? []
  if (ALWAYS.has(last) && known.some((field) => isSamePath(field.path, before))) return null
  let best: { path: string; distance: number } | null = null
  for (const field of known) {
    const distance = distanceOf(field.path.toLowerCase(), wanted.toLowerCase())
    // Whoever writes `title` means `metadata.title`, and not the one of the series.
    const bare = distanceOf(lastOf(field.path), lastOf(wanted))
    const byName = bare * 3 <= lastOf(wanted).length ? bare * 2 + 1 : Number.POSITIVE_INFINITY
    const least = Math.min(distance, byName + (field.path.startsWith('series.') && !wanted.startsWith('series.') ? 1 : 0))
    if (best === null || least < best.distance) best = { path: field.path, distance: least }
  }
  return { nearest: best !== null && best.distance <= Math.max(3, wanted.length / 3) ? best.path : null }
}

const lastOf = (path: string) => (path.split('.').at(-1) as string).toLowerCase()

/** Names in `<…>` stand for anything, dots too; so does everything below a field of one's own. */
function isSamePath(field: string, wanted: string): boolean {
  if (!field.includes('<')) return field === wanted
  const source = field
    .split(/<[^>]+>/)
    .map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.+')
  return new RegExp(`^${source}$`).test(wanted)
}

/** Insertions, deletions and changes between two short texts. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
