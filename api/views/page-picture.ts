import type { ContentServices } from '#api/areas/content.ts'
import { chooseType } from '#api/http/accept.ts'
import type { Call } from '#api/http/endpoint.ts'
import type { StreamReply } from '#api/http/reply.ts'
import type { Caller } from '#core/account/caller.ts'
import type { PageFormat, PreferFormat } from '#core/reading/page-variant.ts'
import type { BookPageRequest, ReadablePage } from '#core/reading/read-page.ts'

type Services = Pick<ContentServices, 'pageReader'>

/** The media types of pages in every interface. Pages are sent in their own format unless another is requested. */
export const PAGE_MEDIA_TYPES = [
  'image/jpeg',
  'image/png',
  'image/webp',
  'image/gif',
  'image/avif',
  'image/jxl',
  'image/bmp',
  'image/tiff',
  'image/heic',
  'image/heif',
  'image/jp2',
]

interface PictureRequest extends Omit<BookPageRequest, 'caller' | 'signal' | 'prefer'> {
  /** Whether the Accept header of the request may choose another format than the usual one. */
  byAccept: boolean
}

const FORMAT_OF = { 'image/jpeg': 'jpeg', 'image/png': 'png', 'image/webp': 'webp' } as const satisfies Record<string, PageFormat>
const CONVERTED = Object.keys(FORMAT_OF) as (keyof typeof FORMAT_OF)[]

function preferOf(accept: string | null): PreferFormat {
  return (usual) => {
    const chosen = chooseType(accept, usual, CONVERTED)
    return chosen && FORMAT_OF[chosen]
  }
}

/** Passes the signal of a call on without creating it, see `OpenCall` in api/http/handler.ts. */
class PictureCall implements BookPageRequest {
  readonly caller: Caller
  readonly bookId: string
  readonly pageNumber: number
  readonly width: number | undefined
  readonly format: BookPageRequest['format']
  readonly keeps: BookPageRequest['keeps']
  readonly prefer: BookPageRequest['prefer']
  readonly #call: Call<Services>

  constructor(call: Call<Services>, request: PictureRequest) {
    this.caller = call.caller
    this.bookId = request.bookId
    this.pageNumber = request.pageNumber
    this.width = request.width
    this.format = request.format
    this.keeps = request.keeps
    this.prefer = request.byAccept ? preferOf(call.header('accept')) : undefined
    this.#call = call
  }

  get signal(): AbortSignal {
    return this.#call.signal
  }
}

/**
 * The reply with the picture of a page; reads and renders nothing while the client's copy is current.
 * @param cacheControl may depend on the content
 * @throws the errors of `getPage`
 */
export async function pagePicture(
  call: Call<Services>,
  request: PictureRequest,
  cacheControl: string | ((page: ReadablePage) => string),
): Promise<StreamReply> {
  if (request.byAccept) call.setHeader('Vary', 'Accept')
  const page = await call.services.pageReader.getPage(new PictureCall(call, request))
  return {
    kind: 'made',
    make: () => page.read(),
    etag: page.etag,
    lastModified: page.modifiedAt,
    cacheControl: typeof cacheControl === 'string' ? cacheControl : cacheControl(page),
  }
}
