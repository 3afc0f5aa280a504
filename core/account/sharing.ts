import type { Static } from 'typebox'
import Type from 'typebox'
import { SharingGrant } from '#core/account/access.ts'
import { NameText, Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'

/** Fits a list in a menu. */
const Name = NameText({ minLength: 1, maxLength: 100 })
/** A note for administrators, not an essay. */
const Description = Nullable(Type.String({ maxLength: 1_000 }))
/** Every query of every user with grants checks each tag of a series. */
export const TAGS_PER_SERIES_MAX = 100

/** A mark on series by which users are allowed or denied them. */
export const SharingTagSummary = Noun('SharingTagSummary')({ id: Uuid, name: Type.String(), description: Nullable(Type.String()) })
export type SharingTagSummary = Static<typeof SharingTagSummary>

/** A sharing tag with how many series have it and how many users have a grant for it. */
export const SharingTag = Noun('SharingTag')({
  ...SharingTagSummary.properties,
  seriesCount: Type.Integer({ minimum: 0 }),
  userCount: Type.Integer({ minimum: 0 }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type SharingTag = Static<typeof SharingTag>

export const NewSharingTag = Noun('NewSharingTag')({ name: Name, description: Type.Optional(Description) })
export type NewSharingTag = Static<typeof NewSharingTag>

export const SharingTagEdit = Noun('SharingTagEdit')({ name: Type.Optional(Name), description: Type.Optional(Description) })
export type SharingTagEdit = Static<typeof SharingTagEdit>

export const SeriesSharingTags = Noun('SeriesSharingTags')({ sharingTagIds: Type.Array(Uuid, { maxItems: TAGS_PER_SERIES_MAX }) })

export const SharingGrants = Noun('SharingGrants')({ userId: Uuid, grants: Type.Array(SharingGrant) })
