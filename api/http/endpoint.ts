import type { Static, TSchema } from 'typebox'
import type { Mount } from '#api/http/mount.ts'
import type { StreamReply } from '#api/http/reply.ts'
import type { Caller } from '#core/account/caller.ts'
import type { Permission } from '#core/account/permission.ts'
import type { ListState } from '#core/paging/list-state.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Who may call. `public`: anyone (the caller may be null). `user`: any signed-in caller. A permission: callers that have it. */
export type Who = 'public' | 'user' | Permission

/**
 * All of our own API also accepts the session of a browser. `cookie: true` also accepts the `auth_token` cookie of clients with tokens, for pictures and files
 * that an <img> loads; only for GET.
 */
export interface Allow<W extends Who = Who> {
  who: W
  /** Further permissions that are required. */
  also?: readonly Permission[]
  cookie?: boolean
  /** Also accepts HTTP Basic, for e-readers that support nothing else (feeds, compatibility API). */
  basic?: boolean
  /** Also accepts the session of a client app, started by Basic or an API key (compatibility API). */
  session?: boolean
  /** Also accepts an API key in the header x-auth-user (e-reader sync). */
  userHeader?: boolean
}

/** A public route may have no caller. */
export type CallerOf<W extends Who> = W extends 'public' ? Caller | null : Caller

/** What every handler receives besides its own parameters. */
export interface Call<Services, C extends Caller | null = Caller> {
  /** Null only on public routes. */
  caller: C
  /** Those that the route names, see api/areas. */
  services: Services
  requestId: string
  /** Address of the client, through trusted proxies only. */
  address: string
  /** The origin of this server as the client sees it, such as `https://books.example.org`, through trusted proxies only; null if unknown. */
  origin: string | null
  /** Aborts when the client disconnects or the server stops waiting. */
  signal: AbortSignal
  /** Path of the request without the query, and its raw query, for pagination links. */
  path: string
  rawQuery: string
  /** The value of a cookie; null if the request does not have it. */
  cookie(name: string): string | null
  /** The value of a header; null if the request does not have it. */
  header(name: string): string | null
  /** Reports a created record: the response has status 201 and, if the record has an address of its own, Location. */
  created(location?: string): void
  /** Chooses the media type of this response, if the route has several; default: the first. */
  sendAs(mediaType: string): void
  /** Adds a header to the response, such as Set-Cookie or Link. */
  setHeader(name: string, value: string): void
  /** The state of the catalog before the answer, for routes that depend on it. */
  listState?: ListState | undefined
  /** Says that the answer changes with time even if nothing else does, so that it is not remembered. */
  changesWithTime(): void
}

/** One file of a form. The client chose the name; folders are removed. */
export interface FormFile {
  fileName: string
  bytes: Buffer
}

/** The file of a form with the other fields. */
export interface Upload extends FormFile {
  fields: ReadonlyMap<string, string>
}

/** The validated input of a request; its parts can name records. */
export interface NamedInRequest {
  params: unknown
  query: unknown
  body: unknown
}

type Read<S> = S extends TSchema ? Static<S> : undefined
/** What `run` returns: nothing if the route declares no reply. */
type Reply<S> = S extends TSchema ? Promise<Static<S> | undefined> : Promise<void>

/** What routes of both kinds state. */
interface RouteBasics<Services, P extends TSchema | undefined, Q extends TSchema | undefined, C extends Caller | null> {
  /** The operationId, such as `listBooks`: verb and noun. Routes of foreign protocols and pages for people, which the document omits, have none. */
  name?: string
  /** Restify path, such as `/api/v1/books/:bookId`. A last part `:name*` matches the rest of the path, slashes included. */
  path: string
  /** Further paths of the same route, with the same parameters. */
  alsoAt?: readonly string[]
  summary: string
  tag: string
  allow: Allow
  /** What it changes, if its permissions do not tell (api/http/changes.ts); null for a request that only reads, though it is no GET. */
  changes?: string | null
  /** The foreign protocol of the route; while that is closed, the route does not exist. */
  mount?: Mount<Services>
  params?: P
  query?: Q
  /** Ignores unknown query parameters: services and client apps add their own. */
  takesAnyQuery?: true
  /**
   * The answer depends on the request, the caller and the catalog, with what belongs to the caller, and on nothing else (core/catalog/list-state-query.ts):
   * it is remembered until that changes. Of bytes, only replies of the kind `bytes` with an ETag are.
   */
  dependsOn?: 'catalog'
  /** Replaces other names of records in the input by their ids, before anything else sees it. @throws not_found */
  resolve?: (services: Services, input: NamedInRequest) => Promise<void>
  /** Runs before every answer, also before a remembered one. */
  before?: (call: Call<Services, C>) => Promise<void>
}

/** A JSON route as a value. `run` makes one call into core and returns the body of the reply; errors are thrown with `refuse`. */
export interface Endpoint<
  Services,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TSchema | undefined = undefined,
  R extends TSchema | undefined = undefined,
  C extends Caller | null = Caller,
> extends RouteBasics<Services, P, Q, C> {
  kind: 'endpoint'
  method: Method
  /** Success status; default 200. 204 sends no body. */
  status?: 200 | 201 | 202 | 204
  /** Responds 201 when it creates something (`call.created`), and 200 when that existed. */
  mayCreate?: true
  body?: B
  /** A missing body means an empty object. Otherwise a missing body is refused, because it would change something by mistake. */
  bodyOptional?: true
  /** Further names of body members, each with the member that it stands for. If both are sent, the member counts. */
  bodyAliases?: Readonly<Record<string, string>>
  /** Largest request body in bytes; default 1 MB. */
  bodyBytesMax?: number
  /** Accepts a form with one file instead of JSON: `run` receives it as `upload`. `bodyBytesMax` limits the body. */
  upload?: { /** What the file is, for OpenAPI. */ description: string /** The error for a request without a form. */; otherwise?: string }
  /** Schema of the success body, for OpenAPI and for the contract tests. */
  reply?: R
  /** The version of the record that a GET returns, without the caller's progress; an edit of the same path compares it with If-Match. */
  versionOf?: (reply: Read<R>) => string
  /** The answer states the time of its request: it has no ETag, which no other answer would have. */
  statesTime?: true
  /** JSON media types of the success body; default `application/json`. */
  mediaTypes?: readonly [string, ...string[]]
  /** The response sets or clears a cookie; for OpenAPI. */
  setsCookie?: true
  /** Responds 204 when there is nothing to report. */
  mayBeEmpty?: true
  run: (call: Call<Services, C>, input: { params: Read<P>; query: Read<Q>; body: Read<B>; upload: Upload }) => Reply<R>
}

/** A route that answers with bytes instead of JSON. */
export interface StreamRoute<
  Services,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  C extends Caller | null = Caller,
> extends RouteBasics<Services, P, Q, C> {
  kind: 'stream'
  method: 'GET'
  /** Media types of the response, for OpenAPI; empty for a redirect. */
  mediaTypes: string[]
  /** Schema of a JSON body, or of the data of each event; for OpenAPI. */
  reply?: TSchema
  /** Covers, pages and parts of EPUBs, of which a browser shows hundreds while somebody scrolls: for its session they have a rate limit of their own. */
  rate?: 'pictures'
  /** Sends parts of the content (Range); for OpenAPI. */
  ranges?: true
  /** The answer has no ETag, since it is made for this one request; for OpenAPI. */
  untagged?: true
  /** A refused request gets a page of status 400; for OpenAPI. */
  refusesWithPage?: true
  run: (call: Call<Services, C>, input: { params: Read<P>; query: Read<Q> }) => Promise<StreamReply>
}

type Shape = TSchema | undefined

/** Reports the address of a created record, and returns the record. @param list path under which records are found by id */
export function madeAt<Record extends { id: string }>(call: Pick<Call<unknown>, 'created'>, list: string, record: Record): Record {
  call.created(`${list}/${record.id}`)
  return record
}

/** A route before binding: `allow.who` decides whether `run` may receive no caller. */
type Bindable<R extends { kind: unknown; allow: unknown }, W extends Who> = Omit<R, 'kind' | 'allow'> & { allow: Allow<W> }

/** Binds {@link Endpoint} to the services that `run` calls; infers the types of caller, params, query, body and reply. */
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

/** Binds {@link StreamRoute} to the services that `run` calls; infers the types of caller, params and query. */
export function streamOf<Services>() {
  return <W extends Who, P extends Shape = undefined, Q extends Shape = undefined>(
    route: Omit<Bindable<StreamRoute<Services, P, Q, CallerOf<W>>, W>, 'method'>,
  ): StreamRoute<Services, P, Q, CallerOf<W>> => ({ kind: 'stream', method: 'GET', ...route })
}

/** Any route. Only public ones may receive no caller, see api/http/handler.ts. */
// biome-ignore lint/suspicious/noExplicitAny: one array contains routes of every shape; endpointOf() or streamOf() checked each
export type Route<Services> = Endpoint<Services, any, any, any, any> | StreamRoute<Services, any, any>

/** Any route that answers with JSON. */
export type AnyEndpoint<Services> = Extract<Route<Services>, { kind: 'endpoint' }>

/** Any route that answers with bytes. */
export type AnyStream<Services> = Extract<Route<Services>, { kind: 'stream' }>
