import type { Call, StreamReply } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
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
  const page = await call.services.pageReader.getPage({
    ...request,
    caller: call.caller,
    // Passed on unchanged: inspecting it would cost a fifth of the page.
    get signal() {
      return call.signal
    },
  })
  return {
    kind: 'made',
    make: () => page.read(),
    etag: page.etag,
    cacheControl: typeof cacheControl === 'string' ? cacheControl : cacheControl(page),
  }
}
