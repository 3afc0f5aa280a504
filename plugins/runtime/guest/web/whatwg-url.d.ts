/** The classes of whatwg-url below its wrappers for browsers; the package ships no types. Arguments must be well-formed strings. */
declare module 'whatwg-url/lib/URL-impl.js' {
  import type { URLSearchParamsImpl } from 'whatwg-url/lib/URLSearchParams-impl.js'

  export class URLImpl {
    constructor(scope: null, given: [url: string, base: string | undefined])
    static canParse(url: string, base: string | undefined): boolean
    href: string
    readonly origin: string
    protocol: string
    username: string
    password: string
    host: string
    hostname: string
    port: string
    pathname: string
    search: string
    hash: string
    readonly searchParams: URLSearchParamsImpl
  }
  export const implementation: typeof URLImpl
}

declare module 'whatwg-url/lib/URLSearchParams-impl.js' {
  export class URLSearchParamsImpl {
    constructor(scope: null, given: [init: string | [string, string][]], options: object)
    readonly size: number
    append(name: string, value: string): void
    delete(name: string, value: string | undefined): void
    get(name: string): string | null
    getAll(name: string): string[]
    has(name: string, value: string | undefined): boolean
    set(name: string, value: string): void
    sort(): void
    [Symbol.iterator](): Iterator<[string, string]>
    toString(): string
  }
  export const implementation: typeof URLSearchParamsImpl
}
