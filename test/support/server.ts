import { randomBytes } from 'node:crypto'
import http from 'node:http'
import net from 'node:net'
import type { Knex } from 'knex'
import type { Test } from 'tap'
import type { Route } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'
import { Server, type ServerOptions } from '#api/server.ts'
import { Accounts } from '#core/account/accounts.ts'
import type { PasswordCost } from '#core/account/password.ts'
import { type Log, silentLog } from '#core/foundation/log.ts'
import { readSettings } from '#core/settings/read-settings.ts'
import type { Settings } from '#core/settings/settings.ts'
import { complaintsOf } from '#test/support/answer-check.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { findRules } from '#test/support/supervisor.ts'

export const ADMIN = { username: 'ada', email: 'ada@example.org', password: 'correct horse 1' }

/** The least that Argon2id takes. A hash at the cost of the server takes 40 ms of a core, and tests make thousands of users. */
export const TEST_PASSWORD_COST: PasswordCost = { memory: 8, passes: 1, parallelism: 1 }

const DEFAULTS = readSettings({ argv: [], env: {}, cwd: '/nonexistent' })

/** The default settings, except: no log, a free port, no rate limits, little memory, and a known key. */
export function testSettings(change: Partial<Settings> = {}): Settings {
  return {
    ...DEFAULTS,
    dataFolder: '/nonexistent',
    port: 0,
    workers: 1,
    rateLimit: { ...DEFAULTS.rateLimit, enabled: false },
    pageCacheBytesMax: 1_000_000,
    analysisDeadlineMs: 10_000,
    workerMemoryMbMax: 256,
    purgeAfterSeconds: 86_400,
    watchdogMs: 0,
    // Their files are new, and complete.
    quietMs: 0,
    watch: false,
    log: { level: 'silent', format: 'json' },
    plugins: { ...DEFAULTS.plugins, secretKeys: ['a key of tests, which has thirty-two bytes and more'.replaceAll(' ', '-')] },
    ...change,
  }
}

/** Health checks that succeed, for tests that do not test /health. */
export const HEALTHY = {
  databaseState: async () => 'ok',
  diskState: async () => 'ok',
  poolHealthy: () => true,
  dataFolderProblem: () => null,
} as const

export interface Answer<T = unknown> {
  status: number
  headers: Headers
  text: string
  /** The body parsed as JSON; undefined when it is not JSON. */
  json: T
}

export interface Ask {
  /** Bearer token or API key. */
  token?: string
  headers?: Record<string, string>
  /** Sent as JSON. */
  body?: unknown
}

export interface TestServer {
  url: string
  port: number
  server: Server
  services: Services
  accounts: Accounts
  database: Knex
  /** The token of the first administrator; empty when there is none. */
  adminToken: string
  adminId: string
  request<T = never>(method: string, path: string, ask?: Ask): Promise<Answer<T>>
  /** Creates a user and signs in. */
  signUp(user: {
    username: string
    role?: 'reader' | 'maintainer' | 'admin'
    permissions?: string[]
  }): Promise<{ id: string; token: string }>
  /** Sends raw bytes; returns all received bytes when the server closes the connection or `waitMs` have passed. */
  raw(text: string | Buffer, options?: { waitMs?: number; address?: string }): Promise<string>
}

/**
 * The real server on a free port, with real accounts in a new database. Creates the first administrator unless `admin: false`.
 * @param options.services other services for the tested routes; any missing service throws when it is used
 */
export async function openTestServer(
  t: Test,
  options: {
    settings?: Partial<Settings>
    routes?: readonly Route<Services>[]
    services?: (parts: { database: Knex; settings: Settings; accounts: Accounts }) => Partial<Services>
    server?: Omit<ServerOptions, 'routes'>
    admin?: boolean
    log?: Log
    passwordCost?: PasswordCost
  } = {},
): Promise<TestServer> {
  const { database } = await openTestDatabase(t)
  const settings = testSettings(options.settings)
  // A response with status 500 hides its cause from the client; the test output must show it.
  const log = options.log ?? { ...silentLog, error: (fields: object, message: string) => t.comment(message, fields) }
  const { passwordCost = TEST_PASSWORD_COST } = options
  const accounts = new Accounts({ database, settings, tokenKey: randomBytes(32), passwordCost, log })
  const given = {
    ...{ settings, log, database, accounts, rules: findRules(), ...HEALTHY },
    ...options.services?.({ database, settings, accounts }),
  }
  const services = new Proxy(given, {
    get(target, name) {
      if (name in target) return target[name as keyof typeof target]
      throw new Error(`This test server was opened without services.${String(name)}`)
    },
  }) as Services
  const admin = options.admin === false ? null : await accounts.initialize(ADMIN)
  const server = new Server(services, { ...options.server, ...(options.routes && { routes: options.routes }) })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const port = Number(new URL(url).port)
  t.teardown(async () => {
    await server.close({ deadlineMs: 500 })
    await accounts.close()
  })

  const request: TestServer['request'] = async (method, path, ask = {}) => {
    const answer = await fetch(url + path, {
      method,
      headers: {
        ...(ask.token && { authorization: `Bearer ${ask.token}` }),
        ...(ask.body !== undefined && { 'content-type': 'application/json' }),
        ...ask.headers,
      },
      redirect: 'manual',
      ...(ask.body !== undefined && { body: JSON.stringify(ask.body) }),
    })
    const text = await answer.text()
    const json = readJson(text)
    const complaints = complaintsOf({ method, path, status: answer.status, json }, options.routes)
    if (complaints.length > 0) t.fail(`${method} ${path} → ${answer.status} does not match its schema`, { complaints, json })
    return { status: answer.status, headers: answer.headers, text, json: json as never }
  }

  return {
    url,
    port,
    server,
    services,
    accounts,
    database,
    adminToken: admin?.accessToken ?? '',
    adminId: admin?.user.id ?? '',
    request,
    async signUp({ username, role, permissions }) {
      const password = `${username} has a password`
      const user = await accounts.createUser(
        { username, email: `${username}@example.org`, password, ...(role && { role }), ...(permissions && { permissions }) },
        null,
      )
      const { accessToken } = await accounts.login({ username, password, address: '127.0.0.1' })
      return { id: user.id, token: accessToken }
    },
    raw: (text, { waitMs = 30_000, address } = {}) =>
      new Promise((resolve) => {
        const socket = net.connect({ port, host: '127.0.0.1', ...(address && { localAddress: address }) }, () => socket.write(text))
        let answer = ''
        const timer = setTimeout(() => socket.destroy(), waitMs)
        socket.on('data', (chunk) => {
          answer += chunk.toString('latin1')
        })
        socket.on('error', () => {})
        socket.on('close', () => {
          clearTimeout(timer)
          resolve(answer)
        })
      }),
  }
}

/** Sends GET and exposes what fetch hides: bytes, raw headers, and closing the connection early. */
export function get(
  url: string,
  options: { method?: string; headers?: Record<string, string>; agent?: http.Agent } = {},
): Promise<{ status: number; headers: http.IncomingHttpHeaders; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const request = http.request(
      url,
      { method: options.method ?? 'GET', headers: options.headers ?? {}, ...(options.agent && { agent: options.agent }) },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(chunks) }))
      },
    )
    request.on('error', reject)
    request.end()
  })
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
