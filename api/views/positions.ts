import type { ContentServices } from '#api/areas/content.ts'
import type { Call } from '#api/http/endpoint.ts'
import type { StreamReply } from '#api/http/reply.ts'
import { POSITIONS_TYPE, type PublicationAddresses } from '#core/reading/web-publication.ts'

/** The list changes only with the file, but whether the caller may see the book is checked every time. */
const CHECKED = 'private, no-cache'

/**
 * The reply with the positions of a book.
 * @throws the errors of `getPositions`
 */
export async function positionsReply(
  { services, caller, signal }: Pick<Call<Pick<ContentServices, 'positionLists'>>, 'services' | 'caller' | 'signal'>,
  bookId: string,
  addresses: PublicationAddresses,
): Promise<StreamReply> {
  const list = await services.positionLists.get({ caller, bookId, signal }, addresses)
  return { kind: 'packed', mediaType: POSITIONS_TYPE, cacheControl: CHECKED, ...list }
}
