import type { Static } from 'typebox'
import Type from 'typebox'
import { Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'

/** Every list request of a user with such a list names all of them to the database; no home has as many libraries. */
export const ACCESS_LIBRARIES_MAX = 1_000
/** More sharing tags than a server has; each is checked for every series that a list shows. */
const GRANTS_MAX = 1_000
/** The oldest age that a rating or a rule names. */
const YEARS_MAX = 99

/** One rule of what a user may see: series with this tag are allowed or denied. */
export const SharingGrant = Noun('SharingGrant')({
  id: Uuid,
  sharingTagId: Uuid,
  sharingTagName: Type.String(),
  accessMode: OneOf(['allow', 'deny']),
  createdAt: Timestamp,
})
export type SharingGrant = Static<typeof SharingGrant>

export const NewGrant = Noun('NewGrant')({ sharingTagId: Uuid, accessMode: OneOf(['allow', 'deny']) })
export type NewGrant = Static<typeof NewGrant>

const mode = Type.Enum(['up_to', 'not_from'], {
  type: 'string',
  description: '`up_to`: only series for this age or a lower one. `not_from`: no series for this age or a higher one.',
})
const years = Type.Integer({ minimum: 0, maximum: YEARS_MAX })
const unrated = OneOf(['show', 'hide'])

/** An age rule. `years` is compared with the age rating of series; `unrated` says what happens to series without one. */
export const AgeRule = Noun('AgeRule')({ mode, years, unrated })
export type AgeRule = Static<typeof AgeRule>

/** Without `unrated`, series without a rating are hidden by `up_to` and shown by `not_from`. */
export const AgeRuleEdit = Noun('AgeRuleEdit')({ mode, years, unrated: Type.Optional(Nullable(unrated)) })
export type AgeRuleEdit = Static<typeof AgeRuleEdit>

const libraryIds = Type.Array(Uuid, {
  maxItems: ACCESS_LIBRARIES_MAX,
  description: 'The only libraries that are visible; empty with `allLibraries`. Without both, nothing is.',
})

/** The libraries and the ages that a user, or an API key, may see. `age` is null without an age rule. */
export const AccessRule = Noun('AccessRule')({ allLibraries: Type.Boolean(), libraryIds, age: Nullable(AgeRule) })
export type AccessRule = Static<typeof AccessRule>

export const AccessRuleEdit = Noun('AccessRuleEdit')({ allLibraries: Type.Boolean(), libraryIds, age: Nullable(AgeRuleEdit) })
export type AccessRuleEdit = Static<typeof AccessRuleEdit>

/** All that decides what a user may see. */
export const Access = Noun('Access')({ ...AccessRule.properties, sharingTags: Type.Array(SharingGrant) })
export type Access = Static<typeof Access>

/** `sharingTags` replaces all grants of the user; absent, they stay as they are. */
export const AccessEdit = Noun('AccessEdit')({
  ...AccessRuleEdit.properties,
  sharingTags: Type.Optional(Nullable(Type.Array(NewGrant, { maxItems: GRANTS_MAX }))),
})
export type AccessEdit = Static<typeof AccessEdit>

/** What somebody without a rule sees. */
export const NO_RULE: AccessRule = { allLibraries: true, libraryIds: [], age: null }

/** Whether a rule can hide anything. */
export const restricts = ({ allLibraries, age }: Pick<AccessRuleEdit, 'allLibraries' | 'age'>): boolean => !allLibraries || age !== null

/** Why a user does not see a series: the account is disabled, the library is not on their list, the age rule, a sharing tag. */
export const HIDERS = ['account', 'library', 'age', 'tag'] as const
export type Hider = (typeof HIDERS)[number]

const Numbers = Noun('VisibleNumbers')({ series: Type.Integer({ minimum: 0 }), books: Type.Integer({ minimum: 0 }) })

/** What a user sees of a library. In `hidden`, what several rules hide counts for each. */
export const VisibleLibrary = Noun('VisibleLibrary')({
  libraryId: Uuid,
  libraryName: Type.String(),
  isVisible: Type.Boolean(),
  visible: Numbers,
  hidden: Type.Object({ account: Numbers, library: Numbers, age: Numbers, tag: Numbers }),
})
export type VisibleLibrary = Static<typeof VisibleLibrary>

/** What a user sees, and of one series, if the request names one, what hides it. Series and books that the caller does not see are not counted. */
export const VisibleToUser = Noun('VisibleToUser')({
  libraries: Type.Array(VisibleLibrary),
  series: Nullable(Type.Object({ seriesId: Uuid, isVisible: Type.Boolean(), hiddenBy: Type.Array(OneOf(HIDERS)) })),
})
export type VisibleToUser = Static<typeof VisibleToUser>
