/** The functions of a plugin, with their inputs and answers. All of them enter and leave the sandbox as JSON. */

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** A value that JSON keeps: an interface of yours as well as {@link Json}. Members that are undefined are left out; functions are not accepted. */
export type Storable<Value> = Value extends Json | undefined
  ? Value
  : Value extends ((...given: never[]) => unknown) | bigint | symbol
    ? never
    : Value extends object
      ? { [Name in keyof Value]: Storable<Value[Name]> }
      : never

/** The configuration that the manifest's `config` or `userConfig` describes. `definePlugin<Config, UserConfig>({ … })` sets more exact types. */
export type AnyConfig = Record<string, Json>

// ── Metadata ────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface SearchQuery {
  /** The text that a user entered, or the title. */
  query: string
  /** ISBN-10 or ISBN-13 without hyphens, if recorded. */
  isbn?: string
  author?: string
  year?: number
  /** Maximum number of results. */
  limit: number
  /** The `nextCursor` of the last answer, for the next page. */
  cursor?: string
}

export interface SearchResult {
  /** Identifier at your service; the server passes it to `get`. */
  externalId: string
  title: string
  alternateTitles?: string[]
  year?: number | null
  coverUrl?: string | null
  /** How well it matches, from 0 to 1. */
  relevance?: number
  /** Details that help a person to choose. */
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
  /** By key: `plugin:` and the `idSource` of a plugin, or another name; read them with `externalIdOf`. */
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
  /** Identifiers at other services, by the name of the service (`myanimelist`), which plugins have as `idSource`. An undefined one is left out. */
  externalIds?: Record<string, string | undefined>
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
  /** ISBNs, separated by commas. */
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
  /** The reason, in a sentence for the user. */
  reason: string
  /** Titles that it is based on. */
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
  /** Identifiers at other services, by the name of the service (`myanimelist`); the server also uses them to find it in the library. An undefined one is left out. */
  externalIds?: Record<string, string | undefined>
}

export interface Recommendations {
  recommendations: Recommendation[]
}

export interface RecommendationHandlers<Config = AnyConfig, UserConfig = AnyConfig> {
  get?(request: { limit: number; exclude: string[] }, ctx: Context<Config, UserConfig>): Promise<Recommendations> | Recommendations
  /** Computes new recommendations; may use 5 seconds of CPU time and take two minutes. */
  refresh?(request: { limit: number }, ctx: Context<Config, UserConfig>): Promise<Recommendations> | Recommendations
  /** The server ignores the return value. */
  dismiss?(request: { externalId: string; reason?: string | null }, ctx: Context<Config, UserConfig>): Promise<unknown> | unknown
}

// ── The context of a handler ────────────────────────────────────────────────────────────────────────────────────────

/** As on the web, but bodies are texts, and `redirect` can only be `follow`. */
export interface FetchInit extends RequestInit {
  /** Milliseconds, at most the server's limit. */
  timeoutMs?: number
}

/** As on the web. The body can be read more than once. */
export interface FetchResponse extends Response {
  /** Seconds that the service asks to wait, if longer than a call may take; otherwise null. */
  readonly retryAfterSeconds: number | null
  json<Value = Json>(): Promise<Value>
}

/** A series of the library. Besides its id it has only the members that the manifest's `permissions.library` allows. */
export interface LibraryEntry {
  seriesId: string
  /** With `series.titles`. */
  title?: string
  /** With `series.titles`. */
  alternateTitles?: string[]
  /** With `series.metadata`, like all members up to `communityRating`. */
  year?: number | null
  genres?: string[]
  tags?: string[]
  authors?: string[]
  /** Its first 1,000 characters. */
  summary?: string | null
  /** BCP 47. */
  language?: string | null
  status?: string | null
  /** Time when it was added to the library, ISO 8601. */
  addedAt?: string
  bookCount?: number
  /** From 0 to 100: the average of other services. Ratings of users of this server are not in it. */
  communityRating?: number | null
  /** By their keys: `plugin:` and the `idSource` of a plugin, or another name; `externalIdOf` reads them. With `series.externalIds`. */
  externalIds?: Record<string, string>
  /** The rating by the user of this call; with `ratings`. */
  rating?: number | null
  /** Number of available books that the user has finished; with `reading.progress`. */
  booksRead?: number
  /** Number of books that the user has begun, finished or not, including deleted books; with `reading.progress`. */
  booksStarted?: number
  /** Time when the user last read it, ISO 8601; with `reading.progress`. */
  lastReadAt?: string | null
  /** Number of users of this server who have begun it and have not enabled the plugin, in whole fives; with `reading.progress`. */
  readers?: number
}

/** A page of the library. */
export interface LibraryPage {
  entries: LibraryEntry[]
  /** For the next page; null on the last one. */
  nextCursor: string | null
}

export type AuthStatus = 'none' | 'missing' | 'connected' | 'expired'

/** What a handler can use. Everything has a limit; exceeding one rejects with an error that names it. */
export interface Context<Config = AnyConfig, UserConfig = AnyConfig> {
  /** Id of this call, also in the logs of the server. */
  readonly callId: string
  readonly plugin: { readonly id: string; readonly version: string }
  /** Settings of the administrator, as the manifest describes them, with its defaults: no call runs with others. Frozen. */
  readonly config: Readonly<string extends keyof Config ? Partial<Config> : Config>
  /** Settings of the user, with the defaults of the manifest; none if the call does not run for a user. Frozen. */
  readonly userConfig: Readonly<Partial<UserConfig>>
  /** Only to hosts of the manifest, with their methods, over https. Resolves for any status; check `ok`. */
  fetch(input: string | URL | Request, init?: FetchInit): Promise<FetchResponse>
  readonly http: {
    /**
     * Fetches and parses JSON. Rejects with an error whose `code` is `not_found` for 404 and 410, `auth` for 401 and 403, `rate_limited` for 429, and
     * `upstream` for any other failure and for invalid JSON.
     */
    json<Value = Json>(input: string | URL | Request, init?: FetchInit): Promise<Value>
  }
  /** Persists between calls: for the plugin, or for the plugin and the user if the call runs for one. */
  readonly storage: {
    get<Value = Json>(key: string): Promise<Value | null>
    set<Value>(key: string, value: Value & Storable<Value> & (Json | object), options?: { ttlSeconds?: number }): Promise<void>
    delete(key: string): Promise<void>
    list(prefix?: string): Promise<string[]>
  }
  readonly log: Record<'debug' | 'info' | 'warn' | 'error', <Value>(message: string, data?: Value & Storable<Value>) => void>
  /** Reports the progress of this call, from 0 to 1, with a text of at most 200 characters. */
  progress(fraction: number, text?: string): void
  readonly library: {
    /** Series that the user may see, 200 at a time, with the members that the manifest's permissions allow. */
    entries(options?: { cursor?: string | null }): Promise<LibraryPage>
  }
  readonly auth: {
    /**
     * Whether the server has the credentials that the manifest's `auth` describes and adds them to requests: `none` if it describes none,
     * `missing` if nobody has entered any, `expired` if they were rejected or have expired. The plugin never sees the credentials themselves.
     */
    status(): Promise<AuthStatus>
  }
  /** Aborted when the call is canceled, together with its requests to the server. */
  readonly signal: AbortSignal
  /** At most a minute; counts toward the duration of the call. */
  sleep(ms: number): Promise<void>
  readonly crypto: {
    /** Hash of a text, in hexadecimal. */
    digest(algorithm: 'sha1' | 'sha256' | 'md5', text: string): Promise<string>
    hmac(algorithm: 'sha1' | 'sha256', key: string, text: string): Promise<string>
    randomUUID(): Promise<string>
  }
}

export interface Plugin<Config = AnyConfig, UserConfig = AnyConfig> {
  /** Called once in every sandbox, before its first call. */
  setup?(ctx: Context<Config, UserConfig>): Promise<void> | void
  /**
   * Called once before a version runs whose `dataVersion` is higher than that of the stored data: updates a copy of the storage, which replaces the
   * storage if this succeeds. If it fails, the old version keeps running.
   * @param from the `dataVersion` of the previous version, 1 if it had none
   */
  migrate?(ctx: Context<Config, UserConfig>, from: number): Promise<void> | void
  metadata?: { series?: MetadataHandlers<SeriesMetadata, Config, UserConfig>; book?: MetadataHandlers<BookMetadata, Config, UserConfig> }
  recommendations?: RecommendationHandlers<Config, UserConfig>
}
