import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf, streamOf } from '#api/http/endpoint.ts'
import { epubResource, RESOURCE_MEDIA_TYPES } from '#api/views/epub-resource.ts'
import { positionsReply } from '#api/views/positions.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { getManifest } from '#core/reading/manifest.ts'
import { DIVINA_TYPE, POSITIONS_TYPE, PositionList, relativeAddresses, WEBPUB_TYPE, WebPublication } from '#core/reading/web-publication.ts'

type Services = Pick<ContentServices, 'pageReader' | 'positionLists' | 'publications'> & Pick<DataServices, 'database'>
const endpoint = endpointOf<Services>()
const stream = streamOf<Services>()

const BookId = Type.Object({ bookId: Uuid })

export const readingRoutes = [
  endpoint({
    name: 'getBookManifest',
    method: 'GET',
    path: '/api/v1/books/:bookId/manifest',
    summary: 'Get the Readium web publication manifest of a book',
    tag: 'readium',
    allow: { who: 'pages-read' },
    params: BookId,
    reply: WebPublication,
    mediaTypes: [WEBPUB_TYPE, DIVINA_TYPE],
    run: async (call, { params }) => {
      const addresses = relativeAddresses(`${call.origin ?? ''}${call.path}`)
      const { mediaType, manifest } = await getManifest(call.services, { caller: call.caller, ...params }, addresses)
      call.sendAs(mediaType)
      return manifest
    },
  }),
  stream({
    name: 'listBookPositions',
    path: '/api/v1/books/:bookId/positions',
    summary: 'List the positions of a book in order',
    tag: 'readium',
    allow: { who: 'pages-read' },
    params: BookId,
    reply: PositionList,
    mediaTypes: [POSITIONS_TYPE],
    run: (call, { params }) => positionsReply(call, params.bookId, relativeAddresses('manifest')),
  }),
  stream({
    name: 'getBookResource',
    path: '/api/v1/books/:bookId/resource/:resourcePath*',
    summary: 'Get a file of an EPUB, such as a chapter, picture or style sheet',
    tag: 'readium',
    allow: { who: 'pages-read', cookie: true },
    rate: 'pictures',
    params: Type.Object({
      bookId: Uuid,
      resourcePath: Type.String({ maxLength: 4_096, description: 'Path in the archive, with slashes.' }),
    }),
    query: Type.Object({
      v: Type.Optional(Type.String({ maxLength: 200, description: 'The fileHash of the book, which allows caching forever.' })),
      clean: Type.Optional(
        Type.Boolean({
          description:
            'Return XHTML, HTML, SVG and other XML without scripts, frames, forms, and links and addresses that would contact other sites by themselves. HTML becomes XHTML, and so does every chapter of a book without a fixed layout. Other files are returned as they are.',
        }),
      ),
    }),
    mediaTypes: RESOURCE_MEDIA_TYPES,
    ranges: true,
    run: (call, { params, query }) =>
      epubResource(call, { bookId: params.bookId, path: params.resourcePath, named: query.v, clean: query.clean }),
  }),
]
