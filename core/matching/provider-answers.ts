import type { Static, TSchema } from 'typebox'
import Type from 'typebox'
import type { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import { AUTHOR_ROLES, type ProposedBy } from '#core/fields/field.ts'
import { ALTERNATE_TITLES_MAX } from '#core/fields/limits.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { READING_DIRECTIONS, type SERIES_FIELDS, SERIES_STATUSES } from '#core/fields/series-metadata.ts'
import { AnyInteger, AnyNumber } from '#core/foundation/schema.ts'

/** The schemas of provider answers. The caller of a provider checks each answer before using it. */

const TITLE_LENGTH_MAX = 1_000
const TEXT_LENGTH_MAX = 40_000
const LIST_MAX = 500
/** There are fewer services. */
const IDS_MAX = 100

/** Addresses of other schemes are left out of an answer; see docs/plugin-security.md. */
export const WEB_PATTERN = '^https?://'
/** One line for people: without markup. */
const text = (maxLength: number) => Type.String({ maxLength, 'x-text': 'line' })
/** Text with paragraphs. */
const lines = (maxLength: number) => Type.String({ maxLength, 'x-text': 'lines' })
/** Not for people, and returned to the service as it is. */
const code = (maxLength: number) => Type.String({ maxLength })
const Optional = <const Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))
/** Identifiers of a service. */
export const ID_PATTERN = '^[^\\u0000-\\u001f]+$'
const Id = Type.String({ minLength: 1, maxLength: 200, pattern: ID_PATTERN })
const Web = Type.String({ maxLength: 2_000, pattern: WEB_PATTERN })
/** Readers receive an address of this server instead; see plugins/host/plugin-pictures.ts. */
const Picture = Type.String({ maxLength: 2_000, pattern: WEB_PATTERN, 'x-address': 'picture' })
const Words = Type.Array(text(200), { maxItems: LIST_MAX })
const Whole = Type.Integer({ minimum: 0, maximum: 2_147_483_647 })
const Fraction = Type.Number({ minimum: 0, maximum: 1 })
const Percent = Type.Number({ minimum: 0, maximum: 100 })
const Status = Type.Enum([...SERIES_STATUSES], { type: 'string' })
const Ids = Type.Record(Type.String({ pattern: '^[^\\u0000-\\u001f]{1,100}$' }), code(200), { maxProperties: IDS_MAX })

export const SearchResult = Type.Object({
  externalId: Id,
  title: text(TITLE_LENGTH_MAX),
  alternateTitles: Type.Optional(Type.Array(text(200), { maxItems: ALTERNATE_TITLES_MAX })),
  year: Optional(Type.Integer({ minimum: -9_999, maximum: 9_999 })),
  coverUrl: Optional(Picture),
  relevance: Type.Optional(Fraction),
  preview: Type.Optional(
    Type.Object({
      status: Optional(text(100)),
      genres: Type.Optional(Words),
      rating: Optional(Percent),
      description: Optional(lines(TEXT_LENGTH_MAX)),
      bookCount: Optional(Whole),
    }),
  ),
})

export const SearchAnswer = Type.Object({ results: Type.Array(SearchResult, { maxItems: 100 }), nextCursor: Optional(code(1_000)) })
export const MatchAnswer = Type.Object({
  match: Type.Union([SearchResult, Type.Null()]),
  confidence: Fraction,
  alternatives: Type.Optional(Type.Array(SearchResult, { maxItems: 100 })),
})

const described = {
  externalId: Id,
  externalUrl: Optional(Web),
  title: Optional(text(TITLE_LENGTH_MAX)),
  titleSort: Optional(text(TITLE_LENGTH_MAX)),
  summary: Optional(lines(TEXT_LENGTH_MAX)),
  publisher: Optional(text(TITLE_LENGTH_MAX)),
  year: Optional(Type.Integer({ minimum: -9_999, maximum: 9_999 })),
  authors: Type.Optional(
    Type.Array(
      Type.Object({
        name: text(500),
        role: Type.Optional(Type.Enum([...AUTHOR_ROLES], { type: 'string' })),
        sortName: Optional(text(500)),
      }),
      { maxItems: LIST_MAX },
    ),
  ),
  genres: Type.Optional(Words),
  tags: Type.Optional(Words),
  coverUrl: Optional(Picture),
  rating: Optional(Type.Object({ score: Percent, voteCount: Optional(Whole) })),
  externalLinks: Type.Optional(Type.Array(Type.Object({ label: text(100), url: Web }), { maxItems: 100 })),
  externalIds: Type.Optional(Ids),
}

/** Members for all fields that providers can give, and further members. */
type Members<Proposed extends string> = Record<Proposed, TSchema> & Record<string, TSchema>

export const SeriesAnswer = Type.Object({
  ...described,
  alternateTitles: Type.Optional(
    Type.Array(Type.Object({ title: text(TITLE_LENGTH_MAX), language: Optional(text(35)), label: Optional(text(100)) }), {
      maxItems: ALTERNATE_TITLES_MAX,
    }),
  ),
  status: Optional(Status),
  readingDirection: Optional(Type.Enum([...READING_DIRECTIONS], { type: 'string' })),
  ageRating: Optional(Type.Integer({ minimum: 0, maximum: 99 })),
  language: Optional(text(35)),
  totalVolumeCount: Optional(Whole),
  totalChapterCount: Optional(Type.Number({ minimum: 0, maximum: 1e8 })),
} satisfies Members<ProposedBy<typeof SERIES_FIELDS>>)

export const BookAnswer = Type.Object({
  ...described,
  subtitle: Optional(text(TITLE_LENGTH_MAX)),
  number: Optional(Type.Number({ minimum: -1e8, maximum: 1e8 })),
  volume: Optional(Whole),
  isbns: Optional(text(1_000)),
  language: Optional(text(35)),
  // Without bounds of their own, which would clamp a number: a proposal drops an invalid month or day.
  month: Optional(AnyInteger()),
  day: Optional(AnyInteger()),
  pageCount: Optional(Whole),
  subjects: Type.Optional(Words),
} satisfies Members<ProposedBy<typeof BOOK_FIELDS>>)

export const Recommendation = Type.Object({
  externalId: Id,
  title: text(TITLE_LENGTH_MAX),
  externalUrl: Optional(Web),
  coverUrl: Optional(Picture),
  summary: Optional(lines(TEXT_LENGTH_MAX)),
  genres: Type.Optional(Words),
  tags: Type.Optional(
    Type.Array(Type.Object({ name: text(200), category: Optional(text(100)), rank: Optional(AnyNumber()) }), { maxItems: LIST_MAX }),
  ),
  score: Fraction,
  reason: lines(2_000),
  basedOn: Type.Optional(Words),
  inLibrary: Type.Optional(Type.Boolean()),
  status: Optional(Status),
  format: Optional(text(100)),
  countryOfOrigin: Optional(text(10)),
  startYear: Optional(Type.Integer({ minimum: -9_999, maximum: 9_999 })),
  rating: Optional(Percent),
  popularity: Optional(AnyNumber()),
  totalVolumeCount: Optional(Whole),
  totalChapterCount: Optional(Type.Number({ minimum: 0, maximum: 1e8 })),
  externalIds: Type.Optional(Ids),
})
export const RecommendationsAnswer = Type.Object({ recommendations: Type.Array(Recommendation, { maxItems: 500 }) })

export type SearchResult = Static<typeof SearchResult>
export type SearchAnswer = Static<typeof SearchAnswer>
export type MatchAnswer = Static<typeof MatchAnswer>
export type SeriesAnswer = Static<typeof SeriesAnswer>
export type BookAnswer = Static<typeof BookAnswer>
export type Recommendation = Static<typeof Recommendation>

/** The answer of `get` for each kind of record. */
export interface MetadataAnswers extends Record<Kind, unknown> {
  series: SeriesAnswer
  book: BookAnswer
}
