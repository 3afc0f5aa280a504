import type { Static } from 'typebox'
import Type from 'typebox'
import { described, Noun, Nullable } from '#core/foundation/schema.ts'

/** Distinguishes the covers that one record has had; a version is compared, never trusted. */
const VERSION_DIGITS = 16

const SIZE = 'in pixels, for its proportions; null until the server has measured it.'
const Side = Type.Integer({ minimum: 1 })

/** The cover that the thumbnail of a record shows. */
const ShownCover = Noun('ShownCover')({
  version: Type.String({ description: 'Names this picture: with it as `v`, the address of the thumbnail never changes its meaning.' }),
  width: Nullable(described(Side, `Width ${SIZE}`)),
  height: Nullable(described(Side, `Height ${SIZE}`)),
  color: Nullable(
    Type.String({
      pattern: '^#[0-9a-f]{6}$',
      description: 'Color of most of the picture, such as `#a03c1e`; null until the server has found it.',
    }),
  ),
})
type ShownCover = Static<typeof ShownCover>

/** The same in lists and records, where null means that the thumbnail is the placeholder. */
export const NullableShownCover = Nullable(ShownCover)

/** @param hash of the picture */
export const coverVersionOf = (hash: string): string => hash.slice(0, VERSION_DIGITS)

/** @param text of the statements of core/covers/current-cover-query.ts: hash, width, height and color; what is not known is empty */
export function shownCoverOf(text: string | null): ShownCover | null {
  if (text === null) return null
  const [hash = '', width, height, color] = text.split(',')
  return { version: coverVersionOf(hash), width: Number(width) || null, height: Number(height) || null, color: color || null }
}
