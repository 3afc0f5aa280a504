import { randomUUID } from 'node:crypto'
import type { Request, Response } from 'restify'
import type { Route } from '#api/http/endpoint.ts'
import type { Mount } from '#api/http/mount.ts'
import type { Caller } from '#core/account/caller.ts'

/** One request and its response, with what is known about them so far. */
export interface Exchange<Services> {
  request: Request
  response: Response
  id: string
  /** Address of the client, through trusted proxies only. */
  address: string
  /** The origin of this server as the client sees it; null if unknown. */
  origin: string | null
  /** Normalized path of the request, and its raw query without the question mark. */
  path: string
  rawQuery: string
  /** The foreign protocol of this address; null for our own API. */
  mount: Mount<Services> | null
  /** Null until a route is found. */
  route: Route<Services> | null
  caller: Caller | null
  /** The request has a credential that is invalid. */
  badCredential: boolean
  /** The answer is an event stream that ends by itself when the rights of its caller change. */
  followsRights: boolean
  /** Whether the caller may still receive what is being sent, beyond having the same rights; checked now and then. */
  isAllowed: (() => Promise<boolean>) | null
}

/** A request of which nothing is known but where it comes from. */
export const newExchange = <Services>(
  from: Pick<Exchange<Services>, 'request' | 'response' | 'id' | 'address' | 'origin'>,
): Exchange<Services> => ({
  ...from,
  path: '',
  rawQuery: '',
  mount: null,
  route: null,
  caller: null,
  badCredential: false,
  followsRights: false,
  isAllowed: null,
})

/** A request id as tracing proxies send it, without characters that could break a log line. */
const REQUEST_ID = /^[A-Za-z0-9._-]{8,128}$/

/** The id of a request: the one from a trusted proxy, else a new one. */
export function requestId(given: string | string[] | undefined, trusted: boolean): string {
  return trusted && typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}
