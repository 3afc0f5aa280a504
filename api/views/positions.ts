import type { Call, StreamReply } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { POSITIONS_TYPE, type PublicationAddresses } from '#core/reading/web-publication.ts'

/** The list lasts as long as the file of its book; whether the caller may see that is asked each time. */
const CHECKED = 'private, no-cache'

/**
 * The positions of a book as a stream route answers them.
 * @throws what `getPositions` throws
 */
export async function positionsReply(
  { services, caller, signal }: Pick<Call<Needs<'positionLists'>>, 'services' | 'caller' | 'signal'>,
  bookId: string,
  addresses: PublicationAddresses,
): Promise<StreamReply> {
  const list = await services.positionLists.get({ caller, bookId, signal }, addresses)
  return { kind: 'packed', mediaType: POSITIONS_TYPE, cacheControl: CHECKED, ...list }
}
