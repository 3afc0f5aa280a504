import type { Call, StreamReply } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import type { FoundPage, PageAsk } from '#core/reading/read-page.ts'

type Services = Needs<'pageReader'>

/** What a page may be sent as, in every interface; books hold many kinds of pictures, and they are sent as they are unless another format is request for. */
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

type PageRequest = Omit<PageAsk, 'caller' | 'signal'>

/**
 * The picture of one page as a stream route answers it; nothing is read or drawn where the client's copy is still good.
 * @param cacheControl may look at which content it is
 * @throws what `getPage` throws
 */
export async function pagePicture(
  call: Call<Services>,
  request: PageRequest,
  cacheControl: string | ((page: FoundPage) => string),
): Promise<StreamReply> {
  const page = await call.services.pageReader.getPage({
    ...request,
    caller: call.caller,
    // Handed on as it is: to look at it costs as much as a fifth of a page.
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
