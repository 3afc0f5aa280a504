import type { MatchingSettings } from '#core/matching/matching-settings.ts'
import type { MatchAnswer, MetadataAnswers, Recommendation, SearchAnswer } from '#core/matching/provider-answers.ts'
import type { Kind } from '#core/metadata/metadata-record-store.ts'
import { pluginKey } from '#core/metadata/source-key.ts'

/** A provider of metadata or recommendations. Plugins are the providers there are; how they run is not known here. */
export interface Provider {
  id: string
  /** Its own identifier, such as `org.example.anilist`. */
  key: string
  name: string
  version: string
  /** Only an `enabled` one answers. */
  state: 'waiting' | 'enabled' | 'disabled' | 'quarantined' | 'revoked'
  /** What it can do, such as `metadata.series.search`. */
  methods: readonly string[]
  /** The name that it has for the service whose identifiers its answers have. */
  idSources: Readonly<Record<Kind | 'recommendations', string>>
  matching: MatchingSettings
  /** Makes up what it answers: nobody is given that who has not named it. */
  isTestTool: boolean
}

/** Under which key identifiers of a provider are kept. */
export const idKeyOf = ({ idSources }: Provider, kind: Kind): string => pluginKey(idSources[kind])

/** Why a provider gave no answer, where neither the caller nor this server is the reason. */
export interface ProviderFailure {
  /** In a word, such as `rate_limited`, `auth` or `not_found`. */
  code: string
  /** For people. */
  message: string
  /** Null where it was not even asked, as while it is left alone after many failures. */
  callId: string | null
  /** Null where it does not say when to ask again. */
  retryAfterSeconds: number | null
}

/** Failures of providers are values: they are part of the work, and no error of the caller. */
export type Answered<Answer> = { answer: Answer } | { failure: ProviderFailure }

/** A search by words, and what else is known of the record. */
export interface SearchQuery {
  query: string
  limit: number
  isbn?: string
  author?: string
  year?: number
}

/** All that is known of one record, for a provider that chooses by itself. */
export interface MatchQuery {
  title: string
  alternateTitles: readonly string[]
  year: number | null
  authors: readonly string[]
  isbn: string | null
  /** By the key that they are kept under. */
  externalIds: Readonly<Record<string, string>>
}

/** Which plugin, for which user. */
export interface PluginUser {
  pluginId: string
  userId: string
}

/** A provider of recommendations as one user has it. */
export interface Recommender {
  provider: Provider
  /** What the user has configured. */
  config: Readonly<Record<string, unknown>>
}

/**
 * Asks providers. What they answer has been checked against the schemas of provider-answers.ts.
 * All that asks throws AppError where the question itself cannot be asked: not_found, conflict (it is not enabled), invalid_value.
 */
export interface ProviderClient {
  list(): Promise<Provider[]>
  find(id: string): Promise<Provider | null>
  search(id: string, kind: Kind, query: SearchQuery, signal?: AbortSignal): Promise<Answered<SearchAnswer>>
  match(id: string, kind: Kind, query: MatchQuery, signal?: AbortSignal): Promise<Answered<MatchAnswer>>
  get<K extends Kind>(id: string, kind: K, externalId: string, signal?: AbortSignal): Promise<Answered<MetadataAnswers[K]>>

  /** Those that the user has switched on and may use now, by name. */
  listRecommenders(userId: string): Promise<Recommender[]>
  /** Whether the user has switched it on, whatever its state. */
  isEnabledFor(reader: PluginUser): Promise<boolean>
  /** @param wanted.exclude identifiers of what the user does not want to see, for those that answer from a list of their own */
  recommend(
    reader: PluginUser,
    wanted: { limit: number; exclude: readonly string[] },
    run: { onProgress: (fraction: number, text: string | null) => void; signal: AbortSignal },
  ): Promise<Answered<readonly Recommendation[]>>
  /** Tells it what the user does not want to see again, where it takes that; otherwise nothing is done. */
  dismiss(reader: PluginUser, dismissed: { externalId: string; reason: string | null }, signal: AbortSignal): Promise<Answered<null>>
}

/** Fetches a picture that a provider has named; the failure is for people. */
export type DownloadCover = (cover: {
  url: string
  /** Key of the provider. */
  caller: string
  signal: AbortSignal
}) => Promise<{ bytes: Buffer } | { failure: { code: string; message: string } }>
