import type { TSchema } from 'typebox'
import Type from 'typebox'

/** An identifier. */
export const Uuid = Type.String({ format: 'uuid' })

/** A point in time, ISO 8601 in UTC. */
export const Timestamp = Type.String({ format: 'date-time' })

/** A member that may be null. */
export const Nullable = <const T extends TSchema>(schema: T, options: { description?: string } = {}) =>
  Type.Union([schema, Type.Null()], options)

/** A schema that says what its values tell. */
export const described = (schema: TSchema, description: string): TSchema => ({ ...schema, description })

/** One of the given words. */
export const OneOf = <T extends string[]>(words: readonly [...T]) => Type.Enum(words, { type: 'string' })
