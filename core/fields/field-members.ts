import Type, { type Static, type TNull, type TOptional, type TUnion } from 'typebox'
import { type Field, SOURCES } from '#core/fields/field.ts'
import { Nullable, OneOf } from '#core/foundation/schema.ts'

/** Schemas by the names of fields, each of which may be absent or null. */
type FieldMembers<One extends Field> = { [Each in One as Each['name']]: TOptional<TUnion<[Each['schema'], TNull]>> }
/** Values by the names of fields; null if there is no value. */
type FieldValues<One extends Field> = { [Each in One as Each['name']]: Static<Each['schema']> | null }

export const Sources = Type.Record(Type.String(), OneOf(SOURCES), { description: 'The source of each field that has a value.' })
export const SourcePlugins = Type.Record(Type.String(), Type.String(), {
  description: 'The identifier of the plugin for each field of the source `plugin`, as far as its application is still listed.',
})

/**
 * The members of a request or a response for fields. The cast gives them the types of the fields, which the compiler cannot infer from a list.
 * @param aboutOf returns the description of a field, if it differs from the field's own
 */
export function fieldMembers<One extends Field>(fields: readonly One[], aboutOf = ({ about }: Field): string => about): FieldMembers<One> {
  const members = fields.map((field) => [field.name, Type.Optional(Nullable(field.schema, { description: aboutOf(field) }))] as const)
  return Object.fromEntries(members) as FieldMembers<One>
}

/** Reads the values of fields into an object. A loop, because every record of an answer passes here. */
export function fieldValues<One extends Field>(fields: readonly One[], read: (field: Field) => unknown): FieldValues<One> {
  const values: Record<string, unknown> = {}
  for (const field of fields) values[field.name] = read(field)
  return values as FieldValues<One>
}
