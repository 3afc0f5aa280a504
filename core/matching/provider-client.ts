import type { Kind } from '#core/fields/record-kind.ts'
import { pluginKey } from '#core/fields/source-key.ts'
import type { MatchingSettings } from '#core/matching/matching-settings.ts'
import type { MatchAnswer, MetadataAnswers, Recommendation, SearchAnswer } from '#core/matching/provider-answers.ts'

/** A provider of metadata or recommendations. All providers are plugins; this module does not depend on how they run. */
export interface Provider {
  id: string
  /** Its identifier, such as `org.example.anilist`. */
  key: string
  name: string
  version: string
  /** Only an `enabled` provider answers. */
  state: 'waiting' | 'enabled' | 'disabled' | 'quarantined' | 'revoked'
  /** Its functions, such as `metadata.series.search`. */
  methods: readonly string[]
  /** Its name for the service whose identifiers it returns. */
  idSources: Readonly<Record<Kind | 'recommendations', string>>
  matching: MatchingSettings
  /** A test tool with invented answers: only used when named explicitly. */
  isTestTool: boolean
}

/** The key of a provider's identifiers. */
export const idKeyOf = ({ idSources }: Provider, kind: Kind): string => pluginKey(idSources[kind])

/** Why a provider gave no answer, if the reason is neither the caller nor this server. */
export interface ProviderFailure {
  /** Error code, such as `rate_limited`, `auth` or `not_found`. */
  code: string
  /** For people. */
  message: string
  /** Null if no call was made, such as while calls are paused after many failures. */
  callId: string | null
  /** Null if the provider does not say when to retry. */
  retryAfterSeconds: number | null
}

/** Failures of providers are values: they are expected, and not errors of the caller. */
export type Answered<Answer> = { answer: Answer } | { failure: ProviderFailure }

/** A search by words, with further data of the record. */
export interface SearchQuery {
  query: string
  limit: number
  isbn?: string
  author?: string
  year?: number
}

/** All data of one record, for a provider that matches by itself. */
export interface MatchQuery {
  title: string
  alternateTitles: readonly string[]
  year: number | null
  authors: readonly string[]
  isbn: string | null
  /** By key. */
  externalIds: Readonly<Record<string, string>>
}

/** A plugin and the user that it works for. */
export interface PluginUser {
  pluginId: string
  userId: string
}

/** A provider of recommendations for one user. */
export interface Recommender {
  provider: Provider
  /** The user's configuration. */
  config: Readonly<Record<string, unknown>>
}

/**
 * Calls providers. Their answers have been checked against the schemas of provider-answers.ts.
 * Every call throws AppError if it cannot be made: not_found, conflict (not enabled), invalid_value.
 */
export interface ProviderClient {
  list(): Promise<Provider[]>
  find(id: string): Promise<Provider | null>
  search(id: string, kind: Kind, query: SearchQuery, signal?: AbortSignal): Promise<Answered<SearchAnswer>>
  match(id: string, kind: Kind, query: MatchQuery, signal?: AbortSignal): Promise<Answered<MatchAnswer>>
  get<K extends Kind>(id: string, kind: K, externalId: string, signal?: AbortSignal): Promise<Answered<MetadataAnswers[K]>>

  /** Those that the user has enabled and that can be used now, by name. */
  listRecommenders(userId: string): Promise<Recommender[]>
  /** Whether the user has enabled it, in any state. */
  isEnabledFor(user: PluginUser): Promise<boolean>
  /** @param wanted.exclude identifiers of dismissed items, for providers with a list of their own */
  recommend(
    user: PluginUser,
    wanted: { limit: number; exclude: readonly string[] },
    run: { onProgress: (fraction: number, text: string | null) => void; signal: AbortSignal },
  ): Promise<Answered<readonly Recommendation[]>>
  /** Notifies the provider of a dismissed item, if it accepts that. */
  dismiss(user: PluginUser, dismissed: { externalId: string; reason: string | null }, signal: AbortSignal): Promise<Answered<null>>
}

/** Fetches a picture from the address of a provider; the failure text is for people. */
export type DownloadCover = (cover: {
  url: string
  /** Id of the provider: only its own hosts are contacted. */
  pluginId: string
  /** For whom; null if a task applies it. */
  userId: string | null
  signal: AbortSignal
}) => Promise<{ bytes: Buffer } | { failure: { code: string; message: string } }>
