import Type from 'typebox'
import { refuse } from '#core/foundation/errors.ts'
import { describedAs, OneOf } from '#core/foundation/schema.ts'

/** A field and a direction are much shorter. */
export const SORT_LENGTH_MAX = 200

export interface Sort<Field extends string> {
  field: Field
  direction: 'asc' | 'desc'
}

/** The schema of a sort parameter. @param fields every accepted spelling @param options.title its name in the OpenAPI document */
export const sortParameter = (fields: readonly string[], { title, description }: { title: string; description: string }) => {
  const orders = fields.flatMap((field) => [`${field},asc`, `${field},desc`]) as [string]
  return Type.Optional(describedAs(Type.String({ maxLength: SORT_LENGTH_MAX, description }), { ...OneOf(orders), title }))
}

/**
 * Parses `<field>` or `<field>,<asc|desc>`; undefined or an empty text means the fallback.
 * @param names every accepted spelling and its field
 * @throws invalid_request for an unknown field or direction: silently sorting by something else would be a wrong answer
 */
export function readSort<Field extends string>(
  text: string | undefined,
  names: Readonly<Record<string, Field>>,
  fallback: Sort<Field>,
): Sort<Field> {
  if (text === undefined || text.trim() === '') return fallback
  const [name = '', direction = 'asc', ...rest] = text.split(',').map((part) => part.trim())
  const field = Object.hasOwn(names, name) ? names[name] : undefined
  if (field === undefined) {
    refuse('invalid_request', `Cannot sort by "${name}". Known fields: ${Object.keys(names).join(', ')}.`)
  }
  const word = direction.toLowerCase()
  if (rest.length > 0 || (word !== 'asc' && word !== 'desc')) {
    refuse('invalid_request', `"${text}" is not a sort order: write <field>,asc or <field>,desc.`)
  }
  return { field, direction: word }
}
