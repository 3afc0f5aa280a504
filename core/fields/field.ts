import { isDeepStrictEqual } from 'node:util'
import type { Static, TSchema } from 'typebox'
import Type from 'typebox'
import { AUTHORS_MAX, NAME_LENGTH_MAX, SUMMARY_LENGTH_MAX, TEXT_LENGTH_MAX } from '#core/fields/limits.ts'
import { AnyNumber, FreeObject, NameText, Nullable, OneOf } from '#core/foundation/schema.ts'

/** Sources of a value, strongest first. A weaker source never overwrites a stronger one. */
export const SOURCES = ['user', 'plugin', 'embedded', 'file_name'] as const
export type Source = (typeof SOURCES)[number]
/** Sources of a genre, tag, title, identifier, link or rating, strongest first; file names provide none of them. */
export const GIVERS = ['user', 'plugin', 'embedded'] as const
export type Giver = (typeof GIVERS)[number]

/**
 * One metadata field of a book or a series: the lists of these define storage, requests, responses, locks and contexts. A new field is an entry of one of
 * the lists and a migration; the compiler reports other code that must handle it, and `test/core/fields/field.test.ts` reports what the database and the
 * documents lack.
 */
export interface Field {
  /** Name in the API and in patches. */
  name: string
  /** Description in one sentence, for the API. */
  about: string
  /** Column of the metadata table, or of the record itself if `ofRecord` is true. Null for a view of another field (people). */
  column: string | null
  /** Stored in `books` or `series`, because lists sort by it. */
  ofRecord?: true
  /** Stored as jsonb. */
  json?: true
  /** Stored as json, which keeps the order of members: another order is another value. */
  ordered?: true
  /** Schema of a value, without null. */
  schema: TSchema
  /** For a people string: its role in `authors`. */
  role?: AuthorRole
  /** Its column in exports; null if exports do not include it. */
  exported: string | null
  /** The member of a plugin's answer that provides it; null if plugins do not provide it. */
  proposed: string | null
  /** Not part of the metadata patch; it is changed through the record (`PATCH /books/{id}`). */
  ofRecordPatch?: true
}

/** The columns that exports must have for a list of fields. */
export type ExportedBy<Fields extends readonly Field[]> = Exclude<Fields[number]['exported'], null>
/** The members that plugin answers must have for a list of fields. */
export type ProposedBy<Fields extends readonly Field[]> = Exclude<Fields[number]['proposed'], null>

export const AUTHOR_ROLES = [
  'author',
  'co_author',
  'editor',
  'translator',
  'illustrator',
  'contributor',
  'writer',
  'penciller',
  'inker',
  'colorist',
  'letterer',
  'cover_artist',
] as const
export type AuthorRole = (typeof AUTHOR_ROLES)[number]

export const INT32_MAX = 2_147_483_647
export const Name = NameText({ minLength: 1, maxLength: NAME_LENGTH_MAX })
export const Text = NameText({ maxLength: TEXT_LENGTH_MAX })
export const Summary = Type.String({ maxLength: SUMMARY_LENGTH_MAX })
export const Natural = Type.Integer({ minimum: 0, maximum: INT32_MAX })
export const Int32 = Type.Integer({ minimum: -INT32_MAX - 1, maximum: INT32_MAX })
export const Year = Type.Integer({ minimum: -9999, maximum: 9999 })
/** Stored as a double. */
export const Position = AnyNumber()

/** A person and the role in the work. */
export const Author = Type.Object(
  {
    name: Name,
    role: OneOf(AUTHOR_ROLES),
    sortName: Type.Optional(Nullable(NameText({ maxLength: NAME_LENGTH_MAX }))),
  },
  { additionalProperties: false, title: 'Author' },
)
export type Author = Static<typeof Author>

export const Award = Type.Object(
  {
    name: Name,
    won: Type.Boolean({ description: 'True if won, false if only nominated.' }),
    category: Type.Optional(Nullable(NameText({ maxLength: NAME_LENGTH_MAX }))),
    year: Type.Optional(Nullable(Year)),
  },
  { additionalProperties: false, title: 'Award' },
)
export type Award = Static<typeof Award>

export const Authors = Type.Array(Author, { maxItems: AUTHORS_MAX })
export const CustomMetadata = {
  ...FreeObject({
    description:
      'Free-form JSON as JSON.parse of JavaScript reads it. A number with more digits than a double holds is refused: send it as a string.',
  }),
  title: 'CustomMetadata',
  'x-exact-numbers': true,
}

/** Values, sources and locks of one record. Null values are left out. */
export interface MetadataRecord<Values extends Readonly<Record<string, unknown>> = Readonly<Record<string, unknown>>> {
  values: Values
  /** For fields with a value; roles have their own besides `authors`. */
  sources: Readonly<Record<string, Source>>
  /** Names of locked fields (`authors`, `awards`, `cover` …), without the suffix of the API. */
  locks: ReadonlySet<string>
}

/** The names of the values that differ. */
export const changedNames = (before: Pick<MetadataRecord, 'values'>, after: Pick<MetadataRecord, 'values'>): string[] =>
  [...new Set([...Object.keys(before.values), ...Object.keys(after.values)])].filter(
    (name) => !isDeepStrictEqual(before.values[name], after.values[name]),
  )
