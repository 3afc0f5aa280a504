import type { Call } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'

/** The caller of a route that only signed-in users reach. */
export function signedInCaller(call: Pick<Call<Services>, 'caller'>): Caller {
  return call.caller ?? refuse('unauthorized')
}
