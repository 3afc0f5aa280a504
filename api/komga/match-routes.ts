import Type, { type Static } from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { streamedList } from '#api/http/json-chunks.ts'
import { type KomgaCall, readBooks, readSeries } from '#api/komga/lists.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { AppError } from '#core/foundation/errors.ts'
import { Nullable } from '#core/foundation/schema.ts'
import type { EntryMatch } from '#core/shelves/entry-match-query.ts'
import { matchReadingList, READING_LIST_BYTES_MAX } from '#core/shelves/import-reading-list.ts'
import type { ReadingListEntry } from '#core/shelves/reading-list.ts'

type Services = Pick<ContentServices, 'readReadingList'> & Pick<DataServices, 'database'>
const komgaEndpoint = komgaEndpointOf<Services>()

const Matches = Type.Object({
  series: Type.Object({ seriesId: Type.String(), title: Type.String(), releaseDate: Nullable(Type.String()) }),
  books: Type.Array(Type.Object({ bookId: Type.String(), number: Type.String(), title: Type.String() })),
})
const Request = Type.Object({
  request: Type.Object({ series: Type.Array(Type.String()), number: Type.String() }),
  matches: Type.Array(Matches),
})
const ReadListMatch = Type.Object(
  {
    readListMatch: Type.Object({
      name: Type.String(),
      errorCode: Type.String({ description: 'ERR_1009 if a read list has this name.' }),
    }),
    requests: Type.Array(Request),
    errorCode: Type.String(),
  },
  { title: 'KomgaReadListMatch' },
)

const NAME_TAKEN = 'ERR_1009'
const NOT_READABLE = 'ERR_1015'
/** Each may have ten books, which are read as whole records. */
const REQUESTS_AT_ONCE = 20

/** The titles by which Komga looks for the series: collectors write the year, or the volume, behind it. */
const titlesOf = ({ series, volume }: ReadingListEntry): string[] =>
  volume === '' || volume === '1' ? [series] : [`${series} (${volume})`, series]

async function showRequests(
  call: KomgaCall,
  part: readonly { entry: ReadingListEntry; found: readonly EntryMatch[] }[],
): Promise<Static<typeof Request>[]> {
  const all = part.flatMap(({ found }) => found)
  const books = new Map((await readBooks(call, [...new Set(all.map(({ bookId }) => bookId))])).map((book) => [book.id, book]))
  const series = new Map((await readSeries(call, [...new Set(all.map(({ seriesId }) => seriesId))])).map((one) => [one.id, one]))
  return part.map(({ entry, found }) => ({
    request: { series: titlesOf(entry), number: entry.number },
    matches: [...Map.groupBy(found, ({ seriesId }) => seriesId)].flatMap(([seriesId, members]) => {
      const one = series.get(seriesId)
      const shown = members.flatMap(({ bookId }) => books.get(bookId) ?? [])
      if (one === undefined || shown.length === 0) return []
      return {
        series: { seriesId, title: one.metadata.title, releaseDate: one.booksMetadata.releaseDate },
        books: shown.map(({ id, metadata }) => ({ bookId: id, number: metadata.number, title: metadata.title })),
      }
    }),
  }))
}

/** Komga writes its code into the message of such an error; its app shows a sentence instead. */
function refuseUnreadable(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== 'invalid_value') throw error
  throw new AppError('invalid_value', `${NOT_READABLE}: ${error.message}`, { cause: error })
}

export const komgaMatchRoutes = [
  komgaEndpoint({
    method: 'POST',
    path: '/api/v1/readlists/match/comicrack',
    summary: 'The books that the entries of a CBL file mean, ten at most for each; changes nothing',
    who: 'books-write',
    upload: { description: 'A reading list in CBL format.' },
    bodyBytesMax: READING_LIST_BYTES_MAX + 65_536,
    reply: ReadListMatch,
    run: async (call, { upload }) => {
      const { name, nameIsTaken, entries, matches } = await matchReadingList(call.services, call.caller, upload).catch(refuseUnreadable)
      const parts = entries.map((entry, place) => ({ entry, found: matches[place] ?? [] }))
      return {
        readListMatch: { name, errorCode: nameIsTaken ? NAME_TAKEN : '' },
        requests: streamedList(parts, REQUESTS_AT_ONCE, (part) => showRequests(call, part)),
        errorCode: '',
      }
    },
  }),
]
