import { isDeepStrictEqual } from 'node:util'
import type { Static, TSchema } from 'typebox'
import Type from 'typebox'
import { FreeObject } from '#core/foundation/schema.ts'
import { AUTHORS_MAX, CUSTOM_BYTES_MAX, NAME_LENGTH_MAX, SUMMARY_LENGTH_MAX, TEXT_LENGTH_MAX } from '#core/metadata/limits.ts'

export { AUTHORS_MAX, CUSTOM_BYTES_MAX, LIST_MAX, NAME_LENGTH_MAX, SUMMARY_LENGTH_MAX, TEXT_LENGTH_MAX } from '#core/metadata/limits.ts'

/** Who gave a field its value, from the strongest to the weakest. A weaker source never overwrites a stronger one. */
export const SOURCES = ['user', 'plugin', 'embedded', 'file_name'] as const
export type Source = (typeof SOURCES)[number]
/** Who gave a genre, tag, title, identifier, link or rating; none of them comes from the name of a file. The strongest first. */
export const GIVERS = ['user', 'plugin', 'embedded'] as const
export type Giver = (typeof GIVERS)[number]

/**
 * One metadata field of a book or a series: the lists of these drive storage, requests, answers, locks and contexts. A new field is an entry of one of
 * the lists and a migration; the compiler names what else does not know it yet, and `test/core/metadata/field.test.ts` what the database and the
 * documents lack.
 */
export interface Field {
  /** Name on the wire and in patches. */
  name: string
  /** What it tells, in one sentence, for the interface's description. */
  about: string
  /** Column of the record's metadata table, or of the record itself when `ofRecord` is true. Null for a view of another field (people). */
  column: string | null
  /** Kept in `books` or `series`, because lists sort by it. */
  ofRecord?: true
  /** Kept as jsonb. */
  json?: true
  /** Kept as json: the text as it was sent, with the order of its members and all digits of its numbers. */
  asSent?: true
  /** Schema of a value; that it may be null is not said here. */
  schema: TSchema
  /** For a people string: the role whose entries of `authors` it shows. */
  role?: AuthorRole
  /** Column of exports that tells it; null where exports leave it out. */
  exported: string | null
  /** Member of a plugin's answer that it is taken from; null where plugins do not give it. */
  proposed: string | null
  /** Not part of the metadata patch; it is changed through the record (`PATCH /books/{id}`). */
  ofRecordPatch?: true
}

/** The columns that exports must have for a list of fields. */
export type ExportedBy<Fields extends readonly Field[]> = Exclude<Fields[number]['exported'], null>
/** The members that answers of plugins must have for a list of fields. */
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

const INT32_MAX = 2_147_483_647
export const Name = Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX })
export const Text = Type.String({ maxLength: TEXT_LENGTH_MAX })
export const Summary = Type.String({ maxLength: SUMMARY_LENGTH_MAX })
export const Natural = Type.Integer({ minimum: 0, maximum: INT32_MAX })
export const Int32 = Type.Integer({ minimum: -INT32_MAX - 1, maximum: INT32_MAX })
export const Year = Type.Integer({ minimum: -9999, maximum: 9999 })
/** Any number of JSON: it is kept as a double, digit for digit. */
export const Position = Type.Number()

/** A person and the part taken in the work. */
export const Author = Type.Object(
  {
    name: Name,
    role: Type.Enum([...AUTHOR_ROLES], { type: 'string' }),
    sortName: Type.Optional(Type.Union([Type.String({ maxLength: NAME_LENGTH_MAX }), Type.Null()])),
  },
  { additionalProperties: false, title: 'Author' },
)
export type Author = Static<typeof Author>

export const Award = Type.Object(
  {
    name: Name,
    won: Type.Boolean({ description: 'True if won, false if only nominated.' }),
    category: Type.Optional(Type.Union([Type.String({ maxLength: NAME_LENGTH_MAX }), Type.Null()])),
    year: Type.Optional(Type.Union([Year, Type.Null()])),
  },
  { additionalProperties: false, title: 'Award' },
)
export type Award = Static<typeof Award>

export const Authors = Type.Array(Author, { maxItems: AUTHORS_MAX })
export const CustomMetadata = {
  ...FreeObject({ description: 'Free-form JSON, kept as it is sent: names, order of members, digits of numbers.' }),
  title: 'CustomMetadata',
  'x-as-sent': CUSTOM_BYTES_MAX,
}

/** Values, their sources and the locks of one record. Values that are null are left out. */
export interface MetadataRecord<Values extends Readonly<Record<string, unknown>> = Readonly<Record<string, unknown>>> {
  values: Values
  /** Of fields that have a value; roles have their own beside `authors`. */
  sources: Readonly<Record<string, Source>>
  /** Names of locked fields (`authors`, `awards`, `cover` …), without the suffix of the wire. */
  locks: ReadonlySet<string>
}

/** The names of the values that differ. */
export const changedNames = (before: Pick<MetadataRecord, 'values'>, after: Pick<MetadataRecord, 'values'>): string[] =>
  [...new Set([...Object.keys(before.values), ...Object.keys(after.values)])].filter(
    (name) => !isDeepStrictEqual(before.values[name], after.values[name]),
  )
