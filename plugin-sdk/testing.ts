import type { CallTrace } from './call-trace.ts'
import type { Fixtures } from './fixtures.ts'
import type {
  AnyConfig,
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

/** Where the tool leaves its host: a registered symbol, so that two copies of this module (one bundled, one not) meet. */
export const TESTING_HOST: unique symbol = Symbol.for('@carrel/plugin-sdk/testing')

/** What every function is given and answers. */
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
  /** As an administrator would set it. */
  config?: AnyConfig
  /** As a reader would set it. */
  userConfig?: AnyConfig
  /**
   * What requests are answered with: the name of a file, such as `dune` for `fixtures/dune.json` beside the manifest, or its content. Without it
   * every request is one that matches nothing.
   */
  fixtures?: string | Fixtures
  /** What the storage holds at first. Every plugin that is opened has a storage of its own. */
  storage?: Record<string, Json>
  /** The library of the reader, whole; the plugin sees as much as its manifest asks for. */
  library?: LibraryEntry[]
  /** What `ctx.auth.status()` says; unless given `none`, or `missing` where the manifest has `auth`. */
  auth?: AuthStatus
}

export interface CallReport<Answer> extends CallTrace {
  /** As a server reads it: unknown members dropped, texts cut, numbers brought into bounds. */
  answer: Answer
}

export interface TestedPlugin {
  readonly manifest: Readonly<Record<string, Json>>
  /** Calls a function as the server does. @throws CallFailure */
  call<Name extends Method>(method: Name, input: Methods[Name]['input']): Promise<CallReport<Methods[Name]['answer']>>
  /** What the storage holds now. */
  storage(): Promise<Record<string, Json>>
  /** Ends its sandbox: the next call starts it anew, with `setup`, on the same storage. */
  restart(): Promise<void>
  /** Idempotent. */
  close(): Promise<void>
}

/**
 * What `carrel-plugin test` provides. A newer version only adds: members that are here keep their meaning.
 *
 * `test` may be called while a test file loads; the tool runs the tests of a file one after the other, closes after each what it has opened, fails
 * a test whose function rejects or whose fixtures with `required` were not asked for, and ends with a status that is not 0 when one has failed.
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

/** Says what must hold. Tests of a file run one after the other. */
export const test = (name: string, run: () => Promise<void> | void): void => hostOf().test(name, run)

/** Opens the plugin that is being tested, in a sandbox and with a storage of its own. It is closed when the test ends. */
export const openPlugin = (options: OpenOptions = {}): Promise<TestedPlugin> => hostOf().open(options)
