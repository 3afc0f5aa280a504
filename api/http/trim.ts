import { isUuid } from '#core/foundation/schema.ts'

/** The keywords of JSON Schema that lead to texts. */
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
 * Trims white space from the texts of a body: people paste it by accident, and nobody sees it in a name, a title or a tag. Keeps secrets,
 * texts that are marked in their schema, and values that no schema describes (free JSON, maps). Normalizes identifiers.
 * @param value changed in place, before validation, so that a name of white space alone counts as empty
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

/** Writes an identifier in lower case (RFC 9562, 4), so that comparisons match. Returns other texts unchanged. */
export function readId(schema: Pick<Shape, 'format' | 'anyOf'>, text: string): string {
  const isId = [schema, ...(schema.anyOf ?? [])].some(({ format }) => format === 'uuid')
  return isId && isUuid(text) ? text.toLowerCase() : text
}

function isTrimmed(schema: Shape): boolean {
  const texts = [schema, ...(schema.anyOf ?? [])].filter(({ type }) => type === 'string')
  return texts.length > 0 && texts.every((text) => !text.enum && !text['x-exact'] && !text['x-untrimmed'])
}
