import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type Content, fileOf } from '#test/support/torture/content.ts'

export type LibraryName = 'A' | 'B'
export const LIBRARIES: readonly LibraryName[] = ['A', 'B']

interface Away {
  library: LibraryName
  folder: string
  place: string
  files: Map<string, Content>
}

export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))
const isBelow = (folder: string, path: string): boolean => path.startsWith(`${folder}/`)

/** The files of two libraries on the disk, and what each contains. An operation that its files do not allow does nothing: a shortened walk has such steps. */
export class Tree {
  readonly #folder: string
  readonly #files: Record<LibraryName, Map<string, Content>> = { A: new Map(), B: new Map() }
  readonly #away: Away[] = []
  #count = 0

  /** @param folder an empty one */
  constructor(folder: string) {
    this.#folder = folder
    for (const library of LIBRARIES) mkdirSync(this.rootOf(library))
  }

  rootOf(library: LibraryName): string {
    return join(this.#folder, library)
  }

  filesOf(library: LibraryName): ReadonlyMap<string, Content> {
    return this.#files[library]
  }

  /** Folders with files at any depth. */
  foldersOf(library: LibraryName): string[] {
    const folders = new Set<string>()
    for (const path of this.#files[library].keys()) for (let at = folderOf(path); at !== ''; at = folderOf(at)) folders.add(at)
    return [...folders]
  }

  /** Whether a folder is there, and whether something is in it. */
  look(library: LibraryName, folder: string): 'gone' | 'empty' | 'filled' {
    const place = join(this.rootOf(library), folder)
    if (!existsSync(place)) return 'gone'
    return readdirSync(place).length === 0 ? 'empty' : 'filled'
  }

  #place(library: LibraryName, path: string): string {
    return join(this.rootOf(library), path)
  }

  /** Whether a file may lie at the path: its folder is none of the files, and it is no folder. */
  #isFree(library: LibraryName, path: string): boolean {
    const place = this.#place(library, path)
    if (existsSync(place) && statSync(place).isDirectory()) return false
    for (let at = folderOf(path); at !== ''; at = folderOf(at)) if (this.#files[library].has(at)) return false
    return true
  }

  write(library: LibraryName, path: string, content: Content): void {
    if (!this.#isFree(library, path)) return
    const place = this.#place(library, path)
    mkdirSync(dirname(place), { recursive: true })
    writeFileSync(place, fileOf(content).bytes)
    this.#files[library].set(path, content)
  }

  move(library: LibraryName, path: string, toLibrary: LibraryName, to: string): void {
    const content = this.#files[library].get(path)
    if (!content || !this.#isFree(toLibrary, to) || (library === toLibrary && path === to)) return
    const place = this.#place(toLibrary, to)
    mkdirSync(dirname(place), { recursive: true })
    renameSync(this.#place(library, path), place)
    this.#files[library].delete(path)
    this.#files[toLibrary].set(to, content)
  }

  /** Each file gets the path of the next one; the last one that of the first, or if the paths are no cycle none. */
  shift(library: LibraryName, paths: readonly string[], isCycle: boolean): void {
    const files = this.#files[library]
    if (new Set(paths).size < paths.length || paths.some((path) => !files.has(path))) return
    const contents = paths.map((path) => files.get(path) as Content)
    const last = paths.length - 1
    const aside = join(this.#folder, 'aside')
    renameSync(this.#place(library, paths[last] as string), aside)
    for (let at = last; at > 0; at--) {
      renameSync(this.#place(library, paths[at - 1] as string), this.#place(library, paths[at] as string))
      files.set(paths[at] as string, contents[at - 1] as Content)
    }
    if (isCycle) {
      renameSync(aside, this.#place(library, paths[0] as string))
      files.set(paths[0] as string, contents[last] as Content)
      return
    }
    unlinkSync(aside)
    files.delete(paths[0] as string)
  }

  copy(library: LibraryName, path: string, toLibrary: LibraryName, to: string): void {
    const content = this.#files[library].get(path)
    if (!content || !this.#isFree(toLibrary, to) || this.#files[toLibrary].has(to)) return
    mkdirSync(dirname(this.#place(toLibrary, to)), { recursive: true })
    cpSync(this.#place(library, path), this.#place(toLibrary, to))
    this.#files[toLibrary].set(to, content)
  }

  remove(library: LibraryName, path: string): void {
    if (!this.#files[library].delete(path)) return
    unlinkSync(this.#place(library, path))
  }

  removeFolder(library: LibraryName, folder: string): void {
    rmSync(this.#place(library, folder), { recursive: true, force: true })
    this.#take(library, folder)
  }

  #take(library: LibraryName, folder: string): Map<string, Content> {
    const files = new Map([...this.#files[library]].filter(([path]) => isBelow(folder, path)))
    for (const path of files.keys()) this.#files[library].delete(path)
    return files
  }

  /** The new path must not exist. */
  moveFolder(library: LibraryName, folder: string, toLibrary: LibraryName, to: string): void {
    const isInside = library === toLibrary && (to === folder || isBelow(folder, to))
    if (isInside || this.look(library, folder) === 'gone' || this.look(toLibrary, to) !== 'gone' || !this.#isFree(toLibrary, to)) return
    mkdirSync(dirname(this.#place(toLibrary, to)), { recursive: true })
    renameSync(this.#place(library, folder), this.#place(toLibrary, to))
    for (const [path, content] of this.#take(library, folder)) this.#files[toLibrary].set(to + path.slice(folder.length), content)
  }

  /** The clock of a file jumps; its content stays. */
  touch(library: LibraryName, path: string, seconds: number): void {
    if (this.#files[library].has(path)) utimesSync(this.#place(library, path), seconds, seconds)
  }

  /** Other bytes of the same size, without a change of the date. */
  rot(library: LibraryName, path: string, content: Content): void {
    const place = this.#place(library, path)
    if (!this.#files[library].has(path) || statSync(place).size !== fileOf(content).bytes.length) return
    // Times of files in JavaScript have no nanoseconds.
    const clock = join(this.#folder, 'clock')
    spawnSync('touch', ['-r', place, clock])
    writeFileSync(place, fileOf(content).bytes)
    spawnSync('touch', ['-r', clock, place])
    this.#files[library].set(path, content)
  }

  /** Size and date of a file: what a scan compares. */
  versionOf(library: LibraryName, path: string): string {
    const { size, mtimeNs } = statSync(this.#place(library, path), { bigint: true })
    return `${size} ${mtimeNs}`
  }

  /** A link that looks like a book, or like a folder of books. */
  link(library: LibraryName, path: string, target: string): void {
    const place = this.#place(library, path)
    if (!this.#isFree(library, path) || existsSync(place)) return
    mkdirSync(dirname(place), { recursive: true })
    rmSync(place, { force: true })
    symlinkSync(this.#place(library, target), place)
  }

  /** As if a disk that is mounted at the folder were lost: the folder vanishes, or is empty. */
  unmount(library: LibraryName, folder: string, isEmpty: boolean): void {
    if (this.look(library, folder) === 'gone') return
    const place = join(this.#folder, `away ${++this.#count}`)
    renameSync(this.#place(library, folder), place)
    this.#away.push({ library, folder, place, files: this.#take(library, folder) })
    if (isEmpty) mkdirSync(this.#place(library, folder))
  }

  /** Mounts what was lost first, unless other files are at its place now. */
  mount(): void {
    const away = this.#away.find(({ library, folder }) => this.look(library, folder) !== 'filled' && this.#isFree(library, `${folder}/x`))
    if (!away) return
    this.#away.splice(this.#away.indexOf(away), 1)
    const place = this.#place(away.library, away.folder)
    rmSync(place, { recursive: true, force: true })
    mkdirSync(dirname(place), { recursive: true })
    renameSync(away.place, place)
    for (const [path, content] of away.files) this.#files[away.library].set(path, content)
  }

  /** Runs while the root of a library is lost. */
  async withoutRoot(library: LibraryName, isEmpty: boolean, run: () => Promise<void>): Promise<void> {
    const [root, place, files] = [this.rootOf(library), join(this.#folder, 'lost root'), this.#files[library]]
    renameSync(root, place)
    if (isEmpty) mkdirSync(root)
    this.#files[library] = new Map()
    try {
      await run()
    } finally {
      rmSync(root, { recursive: true, force: true })
      renameSync(place, root)
      this.#files[library] = files
    }
  }
}
