import type { Static, TSchema } from 'typebox'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { type Analysis, BOOK_ERROR_TYPES, SMALL_FILE_BYTES_MAX } from '#core/fields/analysis.ts'
import { BOOK_FORMATS } from '#core/fields/book-format.ts'
import { Name, Text } from '#core/fields/field.ts'
import { LIST_MAX } from '#core/fields/limits.ts'
import { fieldsOf, type Kind } from '#core/fields/record-kind.ts'
import { bufferOf } from '#core/foundation/byte-view.ts'
import { FreeObject, Nullable, OneOf } from '#core/foundation/schema.ts'
import { SIDE_MAX } from '../images/plain-picture.ts'
import { NAME_CHARACTERS_MAX } from '../limits.ts'

/** A page of an archive takes at least 76 bytes of its file. */
const PAGES_MAX = SMALL_FILE_BYTES_MAX / 64
/** A thumbnail of noise has 150 KB. */
const COVER_CHARACTERS_MAX = 1024 * 1024
/** Longer than any message of an analysis. */
const MESSAGE_LENGTH_MAX = 20_000

/** A book has one or two of each type. */
const PROBLEMS_MAX = 50

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Side = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const list = <Item extends TSchema>(item: Item) => Type.Optional(Type.Array(item, { maxItems: LIST_MAX }))
const Links = list(Type.Object({ source: Name, url: Text }))
const valuesOf = (kind: Kind) =>
  Type.Optional(
    Type.Object(Object.fromEntries(fieldsOf(kind).map(({ name, schema }) => [name, Type.Optional(schema)])), {
      additionalProperties: false,
    }),
  )
const Series = Type.Optional(
  Type.Object({
    fields: valuesOf('series'),
    genres: list(Name),
    tags: list(Name),
    alternateTitles: list(Type.Object({ label: Name, title: Name })),
    links: Links,
  }),
)

const Message = Type.Array(
  Nullable(
    Type.Object({
      file: Nullable(
        Type.Object({
          bytes: Count,
          mtimeNs: Type.String({ pattern: '^-?[0-9]{1,19}$' }),
          sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
          readerHash: Type.String({ pattern: '^[0-9a-f]{32}$' }),
        }),
      ),
      format: Nullable(OneOf([...BOOK_FORMATS])),
      pageCount: Count,
      pageSource: OneOf(['zip', 'rar', 'rar_solid', 'pdf', 'none']),
      pages: Type.Array(
        Type.Object({
          name: Type.String({ maxLength: NAME_CHARACTERS_MAX }),
          mediaType: Type.String({ maxLength: 100 }),
          width: Nullable(Side),
          height: Nullable(Side),
          bytes: Count,
          zip: Type.Optional(Type.Object({ offset: Count, compressedBytes: Count, method: Type.Enum([0, 8]), crc32: Count })),
          isBlank: Type.Optional(Type.Boolean()),
        }),
        { maxItems: PAGES_MAX },
      ),
      embedded: Type.Object({
        title: Type.Optional(Text),
        book: valuesOf('book'),
        genres: list(Name),
        tags: list(Name),
        storyArcs: list(Type.Object({ name: Name, number: Type.Optional(Text) })),
        links: Links,
        externalIds: Type.Optional(Type.Record(Type.String({ maxLength: 500 }), Text, { maxProperties: LIST_MAX })),
        series: Series,
      }),
      cover: Nullable(
        Type.Object({
          jpeg: Type.String({ maxLength: COVER_CHARACTERS_MAX, pattern: '^/9j/' }),
          width: Type.Integer({ minimum: 1, maximum: SIDE_MAX }),
          height: Type.Integer({ minimum: 1, maximum: SIDE_MAX }),
        }),
      ),
      problems: Type.Array(
        Type.Object({
          type: OneOf([...BOOK_ERROR_TYPES]),
          message: Type.String({ maxLength: MESSAGE_LENGTH_MAX }),
          details: Type.Optional(FreeObject()),
          fatal: Type.Boolean(),
        }),
        { maxItems: PROBLEMS_MAX },
      ),
    }),
  ),
)
type Message = Static<typeof Message>

const validator = Compile(Message)

/** Reads what writeAnalyses has written for so many files. A malicious file may control the process that sent it: null if anything is not as it should be. */
export function readAnalyses(bytes: Uint8Array, count: number): (Analysis | null)[] | null {
  try {
    const message: unknown = JSON.parse(bufferOf(bytes).toString())
    return validator.Check(message) && message.length === count ? message.map(analysisOf) : null
  } catch {
    return null
  }
}

function analysisOf(one: Message[number]): Analysis | null {
  return one && ({ ...one, cover: one.cover && { ...one.cover, jpeg: Buffer.from(one.cover.jpeg, 'base64') } } as Analysis)
}
