import { endpointOf, streamOf } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'

/** Makes JSON routes for tests, which may call every service. */
export const endpoint = endpointOf<Services>()

/** Makes routes for tests that answer with bytes. */
export const stream = streamOf<Services>()
