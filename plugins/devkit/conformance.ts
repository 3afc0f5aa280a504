import { isDeepStrictEqual } from 'node:util'
import type { EgressResponse } from '#plugins/network/answer.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { checkAddress, readRequest } from '#plugins/network/request.ts'
import { budgetOf } from '#plugins/packages/budgets.ts'
import { methodsOf } from '#plugins/packages/manifest.ts'
import { requestedPermissions } from '#plugins/packages/permissions.ts'
import { refuseGuest } from '#plugins/runtime/guest-error.ts'
import type { Budget } from '#plugins/runtime/program.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import { type Fixtures, openReplay } from '../../plugin-sdk/fixtures.ts'
import type { Json } from '../../plugin-sdk/index.ts'
import { ALL_LOCAL_SERVICES, describeUnmatched, typedRecord } from './allow-local.ts'
import { requiresCredentials } from './credentials-file.ts'
import { answerOf, replayEgress } from './host-answers.ts'
import { asCallProblem, type Built, CallProblem, describeProblem, PluginSession } from './plugin-session.ts'
import { CALLS_FOLDER, type SavedCall } from './saved-call.ts'
import type { TestOutcome } from './test-files.ts'
import { typedTool } from './typed.ts'

/** Inputs for functions without a saved call. */
const SAMPLES: Readonly<Record<string, Json>> = {
  search: { query: 'Dune', limit: 5 },
  get: { externalId: '1' },
  match: { title: 'Dune' },
  'recommendations.get': { limit: 5, exclude: [] },
  refresh: { limit: 5 },
  dismiss: { externalId: '1', reason: null },
}

/** Allowed error codes: they describe the service or the input, not a bug. */
const ALLOWED_CODES = new Set([
  'rate_limited',
  'not_found',
  'auth',
  'upstream',
  'config',
  'timeout',
  'too_large',
  'invalid_argument',
  'limit',
  'permission',
])
const EXPECTED =
  '\nExpected is an answer, or an error of @carrel/plugin-sdk that says what went wrong, such as RateLimitError, UpstreamError or NotFoundError.'
/** Titles that break code tested only with English: other scripts, accents, characters of URLs and patterns. */
const UNICODE = 'Les Misérables – 進撃の巨人 ΑΩ 100 % &?#"\'\\ [a+ 😀'
/** More pages than any user turns. */
const PAGES_MAX = 20
/** Share of the CPU budget of a call: a call that needs more on an idle machine exceeds its budget on a busy one. */
const CPU_SHARE = 0.5

interface Check {
  name: string
  /** @returns why it was skipped, or null when it passed. @throws Error with what is wrong */
  run(): Promise<string | null>
}

interface ConformanceOptions {
  built: Built
  supervisor: Supervisor
  calls: readonly SavedCall[]
}

const TYPED = 'returns what its type says, well within its budget'
const NO_REQUEST = 'it made no request'
/** The code of a call that sent a request without a fixture, as in tests. */
const UNMATCHED = 'unmatched'

/** The checks for every plugin, whatever it does. */
export async function runConformance(options: ConformanceOptions, onOutcome: (outcome: TestOutcome) => void): Promise<void> {
  for (const method of methodsOf(options.built.manifest)) {
    const tested = new TestedMethod(method, options)
    for (const { name, run } of checksOf(tested)) {
      const at = performance.now()
      tested.warnings.clear()
      let outcome: Pick<TestOutcome, 'state' | 'message'>
      try {
        const reason = await run()
        outcome = { state: reason === null ? 'passed' : 'skipped', message: reason }
      } catch (error) {
        const message = error instanceof CallProblem ? describeProblem(error) : (error as Error).message
        const isAdvised = error instanceof CallProblem && error.code === UNMATCHED
        outcome = { state: 'failed', message: isAdvised ? message : `${message}${adviceOn(message)}` }
      }
      // Only of the first, with the saved call: the others ask the same in other ways.
      const warnings = name === TYPED ? [...tested.warnings] : []
      onOutcome({ group: method, name, ...outcome, wallMs: performance.now() - at, warnings })
    }
  }
}

/** How to record the request that a message names; empty for any other message. */
function adviceOn(message: string): string {
  const [, request] = /No fixture matches (\S+ \S+)\.(?:\s|$)/.exec(message) ?? []
  return request === undefined ? '' : `\nRecord it with: ${typedRecord([request])}`
}

/** One function of a plugin, with the saved call that its checks use. */
class TestedMethod {
  readonly method: string
  readonly kind: string
  readonly input: Json
  readonly warnings = new Set<string>()
  readonly #built: Built
  readonly #supervisor: Supervisor
  readonly #sample: SavedCall | undefined
  /** Why checks that need fixtures are skipped. */
  readonly #advice: string

  constructor(method: string, { built, supervisor, calls }: ConformanceOptions) {
    this.method = method
    this.kind = method.split('.').at(-1) ?? method
    this.#built = built
    this.#supervisor = supervisor
    this.#sample = calls.find((call) => call.method === method && call.fixtures !== null)
    const bare = calls.find((call) => call.method === method)
    this.#advice =
      bare === undefined
        ? `save a call of it with fixtures, in ${CALLS_FOLDER}/`
        : `${CALLS_FOLDER}/${bare.name}.json has no fixtures; give it "fixtures": "${bare.name}", and record them: ${typedTool('test --record')}`
    this.input = this.#sample?.input ?? SAMPLES[method] ?? SAMPLES[this.kind] ?? null
  }

  get budget(): Budget {
    return budgetOf(requestedPermissions(this.#built.manifest), this.method)
  }

  inputWith(change: Record<string, Json>): Json {
    return { ...(this.input as Record<string, Json>), ...change }
  }

  /** Calls it in a new sandbox, with accepted credentials unless the saved call says something else. */
  async call(egress: Egress, given: Json, times = 1) {
    const { config = {}, userConfig = {}, library = [] } = this.#sample ?? {}
    const auth = this.#sample?.auth ?? (requiresCredentials(this.#built.manifest) ? 'connected' : 'none')
    const session = new PluginSession(this.#supervisor, this.#built, { egress, config, userConfig, library, auth })
    try {
      const results = []
      for (let turn = 0; turn < times; turn++) results.push(await session.call(this.method, given))
      for (const { trace } of results) for (const warning of trace.warnings) this.warnings.add(`${this.method} ${warning}`)
      return results as [(typeof results)[number], ...typeof results]
    } finally {
      session.close()
    }
  }

  /** Makes the saved call with its fixtures alone. @throws CallProblem for a request that matches none, also when the code catches that */
  async callExactly(known: Fixtures, times = 1) {
    const unmatched: string[] = []
    const results = await this.call(replayEgress(openReplay(known), unmatched), this.input, times).catch(asCallProblem)
    const { trace } = results instanceof CallProblem ? results : results[0]
    if (unmatched.length > 0) throw new CallProblem(UNMATCHED, describeUnmatched(unmatched), trace)
    if (results instanceof CallProblem) throw results
    return results
  }

  /** Passes when the call succeeds or fails with an allowed error. @param what begins the message */
  async tolerates(egress: Egress, given: Json, what: string): Promise<null> {
    try {
      await this.call(egress, given)
    } catch (error) {
      if (!(error instanceof CallProblem)) throw error
      const isSlow = error.code === 'timeout' && error.trace.wallMs >= this.budget.wallMs
      if (!ALLOWED_CODES.has(error.code) || isSlow)
        throw new Error(`${what}, it ended with ${describeProblem(error)}${isSlow ? '' : EXPECTED}`)
    }
    return null
  }

  /** A check that needs a saved call with its fixtures. */
  withFixtures(name: string, run: (known: Fixtures) => Promise<string | null>): Check {
    const fixtures = this.#sample?.fixtures ?? null
    return { name, run: async () => (fixtures === null ? this.#advice : await run(fixtures)) }
  }

  /** A check against a failing service. */
  against(name: string, what: string, answer: () => EgressResponse): Check {
    const run = async () => {
      let requests = 0
      const egress: Egress = {
        local: ALL_LOCAL_SERVICES,
        async fetch(given, { rules }) {
          requests += 1
          checkAddress(readRequest(given).hop, rules)
          return answer()
        },
      }
      await this.tolerates(egress, this.input, what)
      return requests === 0 ? NO_REQUEST : null
    }
    return { name, run }
  }

  /** @param one noun for an item of the list */
  answersNoMore(list: string, one: string): Check {
    return this.withFixtures('respects the limit', async (known) => {
      const [{ answer }] = await this.call(nearly(known), this.inputWith({ limit: 1 }))
      const { length } = (answer as Record<string, unknown[]>)[list] ?? []
      if (length > 1) throw new Error(`The limit was 1 ${one}, and it returned ${length}. Cut the list to limit.`)
      return null
    })
  }
}

function checksOf(tested: TestedMethod): Check[] {
  const { method, kind } = tested
  const checks = commonChecks(tested)
  if (kind === 'search') checks.push(...searchChecks(tested))
  if (kind === 'match')
    checks.push(
      tested.withFixtures('handles a title in any script', (known) =>
        tested.tolerates(nearly(known), tested.inputWith({ title: UNICODE }), 'With such a title'),
      ),
    )
  if (kind === 'get' && method !== 'recommendations.get')
    checks.push(
      tested.withFixtures('returns the same answer twice', async (known) => {
        const [first, second] = await tested.callExactly(known, 2)
        if (!isDeepStrictEqual(first.answer, second?.answer))
          throw new Error('Two calls with the same identifier returned different answers.')
        return null
      }),
    )
  if (method === 'recommendations.get' || kind === 'refresh') checks.push(tested.answersNoMore('recommendations', 'recommendation'))
  return checks
}

function commonChecks(tested: TestedMethod): Check[] {
  return [
    tested.withFixtures(TYPED, async (known) => {
      const [{ trace }] = await tested.callExactly(known)
      const cpuMsMax = tested.budget.cpuMs * CPU_SHARE
      if (trace.cpuMs > cpuMsMax) throw new Error(`It computed for ${trace.cpuMs.toFixed(0)} ms; it should stay below ${cpuMsMax} ms.`)
      return null
    }),
    tested.against('handles a rate limit (429)', 'At status 429', () =>
      answerOf({ status: 429, headers: { 'retry-after': '60' }, body: '' }, ADDRESS),
    ),
    tested.against('handles a service that fails (500)', 'At status 500', () =>
      answerOf({ status: 500, body: 'Internal Server Error' }, ADDRESS),
    ),
    tested.against('handles a service that does not respond', 'Without a response', () =>
      refuseGuest('timeout', 'The service did not respond in time.'),
    ),
    tested.against('handles an unexpected response', 'At an HTML response', () =>
      answerOf({ headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>Maintenance</title>' }, ADDRESS),
    ),
  ]
}

function searchChecks(tested: TestedMethod): Check[] {
  return [
    tested.withFixtures('handles an empty query', (known) =>
      tested.tolerates(nearly(known), tested.inputWith({ query: '' }), 'With an empty query'),
    ),
    tested.withFixtures('handles a query in any script', (known) =>
      tested.tolerates(nearly(known), tested.inputWith({ query: UNICODE }), 'With such a query'),
    ),
    tested.answersNoMore('results', 'result'),
    tested.withFixtures('reaches the last page', (known) => turnPages(tested, known)),
  ]
}

/** @returns why the last page could not be reached with the fixtures, or null */
async function turnPages(tested: TestedMethod, known: Fixtures): Promise<string | null> {
  const seen = new Set<string>()
  let cursor: string | null | undefined
  for (let page = 1; page <= PAGES_MAX; page++) {
    const unmatched: string[] = []
    const given = cursor ? tested.inputWith({ cursor }) : tested.input
    const answer = await tested.call(replayEgress(openReplay(known), unmatched), given).then(
      ([{ answer }]) => answer,
      (error: unknown) => {
        if (unmatched.length > 0) return null
        throw error
      },
    )
    if (unmatched.length > 0) return page === 1 ? 'its fixtures do not match it' : `fixtures end after ${page - 1} of its pages`
    cursor = (answer as { nextCursor?: string | null }).nextCursor
    if (!cursor) return null
    if (seen.has(cursor)) throw new Error('It returned the same cursor twice, so a client would never reach the end.')
    seen.add(cursor)
  }
  return null
}

const ADDRESS = 'https://service.invalid/'

/** Replays matching fixtures, and else another response for the same path: of the right shape, whatever the query. */
function nearly(fixtures: Fixtures): Egress {
  const replay = openReplay(fixtures)
  const partOf = (url: string) => URL.parse(url)?.host + (URL.parse(url)?.pathname ?? '')
  return {
    local: ALL_LOCAL_SERVICES,
    async fetch(given, policy, signal) {
      const { hop } = readRequest(given)
      const near = fixtures.exchanges.find(
        ({ request, response }) =>
          response !== undefined && (request.method ?? 'GET') === hop.method && partOf(request.url) === partOf(hop.url.href),
      )
      const unmatched: string[] = []
      try {
        return await replayEgress(replay, unmatched).fetch(given, policy, signal)
      } catch (error) {
        if (unmatched.length > 0 && near?.response) return answerOf(near.response, hop.url.href)
        throw error
      }
    },
  }
}
