import type { Content } from '#test/support/torture/content.ts'
import type { Model } from '#test/support/torture/model.ts'
import { folderOf, LIBRARIES, type LibraryName, type Tree } from '#test/support/torture/tree.ts'

/** Strategies whose series follow from the path alone, as `placeOf` tells. */
const STRATEGIES = ['series_volume', 'auto', 'series_volume_chapter', 'publisher_hierarchy', 'flat', 'custom'] as const
export type Strategy = (typeof STRATEGIES)[number]

interface Place {
  library: LibraryName
  path: string
}

/** One step of a random walk, complete in itself: a walk is repeated and shortened from its steps. */
export type Step =
  | ({ do: 'write'; content: Content } & Place)
  | ({ do: 'move' | 'copy' | 'moveFolder'; toLibrary: LibraryName; to: string } & Place)
  | ({ do: 'rot'; content: Content } & Place)
  | { do: 'verify'; library: LibraryName }
  | ({ do: 'accept' } & Place)
  | { do: 'shift'; library: LibraryName; paths: string[]; isCycle: boolean }
  | ({ do: 'remove' | 'removeFolder' } & Place)
  | ({ do: 'touch'; seconds: number } & Place)
  | ({ do: 'link'; target: string } & Place)
  | ({ do: 'unmount'; isEmpty: boolean } & Place)
  | { do: 'mount' }
  | { do: 'unmountRoot'; library: LibraryName; isEmpty: boolean }
  | ({ do: 'read'; page: number } & Place)
  | ({ do: 'rate'; rating: number } & Place)
  | ({ do: 'name'; title: string } & Place)
  | ({ do: 'deny'; isDenied: boolean } & Place)
  | { do: 'arrange'; library: LibraryName; strategy: Strategy; killAfterMs: number | null }
  | { do: 'scan'; order: LibraryName[]; mode: 'normal' | 'deep'; part: string; confirm: 'none' | 'all' | 'some'; stop: Stop | null }

/** Ends a scan in the middle: the server is killed, or the scan is canceled. */
interface Stop {
  how: 'kill' | 'cancel'
  afterMs: number
}

/** Words without numbers, which no rule takes for a name of a series. */
const NAMES = [
  ...['Anna', 'Boris', 'Clara', 'Dora', 'Emil', 'Frida', 'Gustav', 'Hanna', 'Ivan', 'Jonas', 'Karla', 'Lena', 'Moritz', 'Nora', 'Otto'],
  ...['Paula', 'Quirin', 'Rosa', 'Silvia', 'Theo', 'Ulla', 'Viktor', 'Wanda', 'Xaver', 'Yvonne', 'Zita'],
]
const FOLDERS = [
  ...['Apple', 'Birch', 'Cedar', 'Daisy', 'Elder', 'Fern', 'Ginger', 'Hazel'],
  ...['Apple/Vol 1', 'Apple/Vol 2', 'Birch/Vol 1', 'Cedar/Specials', 'Daisy/Vol 3', 'Elder/Inner', 'Elder/Inner/Vol 1'],
]
const FILES_MAX = 45
const CLOCKS = [0, 1_000, 946_684_800, 4_102_444_800]
/** Within the time of a scan of some dozen files. */
const STOP_MS_MAX = 150

/** Where the file of a missing book was: another one has its path by now. */
const withoutMissing = (path: string): string => path.replace(/ \(missing [^()]*\)$/, '')

type Weighted = readonly [number, () => Step | null]

/** Chooses steps that fit what is there. */
export class StepChoice {
  readonly #random: () => number
  readonly #tree: Tree
  readonly #model: Model
  readonly #deleted: Content[] = []
  readonly #killShare: number
  #serial = 0

  constructor({ random, tree, model, killShare }: { random: () => number; tree: Tree; model: Model; killShare: number }) {
    this.#random = random
    this.#tree = tree
    this.#model = model
    this.#killShare = killShare
  }

  #below(end: number): number {
    return Math.floor(this.#random() * end)
  }

  #pick<Item>(all: readonly Item[]): Item | undefined {
    return all[this.#below(all.length)]
  }

  #chance(share: number): boolean {
    return this.#random() < share
  }

  #library(): LibraryName {
    return this.#chance(0.65) ? 'A' : 'B'
  }

  #file(library = this.#library()): (Place & { content: Content }) | null {
    const file = this.#pick([...this.#tree.filesOf(library)])
    return file ? { library, path: file[0], content: file[1] } : null
  }

  #folder(library = this.#library()): Place | null {
    const path = this.#pick(this.#tree.foldersOf(library))
    return path ? { library, path } : null
  }

  #path(folder = this.#chance(0.1) ? '' : (this.#pick(FOLDERS) as string)): string {
    return `${folder === '' ? '' : `${folder}/`}${this.#pick(NAMES)}.cbz`
  }

  #fresh(pages = 1 + this.#below(4)): Content {
    const serial = ++this.#serial
    // Room for pages that are added later.
    return { serial, picture: serial * 1_000, pages, isTagged: false }
  }

  #changed(content: Content, change: Partial<Content>): Content {
    return { ...content, ...change, serial: ++this.#serial }
  }

  #present(): Place | null {
    const row = this.#pick(this.#model.present().filter(({ isHeld }) => !isHeld))
    return row ? { library: row.library, path: row.path } : null
  }

  /** A step that fits; what does not is chosen again. */
  next(): Step {
    for (;;) {
      const weighted = this.#all()
      let at = this.#random() * weighted.reduce((sum, [weight]) => sum + weight, 0)
      for (const [weight, choose] of weighted) {
        at -= weight
        if (at >= 0) continue
        const step = choose()
        if (step) return step
        break
      }
    }
  }

  #all(): Weighted[] {
    return [...this.#fileSteps(), ...this.#folderSteps(), ...this.#readerSteps(), [16, () => this.#scan()]]
  }

  #fileSteps(): Weighted[] {
    const count = this.#tree.filesOf('A').size + this.#tree.filesOf('B').size
    const on = (choose: (file: Place & { content: Content }) => Step | null) => () => {
      const file = this.#file()
      return file && choose(file)
    }
    const remember = (step: Step, content: Content) => {
      this.#deleted.push(content)
      return step
    }
    return [
      [count < FILES_MAX ? 16 : 1, () => ({ do: 'write', library: this.#library(), path: this.#path(), content: this.#fresh() })],
      [3, on(({ content, ...at }) => ({ do: 'write', ...at, content: this.#changed(content, { pages: content.pages + 1 }) }))],
      [4, on(({ content, ...at }) => ({ do: 'write', ...at, content: this.#changed(content, { isTagged: true }) }))],
      [4, on(({ content, ...at }) => remember({ do: 'write', ...at, content: this.#fresh() }, content))],
      [7, on(({ library, path }) => ({ do: 'move', library, path, toLibrary: library, to: this.#path(folderOf(path)) }))],
      [6, on(({ library, path }) => ({ do: 'move', library, path, toLibrary: library, to: this.#path() }))],
      [4, on(({ library, path }) => ({ do: 'move', library, path, toLibrary: this.#library(), to: this.#path() }))],
      [2, on(({ library, path }) => ({ do: 'copy', library, path, toLibrary: this.#library(), to: this.#path() }))],
      [3, on(({ content, ...at }) => ({ do: 'rot', ...at, content: { ...content, picture: content.picture + 500 } }))],
      [4, () => this.#shift()],
      [6, on(({ content, ...at }) => remember({ do: 'remove', ...at }, content))],
      [3, () => this.#restore()],
      [3, on(({ library, path }) => ({ do: 'touch', library, path, seconds: this.#pick(CLOCKS) as number }))],
      [1, on(({ library, path }) => ({ do: 'link', library, path: `${this.#pick(FOLDERS)}/link ${this.#below(3)}.cbz`, target: path }))],
    ]
  }

  #restore(): Step | null {
    const content = this.#pick(this.#deleted)
    const row = this.#pick(this.#model.rows.filter(({ isMissing }) => isMissing))
    if (row && this.#chance(0.5)) return { do: 'write', library: row.library, path: withoutMissing(row.path), content: row.content }
    return content ? { do: 'write', library: this.#library(), path: this.#path(), content } : null
  }

  #shift(): Step | null {
    const { library } = this.#file() ?? { library: 'A' }
    const paths = [...this.#tree.filesOf(library).keys()].sort()
    const count = 2 + this.#below(3)
    const first = this.#below(Math.max(1, paths.length - count))
    const some = paths.slice(first, first + count)
    return some.length < 2 ? null : { do: 'shift', library, paths: some, isCycle: this.#chance(0.6) }
  }

  #folderSteps(): Weighted[] {
    const on = (choose: (folder: Place) => Step | null) => () => {
      const folder = this.#folder()
      return folder && choose(folder)
    }
    const target = () => this.#pick(FOLDERS) as string
    return [
      [4, on(({ library, path }) => ({ do: 'moveFolder', library, path, toLibrary: library, to: target() }))],
      [2, on(({ library, path }) => ({ do: 'moveFolder', library, path, toLibrary: this.#library(), to: target() }))],
      [1, on((at) => ({ do: 'removeFolder', ...at }))],
      [1, on(({ library, path }) => ({ do: 'link', library, path: `link ${this.#below(3)}`, target: path }))],
      [3, on((at) => ({ do: 'unmount', ...at, isEmpty: this.#chance(0.5) }))],
      [4, () => ({ do: 'mount' })],
      [1, () => ({ do: 'unmountRoot', library: this.#library(), isEmpty: this.#chance(0.5) })],
    ]
  }

  #readerSteps(): Weighted[] {
    const on = (choose: (book: Place) => Step) => () => {
      const book = this.#present()
      return book && choose(book)
    }
    return [
      [8, on((at) => ({ do: 'read', ...at, page: 1 + this.#below(4) }))],
      [3, on((at) => ({ do: 'rate', ...at, rating: 1 + this.#below(100) }))],
      [2, on((at) => ({ do: 'name', ...at, title: `Named ${this.#below(1_000)}` }))],
      [3, on((at) => ({ do: 'deny', ...at, isDenied: this.#chance(0.7) }))],
      [3, () => this.#arrange()],
      [2, () => ({ do: 'verify', library: this.#library() })],
      [2, () => this.#accept()],
    ]
  }

  #accept(): Step | null {
    const row = this.#pick(this.#model.present().filter(({ isRotten }) => isRotten))
    return row ? { do: 'accept', library: row.library, path: row.path } : null
  }

  #arrange(): Step {
    const killAfterMs = this.#chance(this.#killShare * 3) ? this.#below(STOP_MS_MAX) : null
    return { do: 'arrange', library: this.#library(), strategy: this.#pick(STRATEGIES) as Strategy, killAfterMs }
  }

  #scan(): Step {
    const order = this.#chance(0.5) ? [...LIBRARIES] : [...LIBRARIES].reverse()
    const how = this.#chance(this.#killShare) ? 'kill' : this.#chance(0.05) ? 'cancel' : null
    const part = this.#chance(0.15) ? (this.#folder(order[0])?.path ?? '') : ''
    const confirm = this.#chance(0.7) ? 'none' : this.#chance(0.5) ? 'all' : 'some'
    return {
      do: 'scan',
      order: part === '' ? order : order.slice(0, 1),
      mode: this.#chance(0.1) ? 'deep' : 'normal',
      part,
      confirm,
      stop: how && part === '' && confirm === 'none' ? { how, afterMs: this.#below(STOP_MS_MAX) } : null,
    }
  }
}
