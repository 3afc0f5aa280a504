import Type, { type Static, type TNull, type TOptional, type TUnion } from 'typebox'
import { Nullable } from '#core/foundation/schema.ts'
import type { Field } from '#core/metadata/field.ts'

/** Schemas by the names of fields, each of which may be absent or null. */
type FieldMembers<One extends Field> = { [Each in One as Each['name']]: TOptional<TUnion<[Each['schema'], TNull]>> }
/** Values by the names of fields, null where nothing is known. */
type ShownValues<One extends Field> = { [Each in One as Each['name']]: Static<Each['schema']> | null }

/**
 * The members of a request or an answer for fields. Their types are those of the fields; that objects are made of lists member by member no compiler sees.
 * @param aboutOf description of a field, where it is longer than the field's own
 */
export function fieldMembers<One extends Field>(fields: readonly One[], aboutOf = ({ about }: Field): string => about): FieldMembers<One> {
  const members = fields.map((field) => [field.name, Type.Optional(Nullable(field.schema, { description: aboutOf(field) }))] as const)
  return Object.fromEntries(members) as unknown as FieldMembers<One>
}

/** Values of fields, as they are read. */
export function shownValues<One extends Field>(fields: readonly One[], read: (field: Field) => unknown): ShownValues<One> {
  return Object.fromEntries(fields.map((field) => [field.name, read(field)])) as unknown as ShownValues<One>
}
