import { stat } from 'node:fs/promises'
import Type, { type Static, type TSchema } from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { readFlag } from '#api/http/query.ts'
import type { StreamReply } from '#api/http/reply.ts'
import type { KomgaCall } from '#api/komga/lists.ts'
import { komgaEndpointOf, komgaStreamOf } from '#api/komga/route.ts'
import { bookThumbnail, CHECKED_COVER, seriesThumbnail, thumbnailQuery } from '#api/views/thumbnail.ts'
import { findCover } from '#core/catalog/book-file.ts'
import { type CoverFile, type CoversBy, recordCovers } from '#core/catalog/edit-covers.ts'
import type { CoverRow } from '#core/covers/chosen-cover-store.ts'
import type { CoverOwner } from '#core/covers/cover.ts'
import { COVER_BYTES_MAX } from '#core/fields/limits.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { shelfCovers } from '#core/shelves/shelf-cover.ts'

type Services = Pick<ContentServices, 'drawCover'> & Pick<DataServices, 'database' | 'settings'>
const komgaEndpoint = komgaEndpointOf<Services>()
const komgaStream = komgaStreamOf<Services>()

const members = {
  id: Type.String(),
  type: Type.String({ description: 'USER_UPLOADED, SIDECAR (found by a plugin or taken from a book), or GENERATED from the file.' }),
  selected: Type.Boolean(),
  mediaType: Type.String(),
  fileSize: Type.Integer(),
  width: Type.Integer(),
  height: Type.Integer(),
}
const BookThumbnail = Type.Object({ ...members, bookId: Type.String() }, { title: 'KomgaBookThumbnail' })
const SeriesThumbnail = Type.Object({ ...members, seriesId: Type.String() }, { title: 'KomgaSeriesThumbnail' })
const CollectionThumbnail = Type.Object({ ...members, collectionId: Type.String() }, { title: 'KomgaCollectionThumbnail' })
const ReadListThumbnail = Type.Object({ ...members, readListId: Type.String() }, { title: 'KomgaReadListThumbnail' })

/** The file and the rest of its form. */
const bodyBytesMax = COVER_BYTES_MAX + 65_536
const MEDIA_TYPE = 'image/jpeg'
/** The server does not store the size of a cover from a file, and no app needs it. */
const UNKNOWN_SIZE = 0

const ofBooks = { read: 'books-read', write: 'books-write' } as const
const ofSeries = { read: 'series-read', write: 'series-write' } as const
/** How the kinds of records differ. */
const KINDS = {
  book: { path: 'books', id: 'bookId', noun: 'book', Reply: BookThumbnail, covers: recordCovers, ...ofBooks },
  series: { path: 'series', id: 'seriesId', noun: 'series', Reply: SeriesThumbnail, covers: recordCovers, ...ofSeries },
  collection: { path: 'collections', id: 'collectionId', noun: 'collection', Reply: CollectionThumbnail, covers: shelfCovers, ...ofSeries },
  read_list: { path: 'readlists', id: 'readListId', noun: 'read list', Reply: ReadListThumbnail, covers: shelfCovers, ...ofBooks },
} as const
type Kind = keyof typeof KINDS
type Shown = Omit<Static<typeof BookThumbnail>, 'bookId'>

/** Those of the kind of the owner, which check who sees it. */
const coversFor = ({ kind }: CoverOwner): CoversBy<CoverOwner> => KINDS[kind].covers

const sourceType = (source: string): string => (source === 'custom' ? 'USER_UPLOADED' : 'SIDECAR')
const sizeOf = async (file: CoverFile): Promise<number> => (await stat(file.path).catch(() => null))?.size ?? 0

async function shownCover(call: KomgaCall<Services>, owner: CoverOwner, row: CoverRow): Promise<Shown> {
  const file = await coversFor(owner)
    .file(call.services, call.caller, { owner, coverId: row.id })
    .catch(() => null)
  return {
    id: row.id,
    [KINDS[owner.kind].id]: owner.id,
    type: sourceType(row.source),
    selected: row.is_selected,
    mediaType: MEDIA_TYPE,
    fileSize: file === null ? 0 : await sizeOf(file),
    width: row.width,
    height: row.height,
  }
}

/** The cover from the file of a book, under the id of the book. Null if the file has none. */
async function findGenerated(call: KomgaCall<Services>, { kind, id: bookId }: CoverOwner): Promise<CoverFile | null> {
  if (kind !== 'book') return null
  const { database, settings } = call.services
  const cover = await findCover(database, call.caller, { bookId, dataFolder: settings.dataFolder })
  return 'missing' in cover ? null : cover
}

async function listShown(call: KomgaCall<Services>, owner: CoverOwner): Promise<Shown[]> {
  const rows = await coversFor(owner).list(call.services, call.caller, owner)
  const generated = await findGenerated(call, owner)
  const own = {
    id: owner.id,
    bookId: owner.id,
    type: 'GENERATED',
    selected: !rows.some(({ is_selected }) => is_selected),
    mediaType: MEDIA_TYPE,
    width: UNKNOWN_SIZE,
    height: UNKNOWN_SIZE,
  }
  const shown = await Promise.all(rows.map((row) => shownCover(call, owner, row)))
  return generated === null ? shown : [{ ...own, fileSize: await sizeOf(generated) }, ...shown]
}

async function pictureOf(call: KomgaCall<Services>, owner: CoverOwner, coverId: string): Promise<StreamReply> {
  const file =
    owner.kind === 'book' && coverId === owner.id
      ? ((await findGenerated(call, owner)) ?? refuse('not_found', 'The file of this book has no cover.'))
      : await coversFor(owner).file(call.services, call.caller, { owner, coverId })
  return { kind: 'file', ...file, mediaType: MEDIA_TYPE, cacheControl: CHECKED_COVER }
}

async function upload(
  call: KomgaCall<Services>,
  owner: CoverOwner,
  { bytes, selected }: { bytes: Uint8Array; selected: boolean },
): Promise<Shown> {
  const { services, caller } = call
  const covers = coversFor(owner)
  const before = selected ? undefined : (await covers.list(services, caller, owner)).find(({ is_selected }) => is_selected)
  const row = await covers.upload(services, caller, { owner, bytes })
  if (selected) return await shownCover(call, owner, row)
  // An upload selects the new cover; the app wants to keep the one before.
  await covers.choose(services, caller, { owner, coverId: before?.id ?? null })
  return await shownCover(call, owner, { ...row, is_selected: false })
}

/** @throws invalid_request */
function readSelected(fields: ReadonlyMap<string, string>): boolean {
  const text = fields.get('selected')?.trim() || 'true'
  const message = 'must be true or false'
  return readFlag(text) ?? refuse('invalid_request', `The field selected ${message}.`, { details: [{ path: '/selected', message }] })
}

/** What the routes of one kind share. */
function sharedBy(kind: Kind) {
  const { path, id } = KINDS[kind]
  return {
    base: `/api/v1/${path}/:${id}/thumbnails`,
    params: Type.Object({ [id]: Uuid }),
    oneParams: Type.Object({ [id]: Uuid, coverId: Uuid }),
    ownerOf: (given: object): CoverOwner => ({ kind, id: ((given as Record<string, string>)[id] as string).toLowerCase() }),
  }
}

const coverOf = (given: object): string => (given as { coverId: string }).coverId.toLowerCase()

/** The picture that is shown; those of shelves come from their members. */
function shownRoute(kind: 'book' | 'series') {
  const { path, id, read } = KINDS[kind]
  const { params, ownerOf } = sharedBy(kind)
  const show = kind === 'book' ? bookThumbnail : seriesThumbnail
  return komgaStream({
    path: `/api/v1/${path}/:${id}/thumbnail`,
    summary: `The thumbnail of a ${kind}`,
    who: read,
    params,
    query: Type.Object(thumbnailQuery),
    mediaTypes: [MEDIA_TYPE],
    run: (call, { params, query }) => show(call, ownerOf(params).id, query),
  })
}

function readRoutes(kind: Kind) {
  const { read, noun } = KINDS[kind]
  const Reply: TSchema = KINDS[kind].Reply
  const { base, params, oneParams, ownerOf } = sharedBy(kind)
  return [
    komgaEndpoint({
      method: 'GET',
      path: base,
      summary: `The covers of a ${noun}`,
      who: read,
      params,
      reply: Type.Array(Reply),
      run: (call, { params }) => listShown(call, ownerOf(params)),
    }),
    komgaStream({
      path: `${base}/:coverId`,
      summary: `One cover of a ${noun}`,
      who: read,
      params: oneParams,
      mediaTypes: [MEDIA_TYPE],
      run: (call, { params }) => pictureOf(call, ownerOf(params), coverOf(params)),
    }),
  ]
}

function writeRoutes(kind: Kind) {
  const { write, noun } = KINDS[kind]
  const Reply: TSchema = KINDS[kind].Reply
  const { base, params, oneParams, ownerOf } = sharedBy(kind)
  return [
    komgaEndpoint({
      method: 'POST',
      path: base,
      summary: `Upload a cover for a ${noun}, and select it unless \`selected=false\``,
      who: write,
      params,
      query: Type.Object({ selected: Type.Optional(Type.Boolean()) }),
      upload: { description: 'JPEG, PNG, WebP, AVIF or GIF, 20 MB at most; a field `selected` beside it counts as the parameter.' },
      bodyBytesMax,
      reply: Reply,
      run: (call, { params, query, upload: { bytes, fields } }) =>
        upload(call, ownerOf(params), { bytes, selected: query.selected ?? readSelected(fields) }),
    }),
    komgaEndpoint({
      method: 'PUT',
      path: `${base}/:coverId/selected`,
      summary: `Select a cover of a ${noun}`,
      who: write,
      params: oneParams,
      status: 204,
      run: async ({ services, caller }, { params }) => {
        const [owner, coverId] = [ownerOf(params), coverOf(params)]
        await coversFor(owner).choose(services, caller, { owner, coverId: kind === 'book' && coverId === owner.id ? null : coverId })
      },
    }),
    komgaEndpoint({
      method: 'DELETE',
      path: `${base}/:coverId`,
      summary: `Delete an uploaded cover of a ${noun}`,
      who: write,
      params: oneParams,
      status: 204,
      run: async ({ services, caller }, { params }) => {
        const [owner, coverId] = [ownerOf(params), coverOf(params)]
        if (kind === 'book' && coverId === owner.id) {
          await coversFor(owner).list(services, caller, owner)
          refuse('invalid_value', 'This cover comes from the file of the book and cannot be deleted; select another one instead.')
        }
        await coversFor(owner).remove(services, caller, { owner, coverId })
      },
    }),
  ]
}

const thumbnailRoutes = (kind: Kind) => [...readRoutes(kind), ...writeRoutes(kind)]

export const komgaThumbnailRoutes = [shownRoute('book'), shownRoute('series'), ...(Object.keys(KINDS) as Kind[]).flatMap(thumbnailRoutes)]
