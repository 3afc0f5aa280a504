import { execFile, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { promisify } from 'node:util'
import { type Load, type LoadCounts, summaryOf } from '#bench/load.ts'
import { cpuSeconds } from '#bench/memory.ts'

export interface Target {
  port: number
  paths: readonly string[]
  headers: Record<string, string>
}

/** A client that costs less than what it measures. */
export interface LoadClient {
  /** What it is, for the output. */
  name: string
  load(target: Target, options: LoadOptions): Promise<ClientLoad>
  close(): void
}

interface LoadOptions {
  connections: number
  seconds: number
}

export interface ClientLoad extends Load {
  /** CPU time of the client as a share of one core: near 1, the client limits what is measured. */
  clientCores: number
}

/** Two keep up with any server of one thread. */
const PROCESSES_MAX = 2

/** wrk where the machine has it, else processes of our own. */
export function findLoadClient(): LoadClient {
  try {
    execFileSync('wrk', ['-v'], { stdio: 'ignore' })
  } catch (error) {
    // It prints its version and exits with 1.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return { name: 'processes of our own', load: (target, options) => counting(() => loadByProcesses(target, options)), close: () => {} }
  }
  const folder = mkdtempSync(join(tmpdir(), 'carrel-wrk-'))
  return {
    name: 'wrk',
    load: (target, options) => counting(() => loadByWrk(folder, target, options)),
    close: () => rmSync(folder, { recursive: true }),
  }
}

/** The client is a child of this process, and has ended when `load` resolves. */
async function counting(load: () => Promise<Load>): Promise<ClientLoad> {
  const before = cpuSeconds('self', { ofEnded: true })
  const startedAt = performance.now()
  const result = await load()
  return { ...result, clientCores: ((cpuSeconds('self', { ofEnded: true }) - before) * 1000) / (performance.now() - startedAt) }
}

async function loadByProcesses({ port, paths, headers }: Target, { connections, seconds }: LoadOptions): Promise<Load> {
  const processes = Math.min(PROCESSES_MAX, availableParallelism(), connections)
  const counts = Array.from({ length: processes }, async (_, index) => {
    const child = fork(new URL('load-process.ts', import.meta.url), { serialization: 'advanced' })
    const ended = once(child, 'exit')
    const own = Math.floor(connections / processes) + (index < connections % processes ? 1 : 0)
    // Each begins elsewhere, so that they do not ask for the same at the same time.
    const at = Math.floor((paths.length * index) / processes)
    child.send({ port, headers, paths: [...paths.slice(at), ...paths.slice(0, at)], connections: own, seconds })
    const [counted] = (await once(child, 'message')) as [LoadCounts]
    await ended
    return counted
  })
  return summaryOf(await Promise.all(counts))
}

/** A script that takes the paths in turn, and prints one line of JSON at the end. */
const scriptOf = ({ paths, headers }: Target): string => `
local paths = {${paths.map((path) => JSON.stringify(path)).join(',')}}
local at = 0
${Object.entries(headers)
  .map(([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`)
  .join('\n')}
request = function() at = at % #paths + 1; return wrk.format("GET", paths[at]) end
done = function(summary, latency, requests)
  local errors = summary.errors
  print(string.format('JSON{"requests":%d,"us":%d,"bytes":%d,"p50":%d,"p99":%d,"status":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d}',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect, errors.read, errors.write, errors.timeout))
end
`

async function loadByWrk(folder: string, target: Target, { connections, seconds }: LoadOptions): Promise<Load> {
  const script = join(folder, 'requests.lua')
  writeFileSync(script, scriptOf(target))
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', script, `http://127.0.0.1:${target.port}/`]
  const { stdout } = await promisify(execFile)('wrk', options)
  const found = /JSON(\{.*\})/.exec(stdout)
  if (!found) throw new Error(`wrk printed no figures:\n${stdout}`)
  const { requests, us, bytes, p50, p99, ...errors } = JSON.parse(found[1] as string) as Record<string, number>
  const kinds = Object.entries(errors).filter(([, count]) => count > 0)
  const elapsed = (us as number) / 1e6
  return {
    requestsPerSecond: (requests as number) / elapsed,
    p50Ms: (p50 as number) / 1000,
    p99Ms: (p99 as number) / 1000,
    bytesPerSecond: (bytes as number) / elapsed,
    failures: kinds.reduce((sum, [, count]) => sum + count, 0),
    // wrk does not tell the address; "timeout" is an answer that came after its two seconds.
    failed: kinds.map(([kind, count]) => `${kind}: ${count}`),
  }
}
