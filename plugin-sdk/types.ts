/** What a plugin answers to and what it is given. All of it crosses the border of a sandbox as JSON. */

/** A value that JSON can hold. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** What the manifest's `config` or `userConfig` describes, unless the plugin says more exactly: `definePlugin<Config, UserConfig>({ … })`. */
export type AnyConfig = Record<string, Json>

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
  /** By their keys: `plugin:` and the `idSource` of a plugin, or another name; `externalIdOf` reads them. */
  externalIds?: Record<string, string>
}

export interface MatchAnswer {
  match: SearchResult | null
  /** From 0 to 1. */
  confidence: number
  alternatives?: SearchResult[]
}

export type Role =
  | 'author'
  | 'co_author'
  | 'editor'
  | 'translator'
  | 'illustrator'
  | 'contributor'
  | 'writer'
  | 'penciller'
  | 'inker'
  | 'colorist'
  | 'letterer'
  | 'cover_artist'

export interface Person {
  name: string
  role?: Role
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
  /** Identifiers at other services, by their names (`myanimelist`), which are those that plugins have as `idSource`. */
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

export interface MetadataHandlers<Metadata, Config = AnyConfig, UserConfig = AnyConfig> {
  search?(query: SearchQuery, ctx: Context<Config, UserConfig>): Promise<SearchAnswer> | SearchAnswer
  get?(request: { externalId: string }, ctx: Context<Config, UserConfig>): Promise<Metadata> | Metadata
  match?(input: MatchInput, ctx: Context<Config, UserConfig>): Promise<MatchAnswer> | MatchAnswer
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
  /** Identifiers at other services, by their names (`myanimelist`): by them it is found in the library too. */
  externalIds?: Record<string, string>
}

export interface Recommendations {
  recommendations: Recommendation[]
}

export interface RecommendationHandlers<Config = AnyConfig, UserConfig = AnyConfig> {
  get?(request: { limit: number; exclude: string[] }, ctx: Context<Config, UserConfig>): Promise<Recommendations> | Recommendations
  /** Gathers afresh: it may compute for 5 seconds and take two minutes. */
  refresh?(request: { limit: number }, ctx: Context<Config, UserConfig>): Promise<Recommendations> | Recommendations
  /** What it answers is read by nobody. */
  dismiss?(request: { externalId: string; reason?: string | null }, ctx: Context<Config, UserConfig>): Promise<unknown> | unknown
}

// ── What a handler is given beside its request ──────────────────────────────────────────────────────────────────────

/** As on the web, of bodies that are texts; `redirect` can be nothing but `follow`. */
export interface FetchInit extends RequestInit {
  /** Milliseconds; never more than the server allows. */
  timeoutMs?: number
}

/** As on the web. Its text may be read more than once. */
export interface FetchResponse extends Response {
  /** Seconds that the service asks to wait, where that is longer than a call may take; null where it does not. */
  readonly retryAfterSeconds: number | null
  json<Value = Json>(): Promise<Value>
}

/** A series of the library. Beside its id there is what the manifest's `permissions.library` allows, and no more. */
export interface LibraryEntry {
  seriesId: string
  /** With `series.titles`. */
  title?: string
  /** With `series.titles`. */
  alternateTitles?: string[]
  /** With `series.metadata`, as all that follow here. */
  year?: number | null
  genres?: string[]
  tags?: string[]
  authors?: string[]
  /** Its first 1,000 characters. */
  summary?: string | null
  /** BCP 47. */
  language?: string | null
  status?: string | null
  /** When it came into the library, ISO 8601. */
  addedAt?: string
  bookCount?: number
  /** From 0 to 100: the average of other services, and of the readers here where three or more have rated it. */
  communityRating?: number | null
  /** By their keys: `plugin:` and the `idSource` of a plugin, or another name; `externalIdOf` reads them. With `series.externalIds`. */
  externalIds?: Record<string, string>
  /** Of the reader that this runs for; with `ratings`. */
  rating?: number | null
  /** Of the books that are there, finished by this reader; with `reading.progress`. */
  booksRead?: number
  /** Begun by this reader, finished or not, even if they are gone since; with `reading.progress`. */
  booksStarted?: number
  /** Of this reader, ISO 8601; with `reading.progress`. */
  lastReadAt?: string | null
  /** How many people of this server have begun it, 0 for fewer than three; with `reading.progress`. */
  readers?: number
}

export type AuthStatus = 'none' | 'missing' | 'connected' | 'expired'

/** What a handler may do. Everything is counted and has a limit; what breaks one rejects with an error that says so. */
export interface Context<Config = AnyConfig, UserConfig = AnyConfig> {
  /** Of this call, in the logs of the server too. */
  readonly callId: string
  readonly plugin: { readonly id: string; readonly version: string }
  /** As the administrator set it: members may be missing or wrong. Frozen. */
  readonly config: Readonly<Partial<Config>>
  /** As the reader set it, where this runs for one: members may be missing or wrong. Frozen. */
  readonly userConfig: Readonly<Partial<UserConfig>>
  /** Only to hosts of the manifest, with the methods that it names for them, over https. Any status is an answer; look at `ok`. */
  fetch(input: string | URL | Request, init?: FetchInit): Promise<FetchResponse>
  readonly http: {
    /**
     * Fetches and reads JSON. Rejects with an error whose `code` is `not_found` for 404 and 410, `auth` for 401 and 403, `rate_limited` for 429, and
     * `upstream` for any other failure and for what is no JSON.
     */
    json<Value = Json>(input: string | URL | Request, init?: FetchInit): Promise<Value>
  }
  /** Kept between calls: for the plugin, or for the plugin and the reader where this runs for one. */
  readonly storage: {
    get<Value = Json>(key: string): Promise<Value | null>
    set(key: string, value: Json, options?: { ttlSeconds?: number }): Promise<void>
    delete(key: string): Promise<void>
    list(prefix?: string): Promise<string[]>
  }
  readonly log: Record<'debug' | 'info' | 'warn' | 'error', (message: string, data?: Json) => void>
  /** How far this call is, from 0 to 1, with at most 200 characters of what it is at. */
  progress(fraction: number, text?: string): void
  readonly library: {
    /** Series that the reader may see, 200 at a time, with what the permissions of the manifest allow. */
    entries(options?: { cursor?: string | null }): Promise<{ entries: LibraryEntry[]; nextCursor: string | null }>
  }
  readonly auth: {
    /**
     * Whether the server has the credentials that the manifest's `auth` describes, and puts them into requests: `none` when it describes none,
     * `missing` when nobody has given any, `expired` when they were refused or have run out. The credentials themselves never come here.
     */
    status(): Promise<AuthStatus>
  }
  /** Aborted when the call is given up: what was asked of the server is then too. */
  readonly signal: AbortSignal
  /** At most a minute at a time; the time of the call goes on. */
  sleep(ms: number): Promise<void>
  readonly crypto: {
    /** Hexadecimal, of a text. */
    digest(algorithm: 'sha1' | 'sha256' | 'md5', text: string): Promise<string>
    hmac(algorithm: 'sha1' | 'sha256', key: string, text: string): Promise<string>
    randomUUID(): Promise<string>
  }
}

export interface Plugin<Config = AnyConfig, UserConfig = AnyConfig> {
  /** Once in every sandbox, before its first call. */
  setup?(ctx: Context<Config, UserConfig>): Promise<void> | void
  /**
   * Once before a version runs whose `dataVersion` is higher than that of what is in the storage: brings it up to date, on a copy that takes the place
   * of the storage when this succeeds. When it fails the old version goes on.
   * @param from the `dataVersion` of the version before, 1 where it named none
   */
  migrate?(ctx: Context<Config, UserConfig>, from: number): Promise<void> | void
  metadata?: { series?: MetadataHandlers<SeriesMetadata, Config, UserConfig>; book?: MetadataHandlers<BookMetadata, Config, UserConfig> }
  recommendations?: RecommendationHandlers<Config, UserConfig>
}
