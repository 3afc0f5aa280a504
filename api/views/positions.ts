import type { Call, StreamReply } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { POSITIONS_TYPE, type PublicationAddresses } from '#core/reading/web-publication.ts'

/** The list changes only with the file, but whether the caller may see the book is checked every time. */
const CHECKED = 'private, no-cache'

/**
 * The reply with the positions of a book.
 * @throws the errors of `getPositions`
 */
export async function positionsReply(
  { services, caller, signal }: Pick<Call<Needs<'positionLists'>>, 'services' | 'caller' | 'signal'>,
  bookId: string,
  addresses: PublicationAddresses,
): Promise<StreamReply> {
  const list = await services.positionLists.get({ caller, bookId, signal }, addresses)
  return { kind: 'packed', mediaType: POSITIONS_TYPE, cacheControl: CHECKED, ...list }
}
