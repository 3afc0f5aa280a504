import { endpointOf, streamOf } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'

/** A JSON route of this server; see `Endpoint`. */
export const endpoint = endpointOf<Services>()

/** A route of this server that answers with bytes; see `Stream`. */
export const stream = streamOf<Services>()
