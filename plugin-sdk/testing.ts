import type { CallTrace } from './call-trace.ts'
import type { Fixtures } from './fixtures.ts'
import type {
  AuthStatus,
  BookMetadata,
  Json,
  LibraryEntry,
  MatchAnswer,
  MatchInput,
  Recommendations,
  SearchAnswer,
  SearchQuery,
  SeriesMetadata,
} from './types.ts'

export { assertEqual, assertFails, assertWithin } from './assertions.ts'
export type { CallFailure, CallTrace } from './call-trace.ts'
export {
  bodyOf,
  type Exchange,
  type FixtureRequest,
  type FixtureResponse,
  type Fixtures,
  openReplay,
  type Replay,
  type ReplayRequest,
  readFixtures,
} from './fixtures.ts'

/**
 * The module that tests of a plugin import. They run under `carrel-plugin test`, which sets `globalThis[TESTING_HOST]` to a {@link TestingHost} before it
 * loads them: the plugin runs in the same sandbox as on a server, fixtures answer its requests, and its answers are validated and cut
 * as by a server. Under any other runner `test` and `openPlugin` throw an error that says how to run them.
 */

/** Where the tool puts its host: a registered symbol, so that two copies of this module (one bundled, one not) share it. */
export const TESTING_HOST: unique symbol = Symbol.for('@carrel/plugin-sdk/testing')

/** Inputs and answers of all functions. */
export interface Methods {
  'metadata.series.search': { input: SearchQuery; answer: SearchAnswer }
  'metadata.series.get': { input: { externalId: string }; answer: SeriesMetadata }
  'metadata.series.match': { input: MatchInput; answer: MatchAnswer }
  'metadata.book.search': { input: SearchQuery; answer: SearchAnswer }
  'metadata.book.get': { input: { externalId: string }; answer: BookMetadata }
  'metadata.book.match': { input: MatchInput; answer: MatchAnswer }
  'recommendations.get': { input: { limit: number; exclude: string[] }; answer: Recommendations }
  'recommendations.refresh': { input: { limit: number }; answer: Recommendations }
  'recommendations.dismiss': { input: { externalId: string; reason?: string | null }; answer: null }
}
export type Method = keyof Methods

export interface OpenOptions {
  /** Settings of the administrator. */
  config?: object
  /** Settings of the user, for whom a server runs only `recommendations`: other functions have none. */
  userConfig?: object
  /**
   * Responses to requests: the name of a file, such as `dune` for `fixtures/dune.json` beside the manifest, or its content. Without it
   * no request has a match.
   */
  fixtures?: string | Fixtures
  /** Initial content of the storage of the plugin, and of that of the user. Every opened plugin has its own. */
  storage?: Readonly<Record<string, unknown>>
  /** The complete library of the user, of which `recommendations` see the scopes of the manifest. */
  library?: LibraryEntry[]
  /** The value of `ctx.auth.status()`; by default `none`, or `missing` if the manifest has `auth`. Metadata functions never have credentials of users. */
  auth?: AuthStatus
}

export interface CallReport<Answer> extends CallTrace {
  /** As the server reads it: without unknown members, with texts truncated and numbers clamped. */
  answer: Answer
}

export interface TestedPlugin {
  readonly manifest: Readonly<Record<string, Json>>
  /** Calls a function as the server does. @throws CallFailure */
  call<Name extends Method>(method: Name, input: Methods[Name]['input']): Promise<CallReport<Methods[Name]['answer']>>
  /** Current content of the storage that the last call used: that of the user for `recommendations`, else that of the plugin. */
  storage(): Promise<Record<string, Json>>
  /** Ends its sandboxes, of which the user has one: the next call starts a new one, with `setup` and the same storage. */
  restart(): Promise<void>
  /** Idempotent. */
  close(): Promise<void>
}

/**
 * The interface that `carrel-plugin test` provides. A newer version only adds members; the existing ones keep their meaning.
 *
 * `test` may be called while a test file loads. The tool runs the tests of a file one after another and closes after each the plugins it has opened.
 * A test fails if its function rejects or a fixture with `required` was not requested. If a test fails, the exit status is not 0.
 */
export interface TestingHost {
  readonly version: 1
  test(name: string, run: () => Promise<void> | void): void
  /** Bundles and packs the folder of the manifest (once for all tests), checks the package, and opens it. */
  open(options: OpenOptions): Promise<TestedPlugin>
}

function hostOf(): TestingHost {
  const host = (globalThis as { [TESTING_HOST]?: TestingHost })[TESTING_HOST]
  if (host === undefined) throw new Error('Run tests of plugins with `carrel-plugin test`, which provides their sandbox.')
  if (host.version !== 1)
    throw new Error(
      `This SDK supports version 1 of the testing host, but the tool has version ${String(host.version)}. Update @carrel/plugin-sdk.`,
    )
  return host
}

/** Defines a test. Tests of a file run one after another. */
export const test = (name: string, run: () => Promise<void> | void): void => hostOf().test(name, run)

/** Opens the plugin under test, with a separate sandbox and storage. It is closed when the test ends. */
export const openPlugin = (options: OpenOptions = {}): Promise<TestedPlugin> => hostOf().open(options)
