import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { NODE_FLAGS, tunedEnvironment } from '#api/node-tuning.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
export const ADMIN = { username: 'ada', password: 'Correct-horse-1' }

export interface RunningServer {
  url: string
  port: number
  pid: number
  process: ChildProcess
  /** Bearer header of the first admin. */
  headers: Record<string, string>
  get<T>(path: string): Promise<T>
  post<T>(path: string, body?: unknown): Promise<T>
  /** Peak resident memory of the server process in MB, without PostgreSQL, which has its own processes. */
  peakRssMb(): number
  /** Sends SIGTERM; returns the exit code. */
  stop(): Promise<number | null>
  /** Sends SIGKILL to the server process only: PostgreSQL and all other processes continue. */
  kill(): Promise<void>
  /** Its whole output so far. */
  output(): string
}

/** Starts the real server as a separate process on a free port, or on a given one, without rate limits: tests measure or probe its work. */
export async function startServer(options: {
  dataFolder: string
  port?: number
  args?: string[]
  env?: Record<string, string>
  /** Options of Node, such as a module to load first, which may send messages over the channel of the process. */
  flags?: string[]
}): Promise<RunningServer> {
  const child: ChildProcess = spawn(
    process.execPath,
    // The command line of api/launch.mjs.
    [
      ...NODE_FLAGS,
      ...(options.flags ?? []),
      `${root}api/main.ts`,
      '--data-dir',
      options.dataFolder,
      '--port',
      String(options.port ?? 0),
      ...(options.args ?? []),
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe', ...(options.flags ? (['ipc'] as const) : [])],
      env: {
        ...tunedEnvironment(process.env),
        CARREL_ADMIN_USERNAME: ADMIN.username,
        CARREL_ADMIN_PASSWORD: ADMIN.password,
        CARREL_RATE_LIMIT: 'false',
        // Its books are new, and complete.
        CARREL_QUIET_SECONDS: '0',
        CARREL_WATCH: 'false',
        // A build beside it would be measured as well.
        CARREL_WEB_BUILD: 'false',
        ...options.env,
      },
    },
  )
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const match = /https?:\/\/127\.0\.0\.1:\d+/.exec(output)
      if (match) resolve(match[0])
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
    child.once('exit', (code) => reject(new Error(`the server ended with code ${code} before it listened:\n${output}`)))
    sleep(60_000, undefined, { ref: false }).then(() => reject(new Error(`the server did not listen within 60 s:\n${output}`)))
  })
  const call = async <T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> => {
    const answer = await fetch(url + path, {
      method,
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as T
  }
  const { accessToken } = await call<{ accessToken: string }>('POST', '/api/v1/auth/login', ADMIN)
  const headers = { authorization: `Bearer ${accessToken}` }
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid as number,
    process: child,
    headers,
    get: (path) => call('GET', path, undefined, headers),
    post: (path, body) => call('POST', path, body, headers),
    peakRssMb: () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      return ended
    },
    kill: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
    },
    output: () => output,
  }
}

export interface ScanState {
  status: string
  filesTotal: number
  filesProcessed: number
  booksFound: number
  pendingAnalysis: number
  startedAt: string
  completedAt?: string | null
  errors: string[]
}

/** Waits until the scan has ended and, with `analyzed`, until no book is waiting for its analysis. */
export async function awaitScan(
  server: Pick<RunningServer, 'get'>,
  libraryId: string,
  options: { analyzed: boolean; timeoutMs: number; pollMs?: number; since?: string },
): Promise<ScanState> {
  const deadline = Date.now() + options.timeoutMs
  for (;;) {
    const state = await server.get<ScanState>(`/api/v1/libraries/${libraryId}/scan-status`)
    const ended = ['completed', 'failed', 'cancelled'].includes(state.status) && (!options.since || state.startedAt >= options.since)
    if (ended && (!options.analyzed || state.pendingAnalysis === 0)) return state
    if (Date.now() > deadline) throw new Error(`the scan did not end in ${options.timeoutMs} ms: ${JSON.stringify(state)}`)
    await sleep(options.pollMs ?? 100)
  }
}
