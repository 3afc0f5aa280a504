import Type from 'typebox'
import { endpointOf, streamOf } from '#api/http/endpoint.ts'
import type { Services } from '#api/services.ts'

/** A JSON route of this server; see `Endpoint`. */
export const endpoint = endpointOf<Services>()

/** A route of this server that answers with bytes; see `Stream`. */
export const stream = streamOf<Services>()

/** An identifier in a path, a query or a body. */
export const Uuid = Type.String({ format: 'uuid' })

/** A point in time on the wire: ISO 8601 in UTC. */
export const DateTime = Type.String({ format: 'date-time' })

/** A member that may be null. */
export const Nullable = <const T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])
