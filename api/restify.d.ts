/** The part of restify 12 that the server uses; the package has no types. */
declare module 'restify' {
  import type { EventEmitter } from 'node:events'
  import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'

  export interface Request extends IncomingMessage {
    params: Record<string, string>
    /** Set once a route is found. */
    route?: { name: string }
    /** Parses the target with the Host header. Throws a TypeError if they are not a valid URL. */
    getUrl(): URL
  }

  export interface Response extends ServerResponse {
    /** Restify's flag for a sent response; it sends nothing more once this is true. */
    _sent?: boolean
  }

  /** `next(false)` ends the chain: the request has its answer. */
  export type Handler = (request: Request, response: Response, next: (goOn?: false) => void) => void

  export interface Server extends EventEmitter {
    server: HttpServer
    router: { lookup(request: Request, response: Response): unknown }
    first(handler: (request: Request, response: Response) => boolean | undefined): this
    pre(handler: Handler): this
    get(route: { path: string; name: string }, handler: Handler): string
    head(route: { path: string; name: string }, handler: Handler): string
    post(route: { path: string; name: string }, handler: Handler): string
    put(route: { path: string; name: string }, handler: Handler): string
    patch(route: { path: string; name: string }, handler: Handler): string
    del(route: { path: string; name: string }, handler: Handler): string
    on(event: 'error', listener: (error: Error) => void): this
    on(event: 'restifyError', listener: (request: Request, response: Response, error: unknown, done: () => void) => void): this
  }

  export interface Options {
    /** Empty: no Server header. */
    name: string
    log: object
    /** A longer part of a path matches no route; default 100. */
    maxParamLength: number
    /** A slash at the end of an address changes nothing. */
    ignoreTrailingSlash: boolean
  }
}

declare module 'restify/lib/router.js' {
  import type { Options } from 'restify'

  const Router: new (options: Options) => object
  export default Router
}

declare module 'restify/lib/server.js' {
  import type { Options, Server } from 'restify'

  const RestifyServer: new (options: Options & { router: object }) => Server
  export default RestifyServer
}
