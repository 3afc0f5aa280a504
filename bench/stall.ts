/**
 * How long the server stands still over the worst input of every route and every function of a plugin, in a library whose records are as large as
 * their limits allow. Exits with 1 where anything stops it for longer than the bar, and where a route has no input.
 *   npm run bench:stall [-- --records 500 --runs 3 --only series/list --cpu]
 * `--cpu` judges by the time that the main thread computed, where other programs are at work.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { routes } from '#api/routes/index.ts'
import { median } from '#bench/load.ts'
import { type Ids, type Input, inputsOf, pluginInputs } from '#bench/stall/inputs.ts'
import { plantLibrary, RECORDS, writeFolder } from '#bench/stall/library.ts'
import { largePlugin } from '#bench/stall/plugin.ts'
import { ADMIN, type RunningServer, startServer } from '#test/support/running-server.ts'

const STALL_MS_MAX = 100
/** An answer that has not come by then, such as a stream of events. */
const ANSWER_MS = 30_000
const LIVE_MS = 500
/** What a task does after its request was answered is measured too. */
const AFTER_MS = 100
const NO_SESSION = /\/auth\/logout$/

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: String(RECORDS) },
    runs: { type: 'string', default: '3' },
    only: { type: 'string' },
    cpu: { type: 'boolean', default: false },
  },
})

interface Measured {
  input: Input
  stalls: Stall[]
  status: number | string
  bytes: number
}

/** The longest one: the time that passed, and the time that the main thread computed in one turn. */
interface Stall {
  worstMs: number
  worstCpuMs: number
}

/** Asks the probe; the server has other things to say on the same channel. */
async function ask(server: RunningServer, message: 'reset' | 'read'): Promise<Stall> {
  server.process.send(message)
  for (;;) {
    const [answer] = await once(server.process, 'message')
    if (answer.probe === message) return answer
  }
}

async function measure(
  server: RunningServer,
  input: Input,
  headers: Record<string, string>,
): Promise<{ stall: Stall; status: number | string; bytes: number }> {
  // A plugin that fails is left alone for a while.
  if (input.before) await server.post(input.before)
  await ask(server, 'reset')
  let status: number | string = 'none'
  let bytes = 0
  try {
    const answer = await fetch(server.url + input.path, {
      method: input.method,
      headers: { ...headers, ...input.headers },
      redirect: 'manual',
      signal: AbortSignal.timeout(input.path.includes('/live') ? LIVE_MS : ANSWER_MS),
      ...(input.body !== undefined && { body: input.body as string }),
    })
    status = answer.status
    const text = await answer.arrayBuffer()
    bytes = text.byteLength
    const refused = /"(?:error|message)":"(?!Lower)[^"]{0,120}/.exec(
      Buffer.from(text, 0, Math.min(bytes, 1_000))
        .toString()
        .replace(/^\{"error":"\w+",/, ''),
    )
    if (refused !== null && (answer.status >= 400 || input.route.startsWith('plugin'))) status = `${status} ${refused[0]}`
  } catch (error) {
    if ((error as Error).name !== 'TimeoutError' || !input.path.includes('/live')) status = (error as Error).name
  }
  await new Promise((resolve) => setTimeout(resolve, AFTER_MS))
  return { stall: await ask(server, 'read'), status, bytes }
}

async function prepare(server: RunningServer, folder: string, dataFolder: string): Promise<Ids> {
  const library = await plantLibrary(server, folder, dataFolder)
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(largePlugin())]), 'large.zip')
  const answer = await fetch(`${server.url}/api/v1/admin/plugins`, { method: 'POST', headers: server.headers, body: form })
  if (!answer.ok) throw new Error(`The plugin was not installed: ${await answer.text()}`)
  const { plugin, sha256 } = (await answer.json()) as { plugin: { id: string }; sha256: string }
  await server.post(`/api/v1/admin/plugins/${plugin.id}/consent`, { sha256 })
  await server.post(`/api/v1/user/plugins/${plugin.id}/enable`)
  const { id: userId } = await server.get<{ id: string }>('/api/v1/auth/me').catch(() => ({ id: '' }))
  return { ...library, pluginId: plugin.id, userId }
}

/** A session that may be ended. */
async function signIn(server: RunningServer): Promise<Record<string, string>> {
  const { accessToken } = await server.post<{ accessToken: string }>('/api/v1/auth/login', ADMIN)
  return { authorization: `Bearer ${accessToken}` }
}

/** What is judged: on a machine that does other things too the time that passed says little. */
const judged = ({ worstMs, worstCpuMs }: Stall) => (values.cpu ? worstCpuMs : worstMs)
const worstOf = ({ stalls }: Measured) => Math.max(...stalls.map(judged))

function show({ input, stalls, status, bytes }: Measured): string {
  const times = [
    Math.max(...stalls.map(({ worstMs }) => worstMs)),
    median(stalls.map(({ worstMs }) => worstMs)),
    Math.max(...stalls.map(({ worstCpuMs }) => worstCpuMs)),
  ]
  const sizes = `${(Buffer.byteLength(input.body ?? '') / 1e6).toFixed(2)} → ${(bytes / 1e6).toFixed(2)} MB`
  return `${times.map((ms) => ms.toFixed(0).padStart(7)).join(' ')}  ${String(status).padEnd(6)} ${sizes.padEnd(20)} ${input.route} (${input.what})`
}

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-stall-'))
const books = join(folder, 'books')
writeFolder(books, Number(values.records))
const server = await startServer({
  dataFolder: join(folder, 'data'),
  env: { CARREL_WATCHDOG_SECONDS: '0' },
  flags: ['--import', fileURLToPath(new URL('./stall/probe.ts', import.meta.url))],
})
const faults: string[] = []
const measured: Measured[] = []
try {
  console.log(`Planting ${values.records} books with the largest metadata …`)
  const ids = await prepare(server, books, join(folder, 'data'))
  console.log(`Planted after ${(performance.now() / 1_000).toFixed(0)} s.`)
  // The plugin first: some routes change or disable it.
  const inputs: Input[] = pluginInputs(ids)
  for (const route of routes) {
    const found = inputsOf(route, ids)
    if ('unknown' in found) faults.push(`${route.method} ${route.path} has no input: ${found.unknown}`)
    else inputs.push(...found)
  }
  console.log(`${inputs.length} inputs; those above ${STALL_MS_MAX} ms are shown as they come.`)
  // What takes away comes last.
  inputs.sort((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))
  for (const input of inputs.filter(({ route }) => route.includes(values.only ?? ''))) {
    const runs = []
    for (let run = 0; run < Number(values.runs); run++) {
      runs.push(await measure(server, input, NO_SESSION.test(input.path) ? await signIn(server) : server.headers))
    }
    const { status, bytes } = runs.at(-1)!
    measured.push({ input, stalls: runs.map(({ stall }) => stall), status, bytes })
    if (worstOf(measured.at(-1)!) > STALL_MS_MAX) console.log(show(measured.at(-1)!))
  }
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

console.log(
  `\n  worst  median     cpu  (ms of standing still over ${values.runs} runs, and of computing at a stretch; load of the machine: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')})`,
)
for (const one of measured.sort((a, b) => worstOf(b) - worstOf(a))) {
  console.log(show(one))
  if (worstOf(one) > STALL_MS_MAX) faults.push(`${one.input.route} (${one.input.what}) stood still for ${worstOf(one).toFixed(0)} ms`)
}
console.log(faults.length === 0 ? `\nNothing stood still for more than ${STALL_MS_MAX} ms.` : `\n${faults.join('\n')}`)
process.exit(faults.length === 0 ? 0 : 1)
