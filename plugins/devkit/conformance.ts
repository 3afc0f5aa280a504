import { isDeepStrictEqual } from 'node:util'
import { budgetOf } from '#plugins/host/plugin-program.ts'
import type { EgressResponse } from '#plugins/network/answer.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { checkAddress, readRequest, refuse } from '#plugins/network/request.ts'
import { methodsOf } from '#plugins/packages/manifest.ts'
import { permissionsOf } from '#plugins/packages/permissions.ts'
import type { Budget } from '#plugins/runtime/program.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import { type Fixtures, openReplay } from '../../plugin-sdk/fixtures.ts'
import type { Json } from '../../plugin-sdk/index.ts'
import { answerOf, openReplayEgress } from './host-answers.ts'
import { ALL_LOCAL_SERVICES } from './local-places.ts'
import { type Built, CallProblem, describeProblem, openSession } from './plugin-session.ts'
import type { SavedCall } from './saved-call.ts'
import type { Outcome } from './test-files.ts'

/** Inputs for functions of which nobody has saved a call. */
const SAMPLES: Readonly<Record<string, Json>> = {
  search: { query: 'Dune', limit: 5 },
  get: { externalId: '1' },
  match: { title: 'Dune' },
  'recommendations.get': { limit: 5, exclude: [] },
  refresh: { limit: 5 },
  dismiss: { externalId: '1', reason: null },
}

/** Which ways to fail are fine: they say of the service, or of the input, that it is so. */
const INNOCENT = new Set([
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
/** Titles that break what was only tried with English ones: other scripts, marks, signs of addresses and of patterns. */
const UNICODE = 'Les Misérables – 進撃の巨人 ΑΩ 100 % &?#"\'\\ [a+ 😀'
/** Nobody turns more pages than that. */
const PAGES_MAX = 20
/** Of what a call may compute: what needs more on a quiet machine, runs out of it on a busy one. */
const CPU_SHARE = 0.5

interface Check {
  name: string
  /** @returns why it was skipped, or null when it holds. @throws Error with what does not */
  run(): Promise<string | null>
}

export interface ConformanceOptions {
  built: Built
  supervisor: Supervisor
  calls: readonly SavedCall[]
}

const NOBODY_ASKED = 'it asked nobody'

/** What any plugin must stand, whatever it is for. */
export async function runConformance(options: ConformanceOptions, onOutcome: (outcome: Outcome) => void): Promise<void> {
  for (const method of methodsOf(options.built.manifest)) {
    for (const { name, run } of checksOf(new TestedMethod(method, options))) {
      const at = performance.now()
      let outcome: Pick<Outcome, 'state' | 'message'>
      try {
        const reason = await run()
        outcome = { state: reason === null ? 'passed' : 'skipped', message: reason }
      } catch (error) {
        outcome = { state: 'failed', message: error instanceof CallProblem ? describeProblem(error) : (error as Error).message }
      }
      onOutcome({ group: method, name, ...outcome, wallMs: performance.now() - at })
    }
  }
}

/** One function of a plugin, and the saved call that its checks start from. */
class TestedMethod {
  readonly method: string
  readonly kind: string
  readonly input: Json
  readonly #built: Built
  readonly #supervisor: Supervisor
  readonly #sample: SavedCall | undefined

  constructor(method: string, { built, supervisor, calls }: ConformanceOptions) {
    this.method = method
    this.kind = method.split('.').at(-1) ?? method
    this.#built = built
    this.#supervisor = supervisor
    this.#sample = calls.find((call) => call.method === method && call.fixtures !== null)
    this.input = this.#sample?.input ?? SAMPLES[method] ?? SAMPLES[this.kind] ?? null
  }

  get budget(): Budget {
    return budgetOf(permissionsOf(this.#built.manifest), this.method)
  }

  inputWith(change: Record<string, Json>): Json {
    return { ...(this.input as Record<string, Json>), ...change }
  }

  /** One call in a sandbox of its own. */
  async call(egress: Egress, given: Json, times = 1) {
    const { config = {}, userConfig = {}, library = [] } = this.#sample ?? {}
    const session = openSession(this.#supervisor, this.#built, { egress, config, userConfig, library })
    try {
      const results = []
      for (let turn = 0; turn < times; turn++) results.push(await session.call(this.method, given))
      return results as [(typeof results)[number], ...typeof results]
    } finally {
      session.close()
    }
  }

  /** Whether it fails in a way that is fine, or not at all. @param what begins the message */
  async stands(egress: Egress, given: Json, what: string): Promise<null> {
    try {
      await this.call(egress, given)
    } catch (error) {
      if (!(error instanceof CallProblem)) throw error
      const isSlow = error.code === 'timeout' && error.trace.wallMs >= this.budget.wallMs
      if (!INNOCENT.has(error.code) || isSlow) throw new Error(`${what} it ended with ${describeProblem(error)}`)
    }
    return null
  }

  /** A check that needs a saved call with its fixtures. */
  withFixtures(name: string, run: (known: Fixtures) => Promise<string | null>): Check {
    const fixtures = this.#sample?.fixtures ?? null
    return { name, run: async () => (fixtures === null ? 'save a call of it with fixtures, in calls/' : await run(fixtures)) }
  }

  /** Against a service that is in trouble. */
  against(name: string, what: string, answer: () => EgressResponse): Check {
    const run = async () => {
      let asked = 0
      const egress: Egress = {
        local: ALL_LOCAL_SERVICES,
        async fetch(given, { rules }) {
          asked += 1
          checkAddress(readRequest(given).hop, rules)
          return answer()
        },
      }
      await this.stands(egress, this.input, what)
      return asked === 0 ? NOBODY_ASKED : null
    }
    return { name, run }
  }

  /** @param one what the list holds */
  answersNoMore(list: string, one: string): Check {
    return this.withFixtures('answers no more than it was asked for', async (known) => {
      const [{ answer }] = await this.call(nearly(known), this.inputWith({ limit: 1 }))
      const { length } = (answer as Record<string, unknown[]>)[list] as unknown[]
      if (length > 1) throw new Error(`It was asked for 1 ${one} and answered ${length}: cut the list to limit.`)
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
      tested.withFixtures('stands a title in any script', (known) =>
        tested.stands(nearly(known), tested.inputWith({ title: UNICODE }), 'At it'),
      ),
    )
  if (kind === 'get' && method !== 'recommendations.get')
    checks.push(
      tested.withFixtures('answers the same when it is asked again', async (known) => {
        const [first, second] = await tested.call(exactly(known), tested.input, 2)
        if (!isDeepStrictEqual(first.answer, second?.answer)) throw new Error('Two calls with the same identifier answered two things.')
        return null
      }),
    )
  if (method === 'recommendations.get' || kind === 'refresh') checks.push(tested.answersNoMore('recommendations', 'recommendation'))
  return checks
}

function commonChecks(tested: TestedMethod): Check[] {
  return [
    tested.withFixtures('answers what its type says, with room in its budget', async (known) => {
      const [{ trace }] = await tested.call(exactly(known), tested.input)
      const cpuMsMax = tested.budget.cpuMs * CPU_SHARE
      if (trace.cpuMs > cpuMsMax) throw new Error(`It computed for ${trace.cpuMs.toFixed(0)} ms; more than ${cpuMsMax} leaves no room.`)
      return null
    }),
    tested.against('stands a service that asks to wait (429)', 'At 429', () =>
      answerOf({ status: 429, headers: { 'retry-after': '60' }, body: '' }, ADDRESS),
    ),
    tested.against('stands a service that fails (500)', 'At 500', () => answerOf({ status: 500, body: 'Internal Server Error' }, ADDRESS)),
    tested.against('stands a service that does not answer', 'Without an answer', () =>
      refuse('timeout', 'The service did not answer in time.'),
    ),
    tested.against('stands a service that answers something else', 'At an answer that is a page', () =>
      answerOf({ headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>Maintenance</title>' }, ADDRESS),
    ),
  ]
}

function searchChecks(tested: TestedMethod): Check[] {
  return [
    tested.withFixtures('stands an empty query', (known) =>
      tested.stands(nearly(known), tested.inputWith({ query: '' }), 'Without a query'),
    ),
    tested.withFixtures('stands a query in any script', (known) =>
      tested.stands(nearly(known), tested.inputWith({ query: UNICODE }), 'At it'),
    ),
    tested.answersNoMore('results', 'result'),
    tested.withFixtures('comes to a last page', (known) => turnPages(tested, known)),
  ]
}

/** @returns why it could not be followed to its end, or null */
async function turnPages(tested: TestedMethod, known: Fixtures): Promise<string | null> {
  const seen = new Set<string>()
  let cursor: string | null | undefined
  for (let page = 1; page <= PAGES_MAX; page++) {
    let isMissing = false
    const egress = openReplayEgress(openReplay(known), () => {
      isMissing = true
    })
    const given = cursor ? tested.inputWith({ cursor }) : tested.input
    const answer = await tested.call(egress, given).then(
      ([{ answer }]) => answer,
      (error: unknown) => {
        if (isMissing) return null
        throw error
      },
    )
    if (isMissing) return page === 1 ? 'its fixtures do not answer it' : `fixtures end after ${page - 1} of its pages`
    cursor = (answer as { nextCursor?: string | null }).nextCursor
    if (!cursor) return null
    if (seen.has(cursor)) throw new Error('It gave the same cursor twice: whoever follows it never ends.')
    seen.add(cursor)
  }
  return null
}

const ADDRESS = 'https://service.invalid/'

const exactly = (fixtures: Fixtures): Egress => openReplayEgress(openReplay(fixtures), () => {})

/** Answers what fits, and else what the same part of the service has once answered: of the right shape, whatever was asked for. */
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
      let isUnknown = false
      try {
        return await openReplayEgress(replay, () => {
          isUnknown = true
        }).fetch(given, policy, signal)
      } catch (error) {
        if (isUnknown && near?.response) return answerOf(near.response, hop.url.href)
        throw error
      }
    },
  }
}
