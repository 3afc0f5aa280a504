import type { Knex } from 'knex'
import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { getKomgaBook, getKomgaSeries, type KomgaCall } from '#api/komga/lists.ts'
import { BookEdit, type KomgaChange, readBookEdit, readSeriesEdit, SeriesEdit } from '#api/komga/metadata-change.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { getLabelIds } from '#api/komga/sharing-labels.ts'
import type { Caller } from '#core/account/caller.ts'
import { setSeriesTags } from '#core/account/sharing-store.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { refuse } from '#core/foundation/errors.ts'
import { isUuid, Uuid } from '#core/foundation/schema.ts'
import { replaceEntries } from '#core/metadata/edit-entries.ts'
import { lockMetadata, patchMetadata, setNames } from '#core/metadata/edit-metadata.ts'
import { readNames } from '#core/metadata/name.ts'
import { getRecord } from '#core/metadata/visible-records-query.ts'

type Services = Pick<DataServices, 'database'>
const komgaEndpoint = komgaEndpointOf<Services>()

/** The limit of our own metadata routes: summaries of 40,000 characters and people fit with room to spare. */
const BODY_BYTES_MAX = 512 * 1024
/** The page size of a large list; our own bulk change takes as many. */
const BOOKS_MAX = 500
const BULK_BYTES_MAX = 4 * 1_048_576

/** Books by their ids. The route refuses a key that is no id, with a sentence of its own. */
const BookEdits = Type.Record(Type.String({ maxLength: 100 }), BookEdit, { maxProperties: BOOKS_MAX })

/** Compares an edit with the current values. Runs before the transaction, on another connection. */
async function readChange(call: KomgaCall, kind: Kind, id: string, edit: object): Promise<KomgaChange> {
  if (kind === 'series') return readSeriesEdit(edit, (await getKomgaSeries(call, id)).metadata)
  const { values } = await getRecord(call.services.database, call.caller, 'book', id)
  const { metadata: shown } = await getKomgaBook(call, id)
  return readBookEdit(edit, { shown, authors: values.authors ?? [], isbns: values.isbns ?? null })
}

const hasMembers = (value: object): boolean => Object.keys(value).length > 0

async function applyChange(
  trx: Knex,
  caller: Caller,
  { kind, id, change }: { kind: Kind; id: string; change: KomgaChange },
): Promise<void> {
  const { patch, locks, links, alternateTitles, sharingLabels, ...given } = change
  if (hasMembers(patch)) await patchMetadata(trx, caller, { kind, ids: [id], patch })
  for (const taxonomy of ['genre', 'tag'] as const) {
    const names = given[`${taxonomy}s`]
    if (names) await setNames(trx, caller, { kind, id, taxonomy, names: readNames(names, `/${taxonomy}s`) })
  }
  if (links) await replaceEntries(trx, { kind, id, set: 'externalLinks' }, links)
  // Only series have the next two: no edit of a book contains them.
  if (alternateTitles) await replaceEntries(trx, { kind: 'series', id, set: 'alternateTitles' }, alternateTitles)
  if (sharingLabels) await labelSeries(trx, caller, id, readNames(sharingLabels, '/sharingLabels'))
  if (hasMembers(locks)) await lockMetadata(trx, caller, { kind, ids: [id], locks })
}

/** Labels decide who sees a series, so that only administrators set them. Adds labels that do not exist yet. @throws forbidden */
async function labelSeries(trx: Knex, caller: Caller, seriesId: string, labels: readonly string[]): Promise<void> {
  if (!caller.permissions.has('system-admin'))
    refuse('forbidden', 'Sharing labels decide who sees a series; only administrators change them.')
  await setSeriesTags(trx, caller, { seriesId, tagIds: await getLabelIds(trx, caller, labels) })
}

const metadataRoute = (kind: Kind) =>
  komgaEndpoint({
    method: 'PATCH',
    path: kind === 'book' ? '/api/v1/books/:bookId/metadata' : '/api/v1/series/:seriesId/metadata',
    summary: `Change metadata of a ${kind}; a member that is sent as it was received changes nothing`,
    who: kind === 'book' ? 'books-write' : 'series-write',
    params: Type.Object({ [`${kind}Id`]: Uuid }),
    status: 204,
    body: kind === 'book' ? BookEdit : SeriesEdit,
    bodyBytesMax: BODY_BYTES_MAX,
    run: async (call, { params, body }) => {
      const id = ((params as Record<string, string>)[`${kind}Id`] as string).toLowerCase()
      const change = await readChange(call, kind, id, body)
      await call.services.database.transaction((trx) => applyChange(trx, call.caller, { kind, id, change }))
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
      const changes = new Map<string, KomgaChange>()
      for (const [id, edit] of Object.entries(body)) changes.set(id.toLowerCase(), await readChange(call, 'book', id.toLowerCase(), edit))
      await call.services.database.transaction(async (trx) => {
        // Always in the order of their ids, so that two such requests do not wait for each other.
        for (const [id, change] of [...changes].sort(([a], [b]) => (a < b ? -1 : 1)))
          await applyChange(trx, call.caller, { kind: 'book', id, change })
      })
    },
  }),
  metadataRoute('book'),
  metadataRoute('series'),
]
