import type { Knex } from 'knex'
import Type, { type Static, type TObject } from 'typebox'
import type { Needs } from '#api/http/services.ts'
import { type Call, getKomgaBook, getKomgaSeries } from '#api/komga/lists.ts'
import { BookEdit, type MetadataChange, readBookEdit, readSeriesEdit, SeriesEdit } from '#api/komga/metadata-change.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { getLabelIds } from '#api/komga/sharing-labels.ts'
import type { Caller } from '#core/account/caller.ts'
import { setSeriesTags } from '#core/account/sharing-store.ts'
import type { PatchOf } from '#core/fields/record-kind.ts'
import { refuse } from '#core/foundation/errors.ts'
import { isUuid, Uuid } from '#core/foundation/schema.ts'
import { getBookRecord } from '#core/metadata/book-metadata-query.ts'
import { lockBooks, patchBooks, setBookNames } from '#core/metadata/edit-book-metadata.ts'
import { replaceEntries } from '#core/metadata/edit-entries.ts'
import { lockSeries, patchSeries, setSeriesNames } from '#core/metadata/edit-series-metadata.ts'
import { readNames } from '#core/metadata/name.ts'

type Services = Needs<'database'>
const komgaEndpoint = komgaEndpointOf<Services>()

/** The limit of our own metadata routes: summaries of 40,000 characters and people fit with room to spare. */
const BODY_BYTES_MAX = 512 * 1024
/** The page size of a large list; our own bulk change takes as many. */
const BOOKS_MAX = 500
const BULK_BYTES_MAX = 4 * 1_048_576

/** Books by their ids. The route refuses a key that is no id, with a sentence of its own. */
const BookEdits = Type.Record(Type.String({ maxLength: 100 }), BookEdit, { maxProperties: BOOKS_MAX })

/** How books and series differ. */
interface MetadataKind<Edit extends TObject> {
  one: 'book' | 'series'
  path: string
  idName: string
  who: 'books-write' | 'series-write'
  Edit: Edit
  /** Compares an edit with the current values. Runs before the transaction, on another connection. */
  readChange(call: Call, id: string, edit: Static<Edit>): Promise<MetadataChange>
  patch(trx: Knex, caller: Caller, id: string, patch: MetadataChange['patch']): Promise<unknown>
  setNames(trx: Knex, caller: Caller, id: string, given: { taxonomy: 'genre' | 'tag'; names: readonly string[] }): Promise<unknown>
  lock(trx: Knex, caller: Caller, id: string, locks: MetadataChange['locks']): Promise<unknown>
}

const BOOK: MetadataKind<typeof BookEdit> = {
  ...{ one: 'book', path: '/api/v1/books/:bookId/metadata', idName: 'bookId', who: 'books-write', Edit: BookEdit },
  async readChange(call, bookId, edit) {
    const { values } = await getBookRecord(call.services.database, call.caller, bookId)
    const { metadata: shown } = await getKomgaBook(call, bookId)
    return readBookEdit(edit, { shown, authors: values.authors ?? [], isbns: values.isbns ?? null })
  },
  patch: (trx, caller, bookId, patch) => patchBooks(trx, caller, { bookIds: [bookId], patch: patch as PatchOf['book'] }),
  setNames: (trx, caller, bookId, given) => setBookNames(trx, caller, { bookId, ...given }),
  lock: (trx, caller, bookId, locks) => lockBooks(trx, caller, { bookIds: [bookId], locks }),
}

const SERIES: MetadataKind<typeof SeriesEdit> = {
  ...{ one: 'series', path: '/api/v1/series/:seriesId/metadata', idName: 'seriesId', who: 'series-write', Edit: SeriesEdit },
  readChange: async (call, seriesId, edit) => readSeriesEdit(edit, (await getKomgaSeries(call, seriesId)).metadata),
  patch: (trx, caller, seriesId, patch) => patchSeries(trx, caller, { seriesIds: [seriesId], patch: patch as PatchOf['series'] }),
  setNames: (trx, caller, seriesId, given) => setSeriesNames(trx, caller, { seriesId, ...given }),
  lock: (trx, caller, seriesId, locks) => lockSeries(trx, caller, { seriesIds: [seriesId], locks }),
}

const hasMembers = (value: object): boolean => Object.keys(value).length > 0

async function applyChange<Edit extends TObject>(
  kind: MetadataKind<Edit>,
  trx: Knex,
  caller: Caller,
  { id, change }: { id: string; change: MetadataChange },
): Promise<void> {
  const { patch, locks, links, alternateTitles, sharingLabels, ...names } = change
  if (hasMembers(patch)) await kind.patch(trx, caller, id, patch)
  for (const taxonomy of ['genre', 'tag'] as const) {
    const given = names[`${taxonomy}s`]
    if (given) await kind.setNames(trx, caller, id, { taxonomy, names: readNames(given, `/${taxonomy}s`) })
  }
  if (links) await replaceEntries(trx, { kind: kind.one, id, set: 'externalLinks' }, links)
  // Only series have the next two: no edit of a book contains them.
  if (alternateTitles) await replaceEntries(trx, { kind: 'series', id, set: 'alternateTitles' }, alternateTitles)
  if (sharingLabels) await labelSeries(trx, caller, id, readNames(sharingLabels, '/sharingLabels'))
  if (hasMembers(locks)) await kind.lock(trx, caller, id, locks)
}

/** Labels decide who sees a series, so that only administrators set them. Adds labels that do not exist yet. @throws forbidden */
async function labelSeries(trx: Knex, caller: Caller, seriesId: string, labels: readonly string[]): Promise<void> {
  if (!caller.permissions.has('system-admin'))
    refuse('forbidden', 'Sharing labels decide who sees a series; only administrators change them.')
  await setSeriesTags(trx, caller, { seriesId, tagIds: await getLabelIds(trx, caller, labels) })
}

const metadataRoute = <Edit extends TObject>(kind: MetadataKind<Edit>) =>
  komgaEndpoint({
    method: 'PATCH',
    path: kind.path,
    summary: `Change metadata of a ${kind.one}; a member that is sent as it was received changes nothing`,
    who: kind.who,
    params: Type.Object({ [kind.idName]: Uuid }),
    status: 204,
    body: kind.Edit,
    bodyBytesMax: BODY_BYTES_MAX,
    run: async (call, { params, body }) => {
      const id = ((params as Record<string, string>)[kind.idName] as string).toLowerCase()
      const change = await kind.readChange(call, id, body as Static<Edit>)
      await call.services.database.transaction((trx) => applyChange(kind, trx, call.caller, { id, change }))
      return undefined
    },
  })

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
      for (const [id, edit] of Object.entries(body)) changes.set(id.toLowerCase(), await BOOK.readChange(call, id.toLowerCase(), edit))
      await call.services.database.transaction(async (trx) => {
        // Always in the order of their ids, so that two such requests do not wait for each other.
        for (const [id, change] of [...changes].sort(([a], [b]) => (a < b ? -1 : 1)))
          await applyChange(BOOK, trx, call.caller, { id, change })
      })
      return undefined
    },
  }),
  metadataRoute(BOOK),
  metadataRoute(SERIES),
]
