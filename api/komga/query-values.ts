import Type from 'typebox'
import { isUuid } from '#core/foundation/schema.ts'

/** The limit of one condition. */
const VALUES_MAX = 100
/** A list of names with commas; some names are long. */
export const QUERY_LENGTH_MAX = 4_000

/** A query parameter with several values. */
export const many = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ maxLength: QUERY_LENGTH_MAX }), {
      maxItems: VALUES_MAX,
      description: `${description} Repeat the parameter, or separate values with commas.`,
    }),
  )

/**
 * A query parameter with one id. Apps remember ids of another server, such as 0B2XKQW3T1ABC: a text that is no UUID is the id of nothing, as any other
 * unknown id. The same holds for ids in the parameters of {@link many} and in conditions.
 */
export const AnyId = Type.Optional(Type.String({ maxLength: QUERY_LENGTH_MAX }))

/** `tag=a,b` is the same as `tag=a&tag=b`. */
export const wordsOf = (values: readonly string[] | undefined): string[] =>
  (values ?? [])
    .flatMap((value) => value.split(','))
    .map((word) => word.trim())
    .filter((word) => word !== '')

/** Those of the given ids that this server could have; undefined if none is given. */
export function readIds(values: readonly string[] | undefined): string[] | undefined {
  const words = wordsOf(values)
  return words.length === 0 ? undefined : words.filter(isUuid)
}
