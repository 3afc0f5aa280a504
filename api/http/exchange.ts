import { randomUUID } from 'node:crypto'
import type { Request, Response } from 'restify'
import type { Route } from '#api/http/endpoint.ts'
import type { Mount } from '#api/http/mount.ts'
import type { Caller } from '#core/account/caller.ts'

/** One request with its answer, and what is known of it so far. */
export interface Exchange<Services> {
  request: Request
  response: Response
  id: string
  /** Of the client, through trusted proxies only. */
  address: string
  /** Where the client sees this server; null where it does not say. */
  origin: string | null
  /** Normalized path of the request, and its raw query without the question mark. */
  path: string
  rawQuery: string
  /** The foreign protocol that answers at this address; null for our own. */
  mount: Mount<Services> | null
  /** Null until a route was found. */
  route: Route<Services> | null
  caller: Caller | null
  /** A credential was given and was not good. */
  badCredential: boolean
}

/** An id as tracing proxies send it: nothing that could break a line of a log. */
const REQUEST_ID = /^[A-Za-z0-9._-]{8,128}$/

/** The id of a request: a trusted proxy's, else a new one. */
export function requestId(given: string | string[] | undefined, trusted: boolean): string {
  return trusted && typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}
