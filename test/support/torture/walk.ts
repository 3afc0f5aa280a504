import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Content, fileOf } from '#test/support/torture/content.ts'
import { Model, type Row } from '#test/support/torture/model.ts'
import { SeriesCheck } from '#test/support/torture/series-check.ts'
import type { SeenBook, SeenScan, TestedServer } from '#test/support/torture/server.ts'
import type { Step, Strategy } from '#test/support/torture/steps.ts'
import { LIBRARIES, type LibraryName, Tree } from '#test/support/torture/tree.ts'

type Confirmed = 'all' | ReadonlySet<string>
type StepOf<Name extends Step['do']> = Extract<Step, { do: Name }>

const CONFIGS: Partial<Record<Strategy, { seriesConfig: object }>> = { custom: { seriesConfig: { pattern: '^(?P<series>[^/]+)/' } } }

/** Two libraries of a server, and the model beside them. */
export class Walk {
  readonly tree: Tree
  readonly model = new Model()
  readonly #server: TestedServer
  readonly #ids = {} as Record<LibraryName, string>
  readonly #strategies: Record<LibraryName, Strategy> = { A: 'series_volume', B: 'series_volume' }
  readonly #series = new SeriesCheck()
  readonly #denied = new Set<string>()
  readonly #ratings = new Map<string, number>()
  #held: Partial<Record<LibraryName, string[]>> = {}

  private constructor(server: TestedServer, folder: string) {
    this.#server = server
    mkdirSync(folder)
    this.tree = new Tree(folder)
  }

  static async open(server: TestedServer, folder: string): Promise<Walk> {
    const walk = new Walk(server, folder)
    await server.signIn()
    for (const library of LIBRARIES) walk.#ids[library] = await server.addLibrary(`${library} ${folder}`, walk.tree.rootOf(library))
    return walk
  }

  async close(): Promise<void> {
    for (const id of Object.values(this.#ids)) await this.#server.ask('DELETE', `libraries/${id}`)
  }

  /** Takes a step, and returns how the server differs from the model then. */
  async take(step: Step): Promise<string[]> {
    const { tree } = this
    switch (step.do) {
      case 'write':
        tree.write(step.library, step.path, step.content)
        return []
      case 'move':
      case 'copy':
      case 'moveFolder':
        tree[step.do](step.library, step.path, step.toLibrary, step.to)
        return []
      case 'shift':
        tree.shift(step.library, step.paths, step.isCycle)
        return []
      case 'remove':
      case 'removeFolder':
        tree[step.do](step.library, step.path)
        return []
      case 'rot':
        tree.rot(step.library, step.path, step.content)
        return []
      case 'verify':
        return await this.#verify(step.library)
      case 'touch':
        tree.touch(step.library, step.path, step.seconds)
        return []
      case 'link':
        tree.link(step.library, step.path, step.target)
        return []
      case 'unmount':
        tree.unmount(step.library, step.path, step.isEmpty)
        return []
      case 'mount':
        tree.mount()
        return []
      case 'unmountRoot':
        return await this.#scanWithoutRoot(step)
      case 'arrange':
        return await this.#arrange(step)
      case 'scan':
        return await this.#scan(step)
      default:
        return await this.#change(step)
    }
  }

  /** What a person changes. */
  async #change(step: StepOf<'read' | 'rate' | 'name' | 'deny' | 'accept'>): Promise<string[]> {
    const row = this.model.at(step.library, step.path)
    if (!row || row.isMissing) return []
    switch (step.do) {
      case 'read': {
        const currentPage = Math.min(step.page, row.content.pages)
        await this.#server.ask('PUT', `books/${row.id}/progress`, { currentPage })
        row.progress = { currentPage, completed: currentPage === row.content.pages }
        return []
      }
      case 'rate':
        await this.#server.ask('PUT', `series/${row.seriesId}/rating`, { rating: step.rating })
        this.#ratings.set(row.seriesId, step.rating)
        return []
      case 'name':
        await this.#server.ask('PATCH', `books/${row.id}`, { title: step.title })
        row.title = step.title
        return []
      case 'accept':
        if (!row.isRotten) return []
        await this.#server.ask('POST', `books/${row.id}/accept-content`)
        await this.#server.settle(this.#ids[row.library])
        // Whatever it contains now, if it is there.
        if (this.tree.filesOf(row.library).has(row.path)) {
          row.version = ''
          this.#analyze(row)
        }
        return await this.#compare(row.library, await this.#books(row.library))
      case 'deny':
        await this.#server.setTagged(row.seriesId, step.isDenied)
        if (step.isDenied) this.#denied.add(row.seriesId)
        else this.#denied.delete(row.seriesId)
        return []
    }
  }

  async #verify(library: LibraryName): Promise<string[]> {
    await this.#server.ask('POST', `libraries/${this.#ids[library]}/verify`)
    await this.#server.settle(this.#ids[library])
    for (const row of this.model.present(library)) if (this.tree.filesOf(library).has(row.path)) this.#analyze(row)
    return await this.#compare(library, await this.#books(library))
  }

  #analyze(row: Row): void {
    const content = this.tree.filesOf(row.library).get(row.path) as Content
    this.model.analyze(row, { content, version: this.tree.versionOf(row.library, row.path), isRead: true })
  }

  async #scanWithoutRoot({ library, isEmpty }: StepOf<'unmountRoot'>): Promise<string[]> {
    let differences: string[] = []
    await this.tree.withoutRoot(library, isEmpty, async () => {
      await this.#server.startScan(this.#ids[library], '')
      differences = await this.#look(library, { isLost: !isEmpty })
    })
    return differences
  }

  async #arrange({ library, strategy, killAfterMs }: StepOf<'arrange'>): Promise<string[]> {
    const isChange = this.#strategies[library] !== strategy
    await this.#server.ask('PATCH', `libraries/${this.#ids[library]}`, { seriesStrategy: strategy, ...CONFIGS[strategy] })
    this.#strategies[library] = strategy
    if (killAfterMs !== null) {
      await sleep(killAfterMs)
      await this.#server.kill()
    }
    await this.#server.settle(this.#ids[library])
    // Every series that receives a book of a denied one is denied.
    const denied = new Set(this.model.rows.filter((row) => this.#denied.has(row.seriesId)).map(({ id }) => id))
    const seen = await this.#books(library)
    if (isChange) for (const book of seen.values()) if (denied.has(book.id)) this.#denied.add(book.seriesId)
    return await this.#compare(library, seen)
  }

  async #scan({ order, mode, part, confirm, stop }: StepOf<'scan'>): Promise<string[]> {
    if (part !== '' && this.tree.look(order[0] as LibraryName, part) === 'gone') return []
    const confirmed = new Map(order.map((library) => [library, this.#confirmedOf(library, part === '' ? confirm : 'none')]))
    const start = async (library: LibraryName) => {
      const folders = confirmed.get(library) as Confirmed
      const query = new URLSearchParams({ mode, ...(part !== '' && { path: part }) })
      for (const folder of folders === 'all' ? ['true'] : folders) query.append('confirm', folder || '.')
      await this.#server.startScan(this.#ids[library], query.toString())
    }
    for (const library of order) await start(library)
    if (stop) {
      await sleep(stop.afterMs)
      if (stop.how === 'kill') await this.#server.kill()
      else await Promise.all(order.map((library) => this.#server.cancelScan(this.#ids[library])))
      await Promise.all(order.map((library) => this.#server.settle(this.#ids[library])))
      for (const library of order) await start(library)
    }
    const differences: string[] = []
    const isDeep = mode === 'deep'
    for (const library of order)
      differences.push(...(await this.#look(library, { part, isDeep, confirmed: confirmed.get(library) as Confirmed })))
    return differences
  }

  #confirmedOf(library: LibraryName, confirm: 'none' | 'all' | 'some'): Confirmed {
    if (confirm === 'all') return 'all'
    const some = confirm === 'some' ? (this.#held[library] ?? []).slice(0, 1) : []
    return new Set(some.map((folder) => (folder === '.' ? '' : folder)))
  }

  async #books(library: LibraryName): Promise<Map<string, SeenBook>> {
    const root = this.tree.rootOf(library)
    const books = await this.#server.listBooks(this.#ids[library])
    return new Map(books.map((book) => [book.id, { ...book, filePath: book.filePath.slice(root.length + 1) }]))
  }

  /** Waits for the end of a scan, and compares. */
  async #look(
    library: LibraryName,
    {
      part = '',
      confirmed = new Set(),
      isLost = false,
      isDeep = false,
    }: { part?: string; confirmed?: Confirmed; isLost?: boolean; isDeep?: boolean },
  ): Promise<string[]> {
    const status: SeenScan = await this.#server.settle(this.#ids[library])
    const seen = await this.#books(library)
    const scan = {
      library,
      part,
      confirmed,
      files: isLost ? null : this.tree.filesOf(library),
      look: (folder: string) => this.tree.look(library, folder),
      isDeep,
      versionOf: (path: string) => this.tree.versionOf(library, path),
      contentAt: (other: LibraryName, path: string) => this.tree.filesOf(other).get(path),
    }
    this.#held[library] = status.withheld?.map(({ folder }) => folder) ?? []
    const differences = this.model.scan(scan, seen, status)
    return [...differences, ...(await this.#compare(library, seen))]
  }

  async #compare(library: LibraryName, seen: ReadonlyMap<string, SeenBook>): Promise<string[]> {
    const rows = this.model.rows.filter((row) => row.library === library)
    const unknown = [...seen.values()].filter(({ id }) => !rows.some((row) => row.id === id))
    const differences = [
      ...unknown.map(({ filePath }) => `${library}/${filePath} is a book that the model does not have`),
      ...rows.flatMap((row) => compareBook(row, seen.get(row.id))),
      ...this.#series.look({
        library,
        strategy: this.#strategies[library],
        rows: this.model.rows,
        seen,
        isThere: (place) => this.tree.filesOf(library).has(place) || this.tree.look(library, place) !== 'gone',
      }),
    ]
    const [visible, ratings] = await Promise.all([this.#server.listVisible(), this.#server.listRatings()])
    for (const row of rows) {
      const isDenied = this.#denied.has(row.seriesId)
      if (!row.isMissing && visible.has(row.id) === isDenied)
        differences.push(`${library}/${row.path} is ${isDenied ? 'shown to' : 'hidden from'} the restricted user`)
      const rating = this.#ratings.get(row.seriesId)
      if (ratings.get(row.seriesId) !== rating)
        differences.push(`the series of ${library}/${row.path} has the rating ${ratings.get(row.seriesId)} instead of ${rating}`)
    }
    return [...new Set(differences)]
  }
}

function compareBook(row: Row, book: SeenBook | undefined): string[] {
  const name = `${row.library}/${row.path}`
  if (!book) return [`${name} has no book ${row.id}`]
  const differences: string[] = []
  const same = (what: string, seen: unknown, expected: unknown) => {
    if (seen !== expected) differences.push(`${name}: ${what} is ${seen} instead of ${expected}`)
  }
  same('path', book.filePath, row.path)
  same('deleted', book.deleted, row.isMissing)
  same('withheld', book.missing?.why === 'withheld', row.isHeld)
  same('hash', book.fileHash, fileOf(row.content).hash)
  same('pages', book.pageCount, row.content.pages)
  if (!row.isMissing) same('rotten', book.isRotten, row.isRotten)
  if (row.title !== null) same('title', book.title, row.title)
  if (row.progress && row.progress.currentPage > row.content.pages) return differences
  same('page', book.readProgress?.currentPage, row.progress?.currentPage)
  same('completed', book.readProgress?.completed, row.progress?.completed)
  return differences
}
