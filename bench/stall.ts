/**
 * How long the worst input of every route and every function of a plugin blocks the event loop of the server, in a library whose records are as large
 * as their limits allow. Exits with 1 if an input blocks it for longer than the bar, or a route has no input.
 *   npm run bench:stall [-- --records 500 --runs 3 --only series/list --only covers --every 10 --minutes 30 --cpu]
 * `--only` takes the inputs whose route or name contains a text, `--every 10` each tenth of them. `--cpu` compares the computing time of the main
 * thread instead, for machines with other load. Inputs that are far from the bar in their first run are not repeated. After `--minutes` it stops,
 * and reports how many inputs it has not measured.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { routes } from '#api/routes.ts'
import { median } from '#bench/load.ts'
import { createFixtures } from '#bench/stall/fixtures.ts'
import { type Input, inOrder, inputsOf, pluginInputs } from '#bench/stall/inputs.ts'
import { createLibrary, RECORDS, writeFolder } from '#bench/stall/library.ts'
import { awaitIdle } from '#bench/stall/tasks.ts'
import { ADMIN, type RunningServer, startServer } from '#test/support/running-server.ts'

const STALL_MS_MAX = 100
/** Timeout of a response. The largest have 200 MB. */
const ANSWER_MS = 60_000
const LIVE_MS = 500
/** Streams of events. */
const ENDLESS = /\/(live|stream|events)(\?|$)/
/** Work after the response, such as tasks, is measured too. */
const AFTER_MS = 100
/** Inputs whose first figure is below this share of the bar are not repeated: three quarters of all, and two thirds of the time. */
const REPEATED_SHARE = 0.3
const SLOWEST_SHOWN = 10
const NO_SESSION = /\/logout$/

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: String(RECORDS) },
    runs: { type: 'string', default: '3' },
    only: { type: 'string', multiple: true, default: [''] },
    every: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '30' },
    cpu: { type: 'boolean', default: false },
  },
})

interface Measured {
  input: Input
  stalls: Stall[]
  status: number | string
  bytes: number
  /** Time to measure it, with its preparation and tasks. */
  tookMs: number
  /** Why the first request was refused, so that it measured little; null if it succeeded. */
  refusal: string | null
}

type Answer = Pick<Measured, 'status' | 'bytes' | 'refusal'>

/** The longest block of the event loop, the longest computing time of the main thread in one turn, and the longest garbage collection. */
interface Stall {
  worstMs: number
  worstCpuMs: number
  worstGarbageMs: number
  /** The kind of that collection. */
  garbage: string
}

/** Sends a message to the probe and returns its answer; the server sends other messages on the same channel. */
async function callProbe(server: RunningServer, message: 'reset' | 'read'): Promise<Stall> {
  const ended = new AbortController()
  const exit = once(server.process, 'exit', ended).then(
    () => Promise.reject(new Error(`The server has ended:\n${server.output().slice(-4_000)}`)),
    () => new Promise<never>(() => {}),
  )
  server.process.send(message)
  try {
    for (;;) {
      const [answer] = await Promise.race([once(server.process, 'message', ended), exit])
      if (answer.probe === message) return answer
    }
  } finally {
    ended.abort()
  }
}

/** The error message in the beginning of a response; null for a success. A failed plugin call has the status of a success. */
function refusalOf(status: number, answer: ArrayBuffer, input: Input): string | null {
  if (status < 400 && !input.route.startsWith('plugin')) return null
  const text = Buffer.from(answer, 0, Math.min(answer.byteLength, 1_000)).toString()
  if (status < 400 && !text.startsWith('{"success":false')) return null
  const { message, error } =
    /"message":"(?<message>(?:[^"\\]|\\.){0,160})/.exec(text)?.groups ?? /"error":"(?<error>[^"]{0,160})/.exec(text)?.groups ?? {}
  return message ?? error ?? text.slice(0, 160)
}

/** Sends one request and waits until all of its work has ended. */
async function measureOnce(server: RunningServer, input: Input): Promise<Answer & { stall: Stall }> {
  const prepared = await input.prepare?.(server)
  const headers = NO_SESSION.test(input.path) ? await signIn(server) : server.headers
  const { path, body, headers: own } = { ...input, ...prepared }
  await callProbe(server, 'reset')
  const measured: Answer = { status: 'none', bytes: 0, refusal: null }
  try {
    const answer = await fetch(server.url + path, {
      method: input.method,
      headers: { ...headers, ...own },
      redirect: 'manual',
      signal: AbortSignal.timeout(ENDLESS.test(path) ? LIVE_MS : ANSWER_MS),
      ...(body !== undefined && { body: body as string }),
    })
    measured.status = answer.status
    const text = await answer.arrayBuffer()
    measured.bytes = text.byteLength
    measured.refusal = refusalOf(answer.status, text, input)
  } catch (error) {
    if ((error as Error).name !== 'TimeoutError' || !ENDLESS.test(path)) measured.status = (error as Error).name
  }
  await new Promise((resolve) => setTimeout(resolve, AFTER_MS))
  if (measured.status !== 404) await awaitIdle(server)
  return { stall: await callProbe(server, 'read'), ...measured }
}

async function measure(server: RunningServer, input: Input): Promise<Measured> {
  const begunAt = performance.now()
  const { stall, ...first } = await measureOnce(server, input)
  const stalls = [stall]
  if (figureOf(stall) > REPEATED_SHARE * STALL_MS_MAX)
    while (stalls.length < Number(values.runs)) stalls.push((await measureOnce(server, input)).stall)
  return { input, stalls, ...first, tookMs: performance.now() - begunAt }
}

/** A session of its own, which the request ends. */
async function signIn(server: RunningServer): Promise<Record<string, string>> {
  const { accessToken } = await server.post<{ accessToken: string }>('/api/v1/auth/login', ADMIN)
  return { authorization: `Bearer ${accessToken}` }
}

/** The figure that must meet the bar: on a machine with other load, elapsed time says little. */
const figureOf = ({ worstMs, worstCpuMs }: Stall) => (values.cpu ? worstCpuMs : worstMs)
const worstOf = ({ stalls }: Measured) => Math.max(...stalls.map(figureOf))

const nameOf = ({ route, what }: Input) => `${route} (${what})`

function show({ input, stalls, status, bytes, refusal }: Measured): string {
  const garbage = stalls.toSorted((a, b) => b.worstGarbageMs - a.worstGarbageMs)[0]?.garbage ?? ''
  const times = [
    Math.max(...stalls.map(({ worstMs }) => worstMs)),
    median(stalls.map(({ worstMs }) => worstMs)),
    Math.max(...stalls.map(({ worstCpuMs }) => worstCpuMs)),
    Math.max(...stalls.map(({ worstGarbageMs }) => worstGarbageMs)),
  ]
  const sizes = `${(Buffer.byteLength(input.body ?? '') / 1e6).toFixed(2)} → ${(bytes / 1e6).toFixed(2)} MB`
  const why = refusal === null ? '' : ` "${refusal}"`
  return `${times.map((ms) => ms.toFixed(0).padStart(7)).join(' ')} ${garbage.padEnd(12)} ${String(status).padEnd(6)} ${sizes.padEnd(20)} ${nameOf(input)}${why}`
}

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-stall-'))
const books = join(folder, 'books')
writeFolder(books, Number(values.records))
const server = await startServer({
  dataFolder: join(folder, 'data'),
  env: { CARREL_WATCHDOG_SECONDS: '0' },
  flags: ['--import', fileURLToPath(new URL('./stall/probe.ts', import.meta.url))],
})
const errors: string[] = []
const measured: Measured[] = []
try {
  console.log(`Creating ${values.records} books with the largest metadata …`)
  const dataFolder = join(folder, 'data')
  const ids = await createFixtures(server, await createLibrary(server, books, dataFolder), dataFolder)
  console.log(`Created after ${(performance.now() / 1_000).toFixed(0)} s.`)
  // The plugin first: some routes change or disable it.
  const inputs: Input[] = pluginInputs(ids)
  for (const route of routes) {
    const found = inputsOf(route, ids)
    if ('unknown' in found) errors.push(`${route.method} ${route.path} has no input: ${found.unknown}`)
    else inputs.push(...found)
  }
  console.log(`${inputs.length} inputs; those above ${STALL_MS_MAX} ms are printed immediately.`)
  const chosen = inOrder(inputs)
    .filter((input) => values.only.some((text) => nameOf(input).includes(text)))
    .filter((_, index) => index % Number(values.every) === 0)
  const until = performance.now() + Number(values.minutes) * 60_000
  for (const input of chosen) {
    if (performance.now() > until) break
    const one = await measure(server, input)
    measured.push(one)
    if (worstOf(one) > STALL_MS_MAX) console.log(show(one))
  }
  if (measured.length < chosen.length)
    errors.push(`${chosen.length - measured.length} of ${chosen.length} inputs were not measured within ${values.minutes} minutes.`)
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

console.log(
  `\n  worst  median     cpu garbage  (ms of blocked event loop over ${values.runs} runs, of computing in one turn, of one garbage collection; load of the machine: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')})`,
)
for (const one of measured.sort((a, b) => worstOf(b) - worstOf(a))) {
  console.log(show(one))
  if (worstOf(one) > STALL_MS_MAX) errors.push(`${nameOf(one.input)} blocked the event loop for ${worstOf(one).toFixed(0)} ms`)
}

const refused = measured.filter(({ refusal }) => refusal !== null)
const unexpected = refused.filter(({ input }) => input.mayBeRefused === undefined)
const list = (found: Measured[]) => found.map(({ input, status, refusal }) => `  ${status} ${nameOf(input)}: ${refusal}`).join('\n')
if (refused.length > unexpected.length) console.log(`\nRefused as expected:\n${list(refused.filter((one) => !unexpected.includes(one)))}`)
if (unexpected.length > 0) console.log(`\nRefused unexpectedly, so that they measured little:\n${list(unexpected)}`)
const slowest = measured.toSorted((a, b) => b.tookMs - a.tookMs).slice(0, SLOWEST_SHOWN)
console.log(
  `\nSlowest to measure:\n${slowest.map(({ input, tookMs }) => `  ${(tookMs / 1_000).toFixed(1)} s ${nameOf(input)}`).join('\n')}`,
)
console.log(`\n${measured.length} inputs, ${refused.length} refused, ${unexpected.length} of them unexpectedly.`)
console.log(errors.length === 0 ? `\nNothing blocked the event loop for more than ${STALL_MS_MAX} ms.` : `\n${errors.join('\n')}`)
process.exit(errors.length === 0 && unexpected.length === 0 ? 0 : 1)
