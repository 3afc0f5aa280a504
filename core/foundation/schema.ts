import type { TProperties, TSchema } from 'typebox'
import Type from 'typebox'
import { Format } from 'typebox/format'
import { readInstant } from '#core/foundation/instant.ts'
import { isNameText } from '#core/foundation/name-text.ts'
import { isTimezone } from '#core/foundation/time-zone.ts'

// All requests, in every protocol, accept the same times; the check that comes with typebox accepts some that PostgreSQL cannot store.
Format.Set('date-time', (text) => readInstant(text) !== null)
Format.Set('name', isNameText)
Format.Set('time-zone', isTimezone)

export const Uuid = Type.String({ format: 'uuid' })

/** A point in time, ISO 8601; responses have it in UTC. `readInstant` parses the text of a request. */
export const Timestamp = Type.String({ format: 'date-time', maxLength: 40 })

/** The name of a time zone: a wrong one is refused where it is sent, not when it is used. */
export const TimeZone = (options: { description?: string } = {}) => Type.String({ ...options, maxLength: 60, format: 'time-zone' })

/** Any JSON. Its limits of depth, size and number of values are those of a request body, which the server checks before any schema. */
export const FreeJson = Type.Unknown({ description: 'Any JSON, as deep and as large as a request body may be.', 'x-limited-by': 'body' })
/** More members than anybody uses; each has a name. */
const FREE_MEMBERS_MAX = 1_000

/** An object with any members. */
export const FreeObject = (options: { description?: string } = {}) =>
  Type.Record(Type.String(), FreeJson, { maxProperties: FREE_MEMBERS_MAX, ...options })

/** An object that accepts unknown members and ignores them: clients of other versions send them. */
export const LENIENT = { additionalProperties: FreeJson, maxProperties: FREE_MEMBERS_MAX } as const

/** A text that reaches its route exactly as sent: it is compared byte by byte, here or at a service. A member of a body itself. */
export const Secret = (options: { minLength?: number; maxLength: number; description?: string }) =>
  Type.String({ ...options, 'x-exact': true })

/** A name, title or other text of one line that users enter: at least one visible character, no control characters (core/foundation/name-text.ts). */
export const NameText = (options: { minLength?: number; maxLength: number; description?: string }) =>
  Type.String({ ...options, format: 'name' })

/** Marks a text whose leading and trailing white space matters, such as a template or a folder's name; others are trimmed (api/http/trim.ts). */
export const UNTRIMMED = { 'x-untrimmed': true } as const

/**
 * An object that is a component with this name in the OpenAPI document. Responses and requests that share a name must
 * share one shape.
 */
export const Noun =
  (title: string) =>
  <Members extends TProperties>(members: Members) =>
    Type.Object(members, { title })

export const Nullable = <const T extends TSchema>(schema: T, options: { description?: string } = {}) =>
  Type.Union([schema, Type.Null()], options)

/** A UUID in lower case, as a part of a regular expression. */
export const UUID_PATTERN = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const UUID = new RegExp(`^${UUID_PATTERN}$`, 'i')
export const isUuid = (text: string): boolean => UUID.test(text)

export const described = <S extends TSchema>(schema: S, description: string): S => ({ ...schema, description })

/**
 * A value whose grammar a reader of its own checks, with errors that say more than those of a schema. The OpenAPI document shows the other schema.
 * @param shown may refer to itself as `#/components/schemas/<title>`
 */
export const describedAs = <S extends TSchema>(schema: S, shown: TSchema): S => ({ ...schema, 'x-described-as': shown })

/**
 * The largest number of a request, and with a minus the smallest, where nothing smaller is a limit: from here on not every whole number is a double.
 */
export const NUMBER_MAX = Number.MAX_SAFE_INTEGER
const NUMBER_RANGE = { minimum: -NUMBER_MAX, maximum: NUMBER_MAX }
export const AnyNumber = (options: { description?: string } = {}) => Type.Number({ ...NUMBER_RANGE, ...options })
export const AnyInteger = (options: { description?: string } = {}) => Type.Integer({ ...NUMBER_RANGE, ...options })

export const OneOf = <T extends string[]>(words: readonly [...T]) => Type.Enum(words, { type: 'string' })
