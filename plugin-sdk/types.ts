/** What a plugin answers to and what it is given. All of it crosses the border of a sandbox as JSON. */

/** A value that JSON can hold. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

// ── Metadata ────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface SearchQuery {
  /** What somebody typed, or the title. */
  query: string
  /** ISBN-10 or ISBN-13 without hyphens, where one is known. */
  isbn?: string
  author?: string
  year?: number
  /** How many results are wanted at most. */
  limit: number
  /** From the last answer, for the next page. */
  cursor?: string
}

export interface SearchResult {
  /** Identifier at your service; `get` is called with it. */
  externalId: string
  title: string
  alternateTitles?: string[]
  year?: number | null
  coverUrl?: string | null
  /** How well it fits, from 0 to 1. */
  relevance?: number
  /** What helps a person to choose. */
  preview?: { status?: string | null; genres?: string[]; rating?: number | null; description?: string | null; bookCount?: number | null }
}

export interface SearchAnswer {
  results: SearchResult[]
  nextCursor?: string | null
}

export interface MatchInput {
  title: string
  alternateTitles?: string[]
  year?: number | null
  authors?: string[]
  isbn?: string | null
  /** By source. */
  externalIds?: Record<string, string>
}

export interface MatchAnswer {
  match: SearchResult | null
  /** From 0 to 1. */
  confidence: number
  alternatives?: SearchResult[]
}

export interface Person {
  name: string
  /** author, co_author, editor, translator, illustrator, contributor, writer, penciller, inker, colorist, letterer or cover_artist. */
  role?: string
  sortName?: string | null
}

interface Described {
  externalId: string
  externalUrl?: string | null
  title?: string | null
  titleSort?: string | null
  summary?: string | null
  publisher?: string | null
  year?: number | null
  authors?: Person[]
  genres?: string[]
  tags?: string[]
  coverUrl?: string | null
  /** From 0 to 100. */
  rating?: { score: number; voteCount?: number | null } | null
  externalLinks?: { label: string; url: string }[]
  /** Identifiers at other services, by their names. */
  externalIds?: Record<string, string>
}

export interface SeriesMetadata extends Described {
  alternateTitles?: { title: string; language?: string | null; label?: string | null }[]
  status?: 'ongoing' | 'ended' | 'hiatus' | 'abandoned' | 'unknown' | null
  readingDirection?: 'ltr' | 'rtl' | 'ttb' | 'webtoon' | null
  ageRating?: number | null
  /** BCP 47. */
  language?: string | null
  totalVolumeCount?: number | null
  totalChapterCount?: number | null
}

export interface BookMetadata extends Described {
  subtitle?: string | null
  /** Number in its series; may be fractional. */
  number?: number | null
  volume?: number | null
  /** ISBNs, with commas. */
  isbns?: string | null
  /** BCP 47. */
  language?: string | null
  month?: number | null
  day?: number | null
  pageCount?: number | null
  subjects?: string[]
}

export interface MetadataHandlers<Metadata> {
  search?(query: SearchQuery, ctx: Context): Promise<SearchAnswer> | SearchAnswer
  get?(request: { externalId: string }, ctx: Context): Promise<Metadata> | Metadata
  match?(input: MatchInput, ctx: Context): Promise<MatchAnswer> | MatchAnswer
}

// ── Recommendations ─────────────────────────────────────────────────────────────────────────────────────────────────

export interface Recommendation {
  externalId: string
  title: string
  externalUrl?: string | null
  coverUrl?: string | null
  summary?: string | null
  genres?: string[]
  tags?: { name: string; category?: string | null; rank?: number | null }[]
  /** How strongly it is recommended, from 0 to 1. */
  score: number
  /** Why, in a sentence for the reader. */
  reason: string
  /** Titles that led to it. */
  basedOn?: string[]
  inLibrary?: boolean
  status?: 'ongoing' | 'ended' | 'hiatus' | 'abandoned' | 'unknown' | null
  format?: string | null
  countryOfOrigin?: string | null
  startYear?: number | null
  /** From 0 to 100. */
  rating?: number | null
  popularity?: number | null
  totalVolumeCount?: number | null
  totalChapterCount?: number | null
}

export interface RecommendationHandlers {
  get?(
    request: { limit: number; exclude: string[] },
    ctx: Context,
  ): Promise<{ recommendations: Recommendation[] }> | { recommendations: Recommendation[] }
  /** Gathers afresh; runs as a task in the background and may take its time. */
  refresh?(request: { limit: number }, ctx: Context): Promise<{ recommendations: Recommendation[] }> | { recommendations: Recommendation[] }
  dismiss?(request: { externalId: string; reason?: string | null }, ctx: Context): Promise<unknown> | unknown
}

// ── What a handler is given beside its request ──────────────────────────────────────────────────────────────────────

export interface FetchInit {
  method?: string
  headers?: Record<string, string>
  body?: string
  /** Milliseconds; never more than the server allows. */
  timeoutMs?: number
}

export interface FetchResponse {
  readonly ok: boolean
  readonly status: number
  /** After redirects. */
  readonly url: string
  readonly headers: { get(name: string): string | null; entries(): [string, string][] }
  text(): Promise<string>
  json<Value = Json>(): Promise<Value>
}

export interface LibraryEntry {
  seriesId: string
  title: string
  alternateTitles?: string[]
  year?: number | null
  genres?: string[]
  tags?: string[]
  authors?: string[]
  externalIds?: Record<string, string>
  /** Of the reader that this runs for. */
  rating?: number | null
  booksRead?: number
  bookCount?: number
  lastReadAt?: string | null
}

/** What a handler may do. Everything is counted and has a limit; what breaks one rejects with an error that says so. */
export interface Context {
  /** Of this call, in the logs of the server too. */
  readonly callId: string
  readonly plugin: { readonly id: string; readonly version: string }
  /** As the administrator set it, checked against the manifest's schema. */
  readonly config: Readonly<Record<string, Json>>
  /** As the reader set it, where this runs for one. */
  readonly userConfig: Readonly<Record<string, Json>>
  /** Only to hosts of the manifest, over https. Credentials are added by the server; you never see them. */
  fetch(url: string, init?: FetchInit): Promise<FetchResponse>
  readonly http: {
    /** Fetches and reads JSON. Rejects with NotFoundError for 404, AuthError for 401 and 403, RateLimitError for 429, UpstreamError for the rest. */
    json<Value = Json>(url: string, init?: FetchInit): Promise<Value>
  }
  /** Kept between calls: for the plugin, or for the plugin and the reader where this runs for one. */
  readonly storage: {
    get<Value = Json>(key: string): Promise<Value | null>
    set(key: string, value: Json, options?: { ttlSeconds?: number }): Promise<void>
    delete(key: string): Promise<void>
    list(prefix?: string): Promise<string[]>
  }
  readonly log: Record<'debug' | 'info' | 'warn' | 'error', (message: string, data?: Json) => void>
  /** How far this call is, from 0 to 1. */
  progress(fraction: number, text?: string): void
  readonly library: {
    /** Series that the reader may see, 200 at a time, with what the permissions of the manifest allow. */
    entries(options?: { cursor?: string | null }): Promise<{ entries: LibraryEntry[]; nextCursor: string | null }>
  }
  sleep(ms: number): Promise<void>
  readonly crypto: {
    /** Hexadecimal, of a text. */
    digest(algorithm: 'sha1' | 'sha256' | 'md5', text: string): Promise<string>
    hmac(algorithm: 'sha1' | 'sha256', key: string, text: string): Promise<string>
    randomUUID(): Promise<string>
  }
}

export interface Plugin {
  /** Once, before the first call. */
  setup?(ctx: Context): Promise<void> | void
  metadata?: { series?: MetadataHandlers<SeriesMetadata>; book?: MetadataHandlers<BookMetadata> }
  recommendations?: RecommendationHandlers
}
