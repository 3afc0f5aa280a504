import { isUuid } from '#core/foundation/schema.ts'

/** A schema as JSON Schema has it; only what leads to texts. */
interface Shape {
  type?: string
  enum?: readonly unknown[]
  format?: string
  items?: Shape
  properties?: Record<string, Shape>
  anyOf?: Shape[]
  /** Secrets. */
  'x-exact'?: boolean
  'x-untrimmed'?: boolean
}

/**
 * Takes white space from both ends of the texts of a body: people paste it along, and nobody sees it in a name, a title or a tag. Secrets and what is
 * marked in its schema stay as they are, and so does what no schema describes: JSON of one's own, values of maps. Identifiers become those that are kept.
 * @param value is changed in place, before it is checked: a name of white space alone is none
 */
export function trimTexts(schema: Shape, value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const shape of [schema, ...(schema.anyOf ?? [])]) {
    if (Array.isArray(value)) {
      if (shape.items) for (const index of value.keys()) trimMember(shape.items, value, index)
    } else if (shape.properties) {
      for (const name of Object.keys(value)) {
        const member = Object.hasOwn(shape.properties, name) ? shape.properties[name] : undefined
        if (member) trimMember(member, value as Record<string, unknown>, name)
      }
    }
  }
}

function trimMember<Key extends string | number>(schema: Shape, owner: Record<Key, unknown>, key: Key): void {
  const value = owner[key]
  if (typeof value !== 'string') trimTexts(schema, value)
  else if (isTrimmed(schema)) {
    const trimmed = readId(schema, value.trim())
    if (trimmed !== value) owner[key] = trimmed
  }
}

/** An identifier as it is kept, in lower case (RFC 9562, 4): what is compared with it here would else take it for another. Other texts stay. */
export function readId(schema: Pick<Shape, 'format' | 'anyOf'>, text: string): string {
  const isId = [schema, ...(schema.anyOf ?? [])].some(({ format }) => format === 'uuid')
  return isId && isUuid(text) ? text.toLowerCase() : text
}

function isTrimmed(schema: Shape): boolean {
  const texts = [schema, ...(schema.anyOf ?? [])].filter(({ type }) => type === 'string')
  return texts.length > 0 && texts.every((text) => !text.enum && !text['x-exact'] && !text['x-untrimmed'])
}
