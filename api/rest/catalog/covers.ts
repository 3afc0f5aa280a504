import Type, { type TSchema } from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { type Call, endpointOf, streamOf } from '#api/http/endpoint.ts'
import { idIn, KINDS, reachOfKind } from '#api/rest/catalog/metadata-kind.ts'
import { chooseSource, coverOf, recordCovers } from '#core/catalog/edit-covers.ts'
import type { CoverRow } from '#core/covers/chosen-cover-store.ts'
import { BookCover, type RecordOwner, SeriesCover } from '#core/covers/cover.ts'
import { COVER_BYTES_MAX } from '#core/fields/limits.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { Noun, Uuid } from '#core/foundation/schema.ts'

type Services = Pick<ContentServices, 'drawCover'> & Pick<DataServices, 'database' | 'settings'>
const endpoint = endpointOf<Services>()
const stream = streamOf<Services>()

/** A form is a little larger than its file. */
const bodyBytesMax = COVER_BYTES_MAX + 65_536
const upload = { description: 'JPEG, PNG, WebP, AVIF or GIF, at most 20 MB.' }
const tag = 'covers'

/** The schemas and sentences in which the kinds differ. */
const COVERS: Readonly<Record<Kind, { One: TSchema; All: TSchema; list: string; unselect: string }>> = {
  book: {
    One: BookCover,
    All: Type.Object({ covers: Type.Array(BookCover) }),
    list: 'List the covers of a book, without the one from its file',
    unselect: 'Select the cover from the file of a book',
  },
  series: {
    One: SeriesCover,
    All: Noun('SeriesCovers')({ covers: Type.Array(SeriesCover) }),
    list: 'List the covers of a series, without that of its first book',
    unselect: 'Select the cover of the first book of a series',
  },
}

/** The cover at an address never changes. Never `public`: a shared cache does not know who may see what. */
const cacheControl = 'private, max-age=600'

const ownerOf = (kind: Kind, id: string): RecordOwner => ({ kind, id: id.toLowerCase() })

async function coversOf(call: Call<Services>, kind: Kind, id: string) {
  const rows = await recordCovers.list(call.services, call.caller, ownerOf(kind, id))
  return { covers: rows.map((row) => coverOf({ kind, id }, row)) }
}

/** All covers of a record. */
function listRoutes(kind: Kind) {
  const { noun } = KINDS[kind]
  const { One, All, list, unselect } = COVERS[kind]
  const { path, params, read, write } = reachOfKind(kind, 'cover')
  return [
    endpoint({
      name: `upload${noun}Cover`,
      method: 'POST',
      path,
      summary: `Upload and select a cover for a ${kind}; only users can change the selection`,
      tag,
      allow: write,
      params,
      upload,
      bodyBytesMax,
      reply: One,
      run: async (call, { params, upload: { bytes } }) => {
        const id = idIn(kind, params)
        return coverOf({ kind, id }, await recordCovers.upload(call.services, call.caller, { owner: ownerOf(kind, id), bytes }))
      },
    }),
    endpoint({
      name: `list${noun}Covers`,
      method: 'GET',
      path: `${path}s`,
      summary: list,
      tag,
      allow: read,
      params,
      reply: All,
      run: (call, { params }) => coversOf(call, kind, idIn(kind, params)),
    }),
    endpoint({
      name: `unselect${noun}Cover`,
      method: 'DELETE',
      path: `${path}s/selected`,
      summary: unselect,
      tag,
      allow: write,
      status: 204,
      params,
      run: async (call, { params }) => {
        await recordCovers.choose(call.services, call.caller, { owner: ownerOf(kind, idIn(kind, params)), coverId: null })
      },
    }),
  ]
}

/** One cover of a record. */
function entryRoutes(kind: Kind) {
  const { noun, idName } = KINDS[kind]
  const { path, read, write } = reachOfKind(kind, 'covers/:coverId')
  const params = Type.Object({ [idName]: Uuid, coverId: Uuid })
  const coverIn = (given: unknown) => ({ owner: ownerOf(kind, idIn(kind, given)), coverId: (given as { coverId: string }).coverId })
  return [
    endpoint({
      name: `delete${noun}Cover`,
      method: 'DELETE',
      path,
      summary: `Delete a cover of a ${kind}`,
      tag,
      allow: write,
      status: 204,
      params,
      run: (call, { params }) => recordCovers.remove(call.services, call.caller, coverIn(params)),
    }),
    stream({
      name: `get${noun}CoverImage`,
      path: `${path}/image`,
      summary: `Get the picture of a cover of a ${kind}`,
      tag,
      allow: { ...read, cookie: true },
      rate: 'pictures',
      params,
      mediaTypes: ['image/jpeg'],
      ranges: true,
      run: async (call, { params }) => {
        const file = await recordCovers.file(call.services, call.caller, coverIn(params))
        return { kind: 'file', ...file, mediaType: 'image/jpeg', cacheControl }
      },
    }),
    endpoint({
      name: `select${noun}Cover`,
      method: 'PUT',
      path: `${path}/select`,
      summary: `Select a cover of a ${kind}`,
      tag,
      allow: write,
      params,
      reply: COVERS[kind].One,
      run: async (call, { params }) => {
        const chosen = await recordCovers.choose(call.services, call.caller, coverIn(params))
        return coverOf({ kind, id: idIn(kind, params) }, chosen as CoverRow)
      },
    }),
  ]
}

export const coverRoutes = [
  ...(['book', 'series'] as const).flatMap((kind) => [...listRoutes(kind), ...entryRoutes(kind)]),
  endpoint({
    name: 'patchSeriesCoverSource',
    method: 'PATCH',
    path: '/api/v1/series/:seriesId/cover/source',
    summary: 'Set the source of the cover of a series: default, custom, book:<id> or plugin:<name>; only users can change it',
    tag,
    allow: { who: 'series-write' },
    params: Type.Object({ seriesId: Uuid }),
    body: Type.Object({
      source: Type.String({
        maxLength: 200,
        pattern: '^(default|custom|book:[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|plugin:.+)$',
      }),
    }),
    reply: COVERS.series.All,
    run: async (call, { params, body }) => {
      await chooseSource(call.services, call.caller, { ...params, ...body })
      return await coversOf(call, 'series', params.seriesId)
    },
  }),
]
