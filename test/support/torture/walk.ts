import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Content, fileOf } from '#test/support/torture/content.ts'
import { ABILITIES } from '#test/support/torture/match-rows.ts'
import { Model } from '#test/support/torture/model.ts'
import type { Row } from '#test/support/torture/row.ts'
import { SeriesCheck } from '#test/support/torture/series-check.ts'
import type { SeenBook, SeenScan, TestedServer } from '#test/support/torture/server.ts'
import type { Step, Strategy } from '#test/support/torture/steps.ts'
import { LIBRARIES, type LibraryName, Tree } from '#test/support/torture/tree.ts'

type Confirmed = 'all' | ReadonlySet<string>
interface Looked {
  library: LibraryName
  part: string
  confirmed: Confirmed
  isDeep: boolean
  isLost?: boolean
  isAfterStop?: boolean
}

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
        row.cut = null
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
        await this.#server.settle([this.#ids[row.library]])
        // Whatever it contains now, if it is there.
        if (this.tree.filesOf(row.library).has(row.path)) {
          row.version = ''
          this.#analyze(row)
        }
        return await this.#compare(await this.#books())
      case 'deny':
        await this.#server.setTagged(row.seriesId, step.isDenied)
        if (step.isDenied) this.#denied.add(row.seriesId)
        else this.#denied.delete(row.seriesId)
        return []
    }
  }

  async #verify(library: LibraryName): Promise<string[]> {
    const differences = await this.#scan({ do: 'scan', order: [library], mode: 'normal', part: '', confirm: 'none', stop: null })
    await this.#server.ask('POST', `libraries/${this.#ids[library]}/verify`)
    await this.#server.settle([this.#ids[library]])
    for (const row of this.model.present(library)) if (this.tree.filesOf(library).has(row.path)) this.#analyze(row)
    return [...differences, ...(await this.#compare(await this.#books()))]
  }

  #analyze(row: Row): void {
    const content = this.tree.filesOf(row.library).get(row.path) as Content
    this.model.analyze(row, { content, version: this.tree.versionOf(row.library, row.path), isRead: true })
  }

  async #scanWithoutRoot({ library, isEmpty }: StepOf<'unmountRoot'>): Promise<string[]> {
    let differences: string[] = []
    await this.tree.withoutRoot(library, isEmpty, async () => {
      await this.#server.startScan(this.#ids[library], '')
      differences = await this.#look([{ library, part: '', isDeep: false, confirmed: new Set(), isLost: !isEmpty }])
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
    await this.#server.settle([this.#ids[library]])
    const seen = await this.#books()
    if (isChange) this.#passTags(seen)
    return await this.#compare(seen)
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
      await this.#server.settle(order.map((library) => this.#ids[library]))
      for (const library of order) await start(library)
    }
    const isDeep = mode === 'deep'
    return await this.#look(
      order.map((library) => ({ library, part, isDeep, isAfterStop: stop !== null, confirmed: confirmed.get(library) as Confirmed })),
    )
  }

  #confirmedOf(library: LibraryName, confirm: 'none' | 'all' | 'some'): Confirmed {
    if (confirm === 'all') return 'all'
    const some = confirm === 'some' ? (this.#held[library] ?? []).slice(0, 1) : []
    return new Set(some.map((folder) => (folder === '.' ? '' : folder)))
  }

  async #books(): Promise<Map<string, SeenBook>> {
    const books = await this.#server.listBooks()
    const ofWalk = LIBRARIES.flatMap((library) => {
      const length = this.tree.rootOf(library).length + 1
      const some = books.filter(({ libraryId }) => libraryId === this.#ids[library])
      return some.map((book) => ({ ...book, library, filePath: book.filePath.slice(length) }))
    })
    return new Map(ofWalk.map((book) => [book.id, book]))
  }

  /** Waits until scans have ended, and compares. */
  async #look(scans: readonly Looked[]): Promise<string[]> {
    const states = await this.#server.settle(scans.map(({ library }) => this.#ids[library]))
    const seen = await this.#books()
    const before = new Map(this.model.rows.map((row) => [row, `${row.library}/${row.path} ${row.version}`]))
    const origins = new Map(this.model.rows.map((row) => [row, { ...row }]))
    const differences = scans.flatMap(({ library, isLost = false, isAfterStop = false, ...scan }, index) => {
      const status = states[index] as SeenScan
      this.#held[library] = status.withheld?.map(({ folder }) => folder) ?? []
      const facts = {
        library,
        ...scan,
        isAfterStop,
        together: scans.map(({ library: other }) => other),
        files: isLost ? null : this.tree.filesOf(library),
        left: [...origins].filter(([row, origin]) => origin.library === library && row.library !== library).map(([, origin]) => origin),
        look: (folder: string) => this.tree.look(library, folder),
        versionOf: (other: LibraryName, path: string) => this.tree.versionOf(other, path),
        contentAt: (other: LibraryName, path: string) => this.tree.filesOf(other).get(path),
      }
      return this.model.scan(facts, seen, status)
    })
    const changed = this.model.rows.filter((row) => before.get(row) !== `${row.library}/${row.path} ${row.version}`)
    // A new file brings no tag along. Of two rows with one content, it may be the file of the denied one that has moved.
    const denied = new Set(this.model.rows.filter((row) => this.#denied.has(row.seriesId)).map((row) => fileOf(row.content).hash))
    const isPassing = ABILITIES.passesTags && changed.some((row) => before.has(row) && denied.has(fileOf(row.content).hash))
    if (ABILITIES.passesTags) this.#passTags(seen)
    const series = changed.flatMap(({ id, seriesId }) => [seriesId, seen.get(id)?.seriesId ?? seriesId])
    return [...differences, ...(await this.#compare(seen, new Set(isPassing ? series : [])))]
  }

  /** Every series that receives a book of a denied one is denied. */
  #passTags(seen: ReadonlyMap<string, SeenBook>): void {
    const denied = this.model.rows.filter((row) => this.#denied.has(row.seriesId))
    for (const { id } of denied) {
      const seriesId = seen.get(id)?.seriesId
      if (seriesId !== undefined) this.#denied.add(seriesId)
    }
  }

  /** @param mayHide series that may have got a tag with what came to them */
  async #compare(seen: ReadonlyMap<string, SeenBook>, mayHide: ReadonlySet<string> = new Set()): Promise<string[]> {
    const { rows } = this.model
    const unknown = [...seen.values()].filter(({ id }) => !rows.some((row) => row.id === id))
    const differences = unknown.map((book) => `${book.library}/${book.filePath} is a book that the model does not have`)
    const libraryOf = new Map([...seen.values()].map(({ seriesId, library }) => [seriesId, library]))
    for (const { library, filePath, seriesId } of seen.values())
      if (libraryOf.get(seriesId) !== library) differences.push(`the series of ${library}/${filePath} has books of both libraries`)
    for (const row of rows) differences.push(...compareBook(row, seen.get(row.id)))
    for (const library of LIBRARIES) {
      const isThere = (place: string) => this.tree.filesOf(library).has(place) || this.tree.look(library, place) !== 'gone'
      differences.push(...this.#series.look({ library, strategy: this.#strategies[library], rows, seen, isThere }))
    }
    const [visible, ratings] = await Promise.all([this.#server.listVisible(), this.#server.listRatings()])
    for (const { id, library, path, isMissing, seriesId } of rows) {
      if (mayHide.has(seriesId) && !isMissing && !visible.has(id)) this.#denied.add(seriesId)
      const isDenied = this.#denied.has(seriesId)
      if (!isMissing && visible.has(id) === isDenied)
        differences.push(`${library}/${path} is ${isDenied ? 'shown to' : 'hidden from'} the restricted user`)
      const [rating, expected] = [ratings.get(seriesId), this.#ratings.get(seriesId)]
      if (rating !== expected) differences.push(`the series of ${library}/${path} has the rating ${rating} instead of ${expected}`)
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
  if (row.progress && row.progress.currentPage > row.content.pages) {
    // It returns when the former content does.
    if (ABILITIES.followsContent) same('cut page', book.readProgress?.currentPage, row.content.pages)
    return differences
  }
  same('page', book.readProgress?.currentPage, row.progress?.currentPage)
  same('completed', book.readProgress?.completed, row.progress?.completed)
  return differences
}
