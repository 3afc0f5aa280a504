import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { getKomgaProgression, recordKomgaProgression } from '#api/komga/locators.ts'
import { KomgaPublication, komgaAddresses, komgaPublication, LOCATOR_ADDRESSES } from '#api/komga/publication-view.ts'
import { komgaEndpointOf, komgaStreamOf } from '#api/komga/route.ts'
import { epubResource, RESOURCE_MEDIA_TYPES } from '#api/views/epub-resource.ts'
import { positionsReply } from '#api/views/positions.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { getManifest } from '#core/reading/manifest.ts'
import { Progression } from '#core/reading/progression.ts'
import { DIVINA_TYPE, POSITIONS_TYPE, PositionList, PROGRESSION_TYPE, WEBPUB_TYPE } from '#core/reading/web-publication.ts'

type Services = Pick<ContentServices, 'pageReader' | 'positionLists' | 'publications'> & Pick<DataServices, 'database'>
const komgaEndpoint = komgaEndpointOf<Services>()
const komgaStream = komgaStreamOf<Services>()

const params = Type.Object({ bookId: Uuid })

const MANIFESTS = [
  { path: 'manifest', summary: 'The web-publication manifest of a book, in the profile of its format' },
  { path: 'manifest/epub', profile: 'epub', summary: 'The manifest of an EPUB by its chapters' },
  { path: 'manifest/divina', profile: 'divina', summary: 'The manifest of a book by its pages' },
  { path: 'manifest/pdf', profile: 'pdf', summary: 'The manifest of a PDF' },
] as const

export const komgaReadingRoutes = [
  ...MANIFESTS.map(({ path, summary, ...given }) =>
    komgaEndpoint({
      method: 'GET',
      path: `/api/v1/books/:bookId/${path}`,
      summary,
      who: 'pages-read',
      params,
      reply: KomgaPublication,
      mediaTypes: [WEBPUB_TYPE, DIVINA_TYPE],
      run: async (call, { params: { bookId } }) => {
        const profile = 'profile' in given ? given.profile : undefined
        const request = { caller: call.caller, bookId }
        const { mediaType, manifest } = await getManifest(call.services, request, komgaAddresses(call, bookId), profile)
        call.sendAs(mediaType)
        return komgaPublication(manifest)
      },
    }),
  ),
  komgaStream({
    path: '/api/v1/books/:bookId/positions',
    summary: 'The positions of a book, in order; chapters are named by their path in the archive',
    who: 'pages-read',
    params,
    reply: PositionList,
    mediaTypes: [POSITIONS_TYPE],
    run: (call, { params }) => positionsReply(call, params.bookId, LOCATOR_ADDRESSES),
  }),
  komgaStream({
    path: '/api/v1/books/:bookId/resource/:resourcePath*',
    summary: 'A file in an EPUB: a chapter, a picture, a style sheet',
    who: 'pages-read',
    params: Type.Object({
      bookId: Uuid,
      resourcePath: Type.String({ maxLength: 4_096, description: 'Path in the archive, with its slashes.' }),
    }),
    mediaTypes: RESOURCE_MEDIA_TYPES,
    run: (call, { params }) => epubResource(call, { bookId: params.bookId, path: params.resourcePath, isFramed: true }),
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/books/:bookId/progression',
    summary: 'My progress in a book as a Readium locator; 204 without progress',
    who: 'progress-read',
    params,
    reply: Progression,
    mediaTypes: [PROGRESSION_TYPE],
    mayBeEmpty: true,
    run: async (call, { params }) => (await getKomgaProgression(call.services, { caller: call.caller, ...params })) ?? undefined,
  }),
  komgaEndpoint({
    method: 'PUT',
    path: '/api/v1/books/:bookId/progression',
    summary: 'Save my progress in a book as a Readium locator; 409 unless it is later than the stored one',
    who: 'progress-write',
    params,
    status: 204,
    body: Type.Object(Progression.properties, { additionalProperties: true, maxProperties: 100 }),
    run: (call, { params, body: { modified, device, locator } }) =>
      recordKomgaProgression(call.services, { caller: call.caller, ...params }, { modified, device, locator }),
  }),
]
