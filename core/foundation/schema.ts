import type { TProperties, TSchema } from 'typebox'
import Type from 'typebox'
import { Format } from 'typebox/format'
import { readInstant } from '#core/foundation/instant.ts'

// All requests, whatever their dialect, take the same times; the checker that comes with the schemas takes some that nothing behind it can hold.
Format.Set('date-time', (text) => readInstant(text) !== null)

/** An identifier. */
export const Uuid = Type.String({ format: 'uuid' })

/** A point in time, ISO 8601; answers have it in UTC. What a request sent is read by `readInstant`. */
export const Timestamp = Type.String({ format: 'date-time', maxLength: 40 })

/** Any JSON. Its depth, its size and the number of its values are those of a request body, which is looked at before any schema is. */
export const FreeJson = Type.Unknown({ description: 'Any JSON, as deep and as large as a request body may be.', 'x-limited-by': 'body' })
/** More members than anybody names; each has a name. */
const FREE_MEMBERS_MAX = 1_000

/** An object whose members are free. */
export const FreeObject = (options: { description?: string } = {}) =>
  Type.Record(Type.String(), FreeJson, { maxProperties: FREE_MEMBERS_MAX, ...options })

/** An object that takes members which it does not know, and leaves them alone: clients of other versions send them. */
export const LENIENT = { additionalProperties: FreeJson, maxProperties: FREE_MEMBERS_MAX } as const

/** A text that reaches its route as it was sent, every mark of it: it is compared by its bytes, here or at a service. A member of a body itself. */
export const Secret = (options: { minLength?: number; maxLength: number; description?: string }) =>
  Type.String({ ...options, 'x-exact': true })

/** The mark of a text whose white space at its ends says something, such as a template or the name of a folder; others lose it (api/http/trim.ts). */
export const UNTRIMMED = { 'x-untrimmed': true } as const

/**
 * An object that the description of the API calls by this name, once, and refers to from then on. What answers and requests have in common under
 * one name must be one shape.
 */
export const Noun =
  (title: string) =>
  <Members extends TProperties>(members: Members) =>
    Type.Object(members, { title })

/** A member that may be null. */
export const Nullable = <const T extends TSchema>(schema: T, options: { description?: string } = {}) =>
  Type.Union([schema, Type.Null()], options)

/** A UUID in lower case, as a part of a regular expression. */
export const UUID_PATTERN = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const UUID = new RegExp(`^${UUID_PATTERN}$`, 'i')
export const isUuid = (text: string): boolean => UUID.test(text)

/** A schema that says what its values tell. */
export const described = <S extends TSchema>(schema: S, description: string): S => ({ ...schema, description })

/** One of the given words. */
export const OneOf = <T extends string[]>(words: readonly [...T]) => Type.Enum(words, { type: 'string' })
