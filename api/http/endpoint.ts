import type { Static, TSchema } from 'typebox'
import type { EventsReply } from '#api/http/event-stream.ts'
import type { Mount } from '#api/http/mount.ts'
import type { ArchiveReply } from '#api/http/send-archive.ts'
import type { ContentReply } from '#api/http/send-content.ts'
import type { Upload } from '#api/http/upload.ts'
import type { Caller } from '#core/account/caller.ts'
import type { Permission } from '#core/account/permission.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Who may call. `public`: anyone (the caller may be null). `user`: any signed-in caller. A permission: callers that hold it. */
export type Who = 'public' | 'user' | Permission

/** `cookie: true` also takes the `auth_token` cookie, for pictures and files that an <img> asks for; only for GET. */
export interface Allow<W extends Who = Who> {
  who: W
  /** Permissions that are needed beside it. */
  also?: readonly Permission[]
  cookie?: boolean
  /** Also takes HTTP Basic, for e-readers that know nothing else (feeds, compatibility API). */
  basic?: boolean
  /** Also takes the session of a reader app, which Basic or an API key has begun (compatibility API). */
  session?: boolean
  /** Also takes an API key in the header x-auth-user (e-reader sync). */
  userHeader?: boolean
}

/** On a public route there may be no user. */
export type CallerOf<W extends Who> = W extends 'public' ? Caller | null : Caller

/** What every handler is given besides its own parameters. */
export interface Call<Services, C extends Caller | null = Caller> {
  /** Null only on public routes. */
  caller: C
  /** Those that the route names, see api/http/services.ts. */
  services: Services
  requestId: string
  /** Address of the client, through trusted proxies only. */
  address: string
  /** Where the client sees this server, such as `https://books.example.org`, through trusted proxies only; null where it does not say. */
  origin: string | null
  /** Aborts when the client goes away or the server gives up waiting. */
  signal: AbortSignal
  /** Path of the request without the query, and its raw query, for pagination links. */
  path: string
  rawQuery: string
  /** What the client sent as the cookie of this name; null where it sent none. */
  cookie(name: string): string | null
  /** A header of the request; null where it sent none. */
  header(name: string): string | null
  /** Something was made: the answer has status 201, and its address where it can be had by itself. */
  created(location?: string): void
  /** Of several media types that the route may answer with, the one of this answer; the first unless said. */
  sendAs(mediaType: string): void
  /** Adds a header to the answer, such as Set-Cookie or Link. */
  setHeader(name: string, value: string): void
}

type Read<S> = S extends TSchema ? Static<S> : undefined

/** A JSON route as a value. `run` is one call into core: it returns the reply's body; refusals are thrown with `refuse`. */
export interface Endpoint<
  Services,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TSchema | undefined = undefined,
  R extends TSchema | undefined = undefined,
  C extends Caller | null = Caller,
> {
  kind: 'endpoint'
  method: Method
  /** Restify path, e.g. `/api/v1/books/:bookId`. A last part `:name*` takes all that is left, slashes included. */
  path: string
  /** Further paths at which it answers, with the same parameters. */
  alsoAt?: readonly string[]
  summary: string
  tag: string
  allow: Allow
  /** The foreign protocol that it belongs to; where that is not open, neither is the route. */
  mount?: Mount<Services>
  /** Success status: 200 unless said. 204 sends nothing. */
  status?: 200 | 201 | 202 | 204
  /** Answers 201 where it makes something (`call.created`), 200 where that was there already. */
  mayCreate?: true
  params?: P
  query?: Q
  /** Takes query parameters that it does not name, and leaves them alone: services and reader apps add their own. */
  takesAnyQuery?: true
  body?: B
  /** No body means the same as an empty object. Else a forgotten body is refused, for it would change what its sender did not mean. */
  bodyOptional?: true
  /** Further names by which clients call members of the body, each with the member that it stands for. Where both are sent, the member counts. */
  bodyAliases?: Readonly<Record<string, string>>
  /** Largest request body in bytes; 1 MB unless said. */
  bodyBytesMax?: number
  /** Takes a form with one file in it instead of JSON: `run` is given it as `upload`. The body is at most `bodyBytesMax`. */
  upload?: { /** What the file is, for OpenAPI. */ description: string /** What is said to whoever sends no form. */; otherwise?: string }
  /** Schema of the success body, for OpenAPI and for the contract tests. */
  reply?: R
  /** Kinds of JSON that the success body may be sent as; `application/json` unless said. */
  mediaTypes?: readonly [string, ...string[]]
  /** Its answer sets or takes back a cookie; for OpenAPI. */
  setsCookie?: true
  /** Answers 204 where there is nothing to tell. */
  mayBeEmpty?: true
  run: (call: Call<Services, C>, input: { params: Read<P>; query: Read<Q>; body: Read<B>; upload: Upload }) => Promise<Read<R> | undefined>
}

/** What a stream route answers with. The sender in api/http/send.ts does ranges, conditional requests and HEAD; events are sent as they come. */
export type StreamReply =
  | EventsReply
  | ArchiveReply
  | ContentReply
  | {
      kind: 'bytes'
      bytes: Uint8Array
      /** The same, compressed once and for all, for clients that take it. */
      gzipped?: Uint8Array
      /** Text made for this one answer: it is compressed for clients that take that, where it is worth it. */
      compress?: true
      mediaType: string
      /** 200 unless said: 400 of a page that tells a person in a browser what went wrong. */
      status?: 200 | 206 | 400
      /** Strong ETag without quotes. */
      etag?: string
      lastModified?: Date
      cacheControl: string
      headers?: Record<string, string>
    }
  | {
      /** Bytes that cost something to have: `make` is not called when the client's copy is still good. */
      kind: 'made'
      make: () => Promise<{ bytes: Uint8Array; mediaType: string }>
      /** Strong ETag without quotes. */
      etag: string
      cacheControl: string
      headers?: Record<string, string>
    }
  | {
      /** Text that is kept compressed: few clients want it plain, and those cost the unpacking. */
      kind: 'packed'
      /** Not called when the client's copy is still good. */
      gzipped: () => Promise<Uint8Array>
      mediaType: string
      /** Strong ETag without quotes. */
      etag: string
      cacheControl: string
    }
  | {
      /** What is asked for is elsewhere. */
      kind: 'redirect'
      /** Path of this server. */
      location: string
    }
  | {
      kind: 'file'
      /** Absolute path of a regular file; served with Range and conditional requests. */
      path: string
      /** The folder in which the file must really lie, whatever links there are; without it the folder that the path names. */
      inside?: string
      mediaType: string
      etag: string
      cacheControl: string
      /** When given, `Content-Disposition: attachment` with this name (RFC 6266). */
      attachmentName?: string
    }

/** A route that answers with bytes instead of JSON. */
export interface Stream<
  Services,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  C extends Caller | null = Caller,
> {
  kind: 'stream'
  method: 'GET'
  path: string
  /** As of an endpoint. */
  alsoAt?: readonly string[]
  summary: string
  tag: string
  allow: Allow
  /** As of an endpoint. */
  mount?: Mount<Services>
  params?: P
  query?: Q
  /** Takes query parameters that it does not name, and leaves them alone: services and reader apps add their own. */
  takesAnyQuery?: true
  /** Media types it may answer with, for OpenAPI; none where it redirects. */
  mediaTypes: string[]
  /** Schema of the body where that is JSON, for OpenAPI. */
  reply?: TSchema
  /** It only leads elsewhere. */
  redirects?: true
  run: (call: Call<Services, C>, input: { params: Read<P>; query: Read<Q> }) => Promise<StreamReply>
}

type Shape = TSchema | undefined

/** Tells where a record that was made can be had, and answers it. @param list path below which it has its address, by id */
export function madeAt<Record extends { id: string }>(call: Pick<Call<unknown>, 'created'>, list: string, record: Record): Record {
  call.created(`${list}/${record.id}`)
  return record
}

/** A route before it is bound: who may call it decides whether `run` may be given no caller. */
type Bindable<R extends { kind: unknown; allow: unknown }, W extends Who> = Omit<R, 'kind' | 'allow'> & { allow: Allow<W> }

/** Binds {@link Endpoint} to the services that its `run` calls; the result infers caller, params, query, body and reply. */
export function endpointOf<Services>() {
  return <
    W extends Who,
    P extends Shape = undefined,
    Q extends Shape = undefined,
    B extends Shape = undefined,
    R extends Shape = undefined,
  >(
    route: Bindable<Endpoint<Services, P, Q, B, R, CallerOf<W>>, W>,
  ): Endpoint<Services, P, Q, B, R, CallerOf<W>> => ({ kind: 'endpoint', ...route })
}

/** Binds {@link Stream} to the services that its `run` calls; the result infers caller, params and query. */
export function streamOf<Services>() {
  return <W extends Who, P extends Shape = undefined, Q extends Shape = undefined>(
    route: Omit<Bindable<Stream<Services, P, Q, CallerOf<W>>, W>, 'method'>,
  ): Stream<Services, P, Q, CallerOf<W>> => ({ kind: 'stream', method: 'GET', ...route })
}

/** Any route. Only public ones may be given no caller, see api/http/handler.ts. */
// biome-ignore lint/suspicious/noExplicitAny: routes of every shape stand in one array; each was checked by endpointOf() or streamOf()
export type Route<Services> = Endpoint<Services, any, any, any, any> | Stream<Services, any, any>
