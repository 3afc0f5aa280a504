import type { TSchema } from 'typebox'
import type { ErrorAnswer } from '#api/http/reply.ts'

/** An error in the form of a foreign protocol; the body is sent as JSON. */
export interface Refusal {
  status: number
  body: unknown
  /** Default `application/json`. */
  mediaType?: string
  headers?: Readonly<Record<string, string>>
}

/** The refused request. */
interface Refused {
  /** Path without the query. */
  path: string
  /** The origin of this server as the client sees it; null if unknown. */
  origin: string | null
  request: { method?: string | undefined }
  /** The name of the library. Never rejects. */
  readName(): Promise<string>
}

/** How a foreign protocol reports errors and spells queries. */
export interface Dialect {
  /** `WWW-Authenticate` of a 401. */
  challenge: string
  /** Writes an error. Not called for 429, which is the same everywhere. */
  refusalOf(answer: ErrorAnswer, refused: Refused): Refusal | Promise<Refusal>
  /** Schema of the error body, and its media type if that is not `application/json`; for OpenAPI. */
  shapeOf(status: number): { schema: TSchema; mediaType?: string }
  /** Translates the query to the form that routes read. @param flags names of the parameters of the route that are true or false */
  readQuery?(given: URLSearchParams, flags: ReadonlySet<string>): URLSearchParams
  /** An id in a path that this server could not have given is unknown (404), not malformed. */
  takesAnyId?: true
}

/** A part of the address space with a dialect, including unknown addresses and methods. */
export interface Mount<Services> {
  dialect: Dialect
  /** Whether the address belongs to it, open or not. */
  covers(path: string): boolean
  /** Whether it is enabled now; while it is not, its addresses do not exist. Default: always open. */
  isOpen?(path: string, services: Services): boolean | Promise<boolean>
}

/** The open mount of an address; null for our own API. */
export async function findMount<Services>(
  mounts: readonly Mount<Services>[],
  path: string,
  services: Services,
): Promise<Mount<Services> | null> {
  for (const mount of mounts) {
    if (mount.covers(path) && (mount.isOpen === undefined || (await mount.isOpen(path, services)))) return mount
  }
  return null
}

/** The mounts of routes, without duplicates. */
export function mountsOf<Services>(routes: readonly { mount?: Mount<Services> }[]): Mount<Services>[] {
  return [...new Set(routes.flatMap(({ mount }) => mount ?? []))]
}
