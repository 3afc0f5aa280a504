import type { TSchema } from 'typebox'
import type { ErrorAnswer } from '#api/http/errors.ts'

/** A refusal as a protocol writes it; the body is sent as JSON. */
export interface Refusal {
  status: number
  body: unknown
  /** `application/json` unless said. */
  mediaType?: string
  headers?: Readonly<Record<string, string>>
}

/** What is known of a request that is refused. */
interface Refused {
  /** Of the request, without the query. */
  path: string
  /** Where the client sees this server; null where it does not say. */
  origin: string | null
}

/** How a foreign protocol says what this server refuses, and what it spells in a way of its own. */
export interface Dialect {
  /** `WWW-Authenticate` of a 401. */
  challenge: string
  /** Writes a refusal. Not asked about 429: that one is the same everywhere. */
  refusalOf(answer: ErrorAnswer, refused: Refused): Refusal
  /** Shape of the body, and its media types by status where it has others than `application/json`; for the description of the API. */
  shapeOf(status: number): { schema: TSchema; mediaType?: string }
  /** The query as routes read it. */
  readQuery?(given: URLSearchParams): URLSearchParams
}

/** A part of the address space that speaks a dialect, also where there is nothing and where a method is not known. */
export interface Mount<Services> {
  dialect: Dialect
  /** Whether an address lies in it, be it open or not. */
  covers(path: string): boolean
  /** Whether it answers there now; where it does not, it is as if it had never been. Always open unless said. */
  isOpen?(path: string, services: Services): boolean | Promise<boolean>
  /** Its addresses may end with a slash, which means nothing: clients add one to what a person types in. */
  slashAtEnd?: true
}

/** The mount that answers at an address; null where the server speaks for itself. */
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

/** The mounts of routes, each once. */
export function mountsOf<Services>(routes: readonly { mount?: Mount<Services> }[]): Mount<Services>[] {
  return [...new Set(routes.flatMap(({ mount }) => mount ?? []))]
}
