import type { Static } from 'typebox'
import Type from 'typebox'
import { refuse } from '#core/foundation/errors.ts'
import { Noun, OneOf, Timestamp } from '#core/foundation/schema.ts'
import { cutText } from '#core/foundation/text.ts'

/** JSON of one value: the settings of a whole page, not a file. */
export const PREFERENCE_BYTES_MAX = 64 * 1024
/** Per user: some dozens for each client that they use. */
export const PREFERENCES_MAX = 200
/** Per user in total: 200 of the largest would be 13 MB, which every client reads when it starts. */
export const PREFERENCES_BYTES_MAX = 1024 * 1024
const KEY_LENGTH_MAX = 200
const KEY = /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/

const VALUE_TYPES = ['string', 'integer', 'float', 'boolean', 'json'] as const

/** A value that a client stores for a user. */
export const Preference = Noun('UserPreference')({
  key: Type.String(),
  value: Type.Unknown({ description: 'Any JSON, as it was given.' }),
  valueType: OneOf(VALUE_TYPES),
  updatedAt: Timestamp,
})
export type Preference = Static<typeof Preference>

export const PreferenceKey = Type.String({
  minLength: 1,
  maxLength: KEY_LENGTH_MAX,
  description: 'Letters, digits and . _ : / -, such as reader.fit; a letter or digit first.',
})

/** The type of a value; lists, objects and null are `json`. */
export function valueTypeOf(value: unknown): Preference['valueType'] {
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value as 'string' | 'boolean'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'float'
  return 'json'
}

/** The JSON text of the value of a preference. @param at JSON pointers to the key and the value in the request @throws invalid_value */
export function readPreference(key: string, value: unknown, at: { key: string; value: string }): string {
  const name = cutText(key, 60)
  const wrong = (what: string, message: string, path: string): never =>
    refuse('invalid_value', `The ${what} "${name}" ${message}.`, { details: [{ path, message }] })
  if (key.length > KEY_LENGTH_MAX || !KEY.test(key)) {
    const rule = `must be at most ${KEY_LENGTH_MAX} letters, digits and . _ : / -, beginning with a letter or digit`
    wrong('preference key', rule, at.key)
  }
  const text = JSON.stringify(value)
  const bytes = Buffer.byteLength(text)
  if (bytes > PREFERENCE_BYTES_MAX) wrong('preference', `has ${bytes} bytes of JSON; ${PREFERENCE_BYTES_MAX} are allowed`, at.value)
  return text
}
