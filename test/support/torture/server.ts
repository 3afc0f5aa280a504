import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { ADMIN, type RunningServer, startServer } from '#test/support/running-server.ts'
import type { LibraryName } from '#test/support/torture/tree.ts'

/** A book as an administrator sees it. */
export interface SeenBook {
  id: string
  library: LibraryName
  libraryId: string
  seriesId: string
  seriesName: string
  title: string
  filePath: string
  fileHash: string
  pageCount: number
  deleted: boolean
  missing: { why: 'file' | 'folder' | 'withheld' } | null
  isRotten: boolean
  readProgress: { currentPage: number; completed: boolean } | null
}

export interface SeenScan {
  taskId: string | null
  status: string
  pendingAnalysis: number
  errors: string[]
  withheld?: { folder: string; reason: string }[]
}

const RESTRICTED = { username: 'grace', password: 'A long enough password' }
/** A look at the tasks takes half a millisecond of a core. */
const LOOK_MS = 5
const SETTLED_WITHIN_MS = 60_000
const OPEN_TASKS = `SELECT type, status, attempts, last_error FROM tasks WHERE status IN ('pending', 'processing') LIMIT 5`
const PAGE = 500
const LINES_LENGTH = 4_000

interface Given {
  dataFolder: string
  /** Of the server alone; that of the tests is in memory, and it is no part of what is killed. */
  database: Knex
  url: string
}

/** The real server as a process of its own, which can be killed, an administrator who reads in it, and somebody to whom series with a tag are denied. */
export class TestedServer {
  readonly #given: Given
  #server: RunningServer | undefined
  #restrictedToken = ''
  #tagId = ''

  constructor(given: Given) {
    this.#given = given
  }

  async start(): Promise<void> {
    const { dataFolder, url } = this.#given
    this.#server = await startServer({ dataFolder, args: ['--workers', '1'], env: { DATABASE_URL: url } })
  }

  async kill(): Promise<void> {
    await this.#server?.kill()
    await this.start()
  }

  /** What it has said last, such as why a scan failed. */
  lastLines(): string {
    return this.#server?.output().slice(-LINES_LENGTH) ?? ''
  }

  async stop(): Promise<void> {
    await this.#server?.stop()
  }

  /** Makes the restricted user, and the tag that is denied to them. */
  async prepare(): Promise<void> {
    this.#tagId = (await this.ask<{ id: string }>('POST', 'admin/sharing-tags', { name: 'denied' })).id
    const user = await this.ask<{ id: string }>('POST', 'users', { ...RESTRICTED, email: 'grace@example.org', role: 'reader' })
    await this.ask('PUT', `users/${user.id}/sharing-tags`, { sharingTagId: this.#tagId, accessMode: 'deny' })
  }

  /** Tokens expire within a long run. */
  async signIn(): Promise<void> {
    this.#restrictedToken = (await this.ask<{ accessToken: string }>('POST', 'auth/login', RESTRICTED)).accessToken
    const { accessToken } = await this.ask<{ accessToken: string }>('POST', 'auth/login', ADMIN)
    if (this.#server) this.#server.headers['authorization'] = `Bearer ${accessToken}`
  }

  /** @throws Error with the answer, unless it is a success */
  async ask<T = unknown>(method: string, path: string, body?: unknown, token?: string): Promise<T> {
    const { url, headers } = this.#server as RunningServer
    const answer = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers: {
        ...headers,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 500)}`)
    return (text === '' ? null : JSON.parse(text)) as T
  }

  async addLibrary(name: string, path: string): Promise<string> {
    const body = {
      name,
      path,
      seriesStrategy: 'series_volume',
      scanImmediately: false,
      scanningConfig: { enabled: false, scanMode: 'normal', scanOnStart: false },
    }
    return (await this.ask<{ id: string }>('POST', 'libraries', body)).id
  }

  /** Starts a scan; when it has ended, {@link settle} tells. */
  async startScan(libraryId: string, query: string): Promise<void> {
    await this.ask('POST', `libraries/${libraryId}/scan?${query}`)
  }

  async cancelScan(libraryId: string): Promise<void> {
    await this.ask('POST', `libraries/${libraryId}/scan/cancel`)
  }

  /** Waits until no task waits or runs; the states of the last scans of the libraries. */
  async settle(libraryIds: readonly string[]): Promise<SeenScan[]> {
    const deadline = Date.now() + SETTLED_WITHIN_MS
    for (;;) {
      const { rows } = await this.#given.database.raw(OPEN_TASKS)
      const states = rows.length > 0 ? [] : await Promise.all(libraryIds.map((id) => this.#scanOf(id)))
      if (rows.length === 0 && states.every(({ status }) => status !== 'pending' && status !== 'processing')) return states
      if (Date.now() > deadline) throw new Error(`Tasks have not ended after ${SETTLED_WITHIN_MS} ms: ${JSON.stringify(rows)}`)
      await sleep(LOOK_MS)
    }
  }

  async #scanOf(libraryId: string): Promise<SeenScan> {
    return await this.ask<SeenScan>('GET', `libraries/${libraryId}/scan-status`)
  }

  /** Of all libraries. */
  async listBooks(): Promise<Omit<SeenBook, 'library'>[]> {
    const [{ data }, { groups }] = await Promise.all([
      this.ask<{ data: Omit<SeenBook, 'isRotten' | 'library'>[] }>('GET', `books?includeDeleted=true&pageSize=${PAGE}`),
      this.ask<{ groups: { books: { book: { id: string } }[] }[] }>('GET', `books/errors?pageSize=${PAGE}`),
    ])
    const rotten = new Set(groups.flatMap(({ books }) => books.map(({ book }) => book.id)))
    return data.map((book) => ({ ...book, isRotten: rotten.has(book.id) }))
  }

  /** The ids of the books that the restricted user sees. */
  async listVisible(): Promise<Set<string>> {
    const { data } = await this.ask<{ data: { id: string }[] }>('GET', `books?pageSize=${PAGE}`, undefined, this.#restrictedToken)
    return new Set(data.map(({ id }) => id))
  }

  async listRatings(): Promise<Map<string, number>> {
    const { ratings } = await this.ask<{ ratings: { seriesId: string; rating: number }[] }>('GET', 'user/ratings')
    return new Map(ratings.map(({ seriesId, rating }) => [seriesId, rating]))
  }

  async setTagged(seriesId: string, isTagged: boolean): Promise<void> {
    await this.ask('PUT', `series/${seriesId}/sharing-tags`, { sharingTagIds: isTagged ? [this.#tagId] : [] })
  }
}
