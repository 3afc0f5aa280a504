import type { Knex } from 'knex'
import Type from 'typebox'
import type { Needs } from '#api/http/services.ts'
import { type Call, getKomgaBook, getKomgaSeries } from '#api/komga/lists.ts'
import { BookEdit, type MetadataChange, readBookEdit, readSeriesEdit, SeriesEdit } from '#api/komga/metadata-change.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import type { Caller } from '#core/account/caller.ts'
import { addSharingTag, listSharingTags, setSeriesTags } from '#core/account/sharing-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { isUuid, Uuid } from '#core/foundation/schema.ts'
import { getBookRecord } from '#core/metadata/book-metadata-query.ts'
import { lockBooks, patchBooks, setBookNames } from '#core/metadata/edit-book-metadata.ts'
import { replaceEntries } from '#core/metadata/edit-entries.ts'
import { lockSeries, patchSeries, setSeriesNames } from '#core/metadata/edit-series-metadata.ts'
import { nameKey, readNames } from '#core/metadata/name.ts'
import type { PatchOf } from '#core/metadata/record-kind.ts'

type Services = Needs<'database'>
const komgaEndpoint = komgaEndpointOf<Services>()

/** As for ours: summaries of 40,000 characters and people fit with room to spare. */
const BODY_BYTES_MAX = 512 * 1024
/** A page of a large list, as for ours. */
const BOOKS_MAX = 500
const BULK_BYTES_MAX = 4 * 1_048_576
/** More than a server has. */
const LABELS_MAX = 10_000

const BookId = Type.Object({ bookId: Uuid })
const SeriesId = Type.Object({ seriesId: Uuid })
/** A body of books by their ids; what is no id is refused by its own sentence. */
const BookEdits = Type.Record(Type.String({ maxLength: 100 }), BookEdit, { maxProperties: BOOKS_MAX })

const hasMembers = (value: object): boolean => Object.keys(value).length > 0

/** What an edit says of a book that is not so already. Read before anything is changed, and on no connection that a change holds. */
async function readBookChange(call: Call, bookId: string, edit: BookEdit): Promise<MetadataChange> {
  const { values } = await getBookRecord(call.services.database, call.caller, bookId)
  const { metadata: shown } = await getKomgaBook(call, bookId)
  const isbns = values.isbns ?? null
  return readBookEdit(edit, { shown, authors: values.authors ?? [], isbns })
}

async function changeBook(trx: Knex, caller: Caller, bookId: string, { patch, locks, tags, links }: MetadataChange): Promise<void> {
  if (hasMembers(patch)) await patchBooks(trx, caller, { bookIds: [bookId], patch: patch as PatchOf['book'] })
  if (tags) await setBookNames(trx, caller, { bookId, taxonomy: 'tag', names: readNames(tags, '/tags') })
  if (links) await replaceEntries(trx, { kind: 'book', id: bookId, set: 'externalLinks' }, links)
  if (hasMembers(locks)) await lockBooks(trx, caller, { bookIds: [bookId], locks })
}

async function changeSeries(trx: Knex, caller: Caller, seriesId: string, change: MetadataChange): Promise<void> {
  const { patch, locks, links, alternateTitles, sharingLabels, ...names } = change
  if (hasMembers(patch)) await patchSeries(trx, caller, { seriesIds: [seriesId], patch: patch as PatchOf['series'] })
  for (const taxonomy of ['genre', 'tag'] as const) {
    const given = names[`${taxonomy}s`]
    if (given) await setSeriesNames(trx, caller, { seriesId, taxonomy, names: readNames(given, `/${taxonomy}s`) })
  }
  if (links) await replaceEntries(trx, { kind: 'series', id: seriesId, set: 'externalLinks' }, links)
  if (alternateTitles) await replaceEntries(trx, { kind: 'series', id: seriesId, set: 'alternateTitles' }, alternateTitles)
  if (sharingLabels) await labelSeries(trx, caller, seriesId, readNames(sharingLabels, '/sharingLabels'))
  if (hasMembers(locks)) await lockSeries(trx, caller, { seriesIds: [seriesId], locks })
}

/** Labels rule who sees a series, so that only administrators give them; a new one is made. @throws forbidden */
async function labelSeries(trx: Knex, caller: Caller, seriesId: string, labels: readonly string[]): Promise<void> {
  if (!caller.permissions.has('system-admin'))
    refuse('forbidden', 'Sharing labels rule who sees a series; only administrators change them.')
  const { items } = await listSharingTags(trx, caller, { offset: 0, limit: LABELS_MAX })
  const known = new Map(items.map(({ id, name }) => [nameKey(name), id]))
  const tagIds: string[] = []
  for (const name of labels) tagIds.push(known.get(nameKey(name)) ?? (await addSharingTag(trx, caller, { name })).id)
  await setSeriesTags(trx, caller, { seriesId, tagIds })
}

export const komgaMetadataRoutes = [
  komgaEndpoint({
    method: 'PATCH',
    path: '/api/v1/books/metadata',
    summary: 'Change the metadata of many books, by their ids: all of them or none',
    who: 'books-write',
    status: 204,
    body: BookEdits,
    bodyBytesMax: BULK_BYTES_MAX,
    run: async (call, { body }) => {
      const wrong = Object.keys(body).find((id) => !isUuid(id))
      if (wrong !== undefined)
        refuse('invalid_request', 'The body holds books by their ids.', { details: [{ path: `/${wrong}`, message: 'is no id of a book' }] })
      const changes = new Map<string, MetadataChange>()
      for (const [id, edit] of Object.entries(body)) changes.set(id.toLowerCase(), await readBookChange(call, id.toLowerCase(), edit))
      await call.services.database.transaction(async (trx) => {
        // In one order, so that two such requests do not wait for each other.
        for (const [bookId, change] of [...changes].sort(([a], [b]) => (a < b ? -1 : 1))) await changeBook(trx, call.caller, bookId, change)
      })
      return undefined
    },
  }),
  komgaEndpoint({
    method: 'PATCH',
    path: '/api/v1/books/:bookId/metadata',
    summary: 'Change metadata of a book; what is sent as it was shown changes nothing',
    who: 'books-write',
    params: BookId,
    status: 204,
    body: BookEdit,
    bodyBytesMax: BODY_BYTES_MAX,
    run: async (call, { params, body }) => {
      const bookId = params.bookId.toLowerCase()
      const change = await readBookChange(call, bookId, body)
      await call.services.database.transaction((trx) => changeBook(trx, call.caller, bookId, change))
      return undefined
    },
  }),
  komgaEndpoint({
    method: 'PATCH',
    path: '/api/v1/series/:seriesId/metadata',
    summary: 'Change metadata of a series; what is sent as it was shown changes nothing',
    who: 'series-write',
    params: SeriesId,
    status: 204,
    body: SeriesEdit,
    bodyBytesMax: BODY_BYTES_MAX,
    run: async (call, { params, body }) => {
      const seriesId = params.seriesId.toLowerCase()
      const change = readSeriesEdit(body, (await getKomgaSeries(call, seriesId)).metadata)
      await call.services.database.transaction((trx) => changeSeries(trx, call.caller, seriesId, change))
      return undefined
    },
  }),
]
