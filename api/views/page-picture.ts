import type { Call, StreamReply } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import type { Caller } from '#core/account/caller.ts'
import type { BookPageRequest, FoundPage } from '#core/reading/read-page.ts'

type Services = Needs<'pageReader'>

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

type PictureRequest = Omit<BookPageRequest, 'caller' | 'signal'>

/** Passes the signal of a call on without creating it, see `OpenCall` in api/http/handler.ts. */
class PictureCall implements BookPageRequest {
  readonly caller: Caller
  readonly bookId: string
  readonly pageNumber: number
  readonly width: number | undefined
  readonly format: BookPageRequest['format']
  readonly keeps: BookPageRequest['keeps']
  readonly #call: Call<Services>

  constructor(call: Call<Services>, request: PictureRequest) {
    this.caller = call.caller
    this.bookId = request.bookId
    this.pageNumber = request.pageNumber
    this.width = request.width
    this.format = request.format
    this.keeps = request.keeps
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
  cacheControl: string | ((page: FoundPage) => string),
): Promise<StreamReply> {
  const page = await call.services.pageReader.getPage(new PictureCall(call, request))
  return {
    kind: 'made',
    make: () => page.read(),
    etag: page.etag,
    cacheControl: typeof cacheControl === 'string' ? cacheControl : cacheControl(page),
  }
}
