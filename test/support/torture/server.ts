import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '#test/support/library-fixture.ts'
import { ADMIN, type RunningServer, startServer } from '#test/support/running-server.ts'
import type { LibraryName } from '#test/support/torture/tree.ts'

/** A book as an administrator sees it. */
export interface SeenBook {
  id: string
  library: LibraryName
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
const LOOK_MS = 15
const PAGE = 500

/** The real server as a process of its own, which can be killed, an administrator who reads in it, and somebody to whom series with a tag are denied. */
export class TestedServer {
  readonly #dataFolder: string
  #server: RunningServer | undefined
  #restrictedToken = ''
  #tagId = ''

  constructor(dataFolder: string) {
    this.#dataFolder = dataFolder
  }

  async start(): Promise<void> {
    this.#server = await startServer({ dataFolder: this.#dataFolder, args: ['--workers', '1'] })
  }

  async kill(): Promise<void> {
    await this.#server?.kill()
    await this.start()
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

  /** Waits until no task waits or runs; the state of the last scan of the library. */
  async settle(libraryId: string): Promise<SeenScan> {
    return await until(async () => {
      await sleep(LOOK_MS)
      const { pending, processing } = await this.ask<{ pending: number; processing: number }>('GET', 'tasks/stats')
      if (pending + processing > 0) return null
      const status = await this.ask<SeenScan>('GET', `libraries/${libraryId}/scan-status`)
      return status.status !== 'pending' && status.status !== 'processing' && status
    })
  }

  async listBooks(libraryId: string): Promise<Omit<SeenBook, 'library'>[]> {
    const [{ data }, { groups }] = await Promise.all([
      this.ask<{ data: Omit<SeenBook, 'isRotten' | 'library'>[] }>(
        'GET',
        `libraries/${libraryId}/books?includeDeleted=true&pageSize=${PAGE}`,
      ),
      this.ask<{ groups: { books: { book: { id: string } }[] }[] }>('GET', `books/errors?libraryId=${libraryId}&pageSize=${PAGE}`),
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
