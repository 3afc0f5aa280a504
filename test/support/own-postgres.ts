import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Test } from 'tap'
import { launchPostgres, launchProgram } from '#core/embedded/launch-postgres.ts'
import { findPostgresRunner } from '#core/embedded/postgres-binaries.ts'
import { freePort } from '#test/support/free-port.ts'

const PORT_TRIES = 10
const START_MS_MAX = 120_000
/** `fast`: disconnects clients and writes the memory to disk. `immediate`: as after a power loss. */
const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const

export interface OwnPostgres {
  /** As in DATABASE_URL: for a role that owns its database and is not a superuser. */
  url: string
  /** As superuser, for which PostgreSQL reserves connections. */
  query(sql: string): Promise<Record<string, unknown>[]>
  stop(how: keyof typeof SIGNALS): Promise<void>
  start(): Promise<void>
}

/** A PostgreSQL server that is separate from Carrel, as an administrator runs it; tests can stop and start it. */
export async function openOwnPostgres(t: Test, settings: Record<string, string> = {}): Promise<OwnPostgres> {
  const room = await mkdtemp(path.join(os.tmpdir(), 'carrel-own-postgres-'))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  await chmod(room, 0o755)
  const runner = await findPostgresRunner(room)
  const cluster = path.join(room, 'cluster')
  await mkdir(cluster, { mode: 0o700 })
  if (runner.owner !== undefined) await chown(cluster, runner.owner, runner.owner)
  const locale = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--lc-collate=C', '--lc-messages=C', '--lc-ctype=C']
  const made = launchProgram(runner, 'initdb', [
    '-D',
    cluster,
    '-U',
    'postgres',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--no-instructions',
    ...locale,
  ])
  made.stdout?.resume()
  made.stderr?.resume()
  const [code] = await once(made, 'close')
  if (code !== 0) throw new Error(`initdb ended with ${code}`)

  let server: ChildProcess | null = null
  let port = 0
  const urlOf = (role: string, database: string) => `postgresql://${role}@127.0.0.1:${port}/${database}`
  const query = async (sql: string) => {
    const client = new pg.Client({ connectionString: urlOf('postgres', 'postgres') })
    // The connection ends if PostgreSQL stops meanwhile.
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end().catch(() => {})
    }
  }
  /** Returns whether PostgreSQL runs; false when the port is in use. */
  const launch = async (): Promise<boolean> => {
    const all = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '', fsync: 'off', ...settings }
    const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const child = launchPostgres(runner, cluster, ['-D', cluster, ...args])
    child.stdout?.resume()
    child.stderr?.resume()
    for (const until = Date.now() + START_MS_MAX; Date.now() < until && child.exitCode === null; await sleep(50)) {
      if (await query('SELECT 1').catch(() => null)) {
        server = child
        return true
      }
    }
    child.kill('SIGQUIT')
    return false
  }
  const stop = async (how: keyof typeof SIGNALS) => {
    const child = server
    server = null
    if (!child || child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill(SIGNALS[how])
    await ended
  }
  t.teardown(() => stop('immediate'))

  for (let tries = 0; server === null; tries++) {
    if (tries === PORT_TRIES) throw new Error('PostgreSQL did not start')
    port = await freePort()
    await launch()
  }
  await query('CREATE ROLE keeper LOGIN')
  await query('CREATE DATABASE books OWNER keeper')
  return {
    url: urlOf('keeper', 'books'),
    query,
    stop,
    start: async () => {
      if (!(await launch())) throw new Error('PostgreSQL did not start again')
    },
  }
}
