import { closeSync, fstatSync, lstatSync, readdirSync, readSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { BookFile, LibraryFile, Problem } from '#core/fields/analysis.ts'
import { stemOf } from '#core/fields/book-format.ts'
import type { Embedded } from '#core/fields/embedded.ts'
import { COVER_BYTES_MAX } from '#core/fields/limits.ts'
import type { SeriesFileOutcome } from '#core/fields/series-file.ts'
import { bookFiles, FOLDER_FILES, fileFinder } from '#core/fields/sidecar.ts'
import { lstatInsideSync, OutsideError, openInsideSync } from '#core/foundation/open-inside.ts'
import { dropLaterVolumes, isBookName, nameFilterOf } from '#core/scan/set-files.ts'
import { readComicInfo } from './comic-info.ts'
import { Remarks } from './metadata-values.ts'
import { readOpfMetadata } from './opf-metadata.ts'
import { readSeriesJson } from './series-json.ts'
import { parseXml, XML_BYTES_MAX, XmlError } from './xml.ts'

/**
 * Adds the metadata of sidecar files: `<name>.opf`, `<name>.xml`, and, where the folder holds only one book (in any number of formats),
 * `metadata.opf` and `ComicInfo.xml`. They override the metadata in the book, because somebody added them later.
 */
export function withSidecars(
  file: BookFile,
  found: { embedded: Embedded; problems: Problem[] },
): { embedded: Embedded; problems: Problem[] } {
  const beside = new BookFolder(file)
  const own = bookFiles(beside.stem)
  let { embedded } = found
  const problems = [...found.problems]
  const add = (bytes: SmallFile, reader: (name: string, bytes: Uint8Array) => Read) => {
    if (bytes === null) return
    const read = 'problem' in bytes ? { embedded: {}, problem: bytes.problem } : reader(bytes.name, bytes.bytes)
    embedded = merge(embedded, read.embedded)
    if (read.problem) problems.push(read.problem)
  }
  add(beside.read(own.comicInfo) ?? beside.readOfOnlyBook(FOLDER_FILES.comicInfo), readComicInfo)
  add(beside.read(own.opf) ?? beside.readOfOnlyBook(FOLDER_FILES.opf), readOpfFile)
  return { embedded, problems: oneOfMetadata(problems) }
}

/** The picture beside the only book of a folder; null without one. */
export const readCoverFile = (file: BookFile): SmallFile => new BookFolder(file).readOfOnlyBook(FOLDER_FILES.cover, COVER_BYTES_MAX)

/** Reads the file that describes the series of a folder. */
export function readSeriesFile(file: LibraryFile): SeriesFileOutcome {
  const json = new BookFolder(file).read(basename(file.path))
  if (json === null) return { series: null, problem: null }
  if ('problem' in json) return { series: null, problem: json.problem }
  const { series, problem } = readSeriesJson(json.bytes)
  return { series: series ?? null, problem }
}

/** The folder of a file. What describes a book there is found by the rules of the walk, which notices its changes: see core/fields/sidecar.ts. */
class BookFolder {
  readonly stem: string
  readonly #file: BookFile
  readonly #folder: string
  #listed: { names: string[]; books: string[] } | undefined
  #find: ((wanted: string) => string | undefined) | undefined

  constructor(file: BookFile) {
    this.#file = file
    this.#folder = dirname(file.path)
    this.stem = stemOf(basename(file.path))
  }

  read(wanted: string, bytesMax?: number): SmallFile {
    return readSmallFile(this.#at(this.#nameOf(wanted)), bytesMax)
  }

  readOfOnlyBook(wanted: string, bytesMax?: number): SmallFile {
    const file = this.read(wanted, bytesMax)
    return file !== null && this.#isOnlyBook() ? file : null
  }

  #at(name: string): LibraryFile {
    return { ...this.#file, path: join(this.#folder, name) }
  }

  /** The common case is that there is no such file: then the folder is not listed. */
  #nameOf(wanted: string): string {
    if (this.#file.hasSidecar === false) return wanted
    this.#find ??= fileFinder(this.#list().names, new Set(this.#list().books.map(stemOf)))
    return this.#find(wanted) ?? wanted
  }

  #isOnlyBook(): boolean {
    const { names, books } = this.#list()
    return names.length > 0 && books.every((name) => stemOf(name) === this.stem || !this.#isFile(name))
  }

  #list(): { names: string[]; books: string[] } {
    this.#listed ??= this.#readNames()
    return this.#listed
  }

  #readNames(): { names: string[]; books: string[] } {
    try {
      const { root, filter } = this.#file
      const names = readdirSync(this.#folder)
      const prefix = this.#folder === root ? '' : `${this.#folder.slice(root.length + 1)}/`
      const books = nameFilterOf(filter ?? { allowedFormats: null, excludedPatterns: null })
      const listing = { names: names.filter((name) => isBookName(prefix, name, books)), sizes: [], mtimesMs: [] }
      return { names, books: dropLaterVolumes(listing).names }
    } catch {
      return { names: [], books: [] }
    }
  }

  /** Not a folder, nor a link that is not followed. */
  #isFile(name: string): boolean {
    try {
      return lstatInsideSync(this.#at(name))?.isFile() === true
    } catch {
      return false
    }
  }
}

interface Read {
  embedded: Embedded
  problem: Problem | null
}

function readOpfFile(name: string, bytes: Uint8Array): Read {
  try {
    const { root, unknownEntities } = parseXml(bytes)
    const remarks = new Remarks()
    return { embedded: readOpfMetadata(root, unknownEntities, remarks), problem: remarks.problem(`${name} beside the book`) }
  } catch (error) {
    if (!(error instanceof XmlError)) throw error
    return {
      embedded: {},
      problem: { type: 'metadata', message: `${name} beside the book cannot be read: ${error.message}.`, fatal: false },
    }
  }
}

/** Merges by member, so that a short sidecar does not remove metadata of the book. */
function merge(inner: Embedded, outer: Embedded): Embedded {
  const merged: Embedded = { ...inner, ...outer }
  if (inner.book && outer.book) merged.book = { ...inner.book, ...outer.book }
  if (inner.series && outer.series) {
    merged.series = { ...inner.series, ...outer.series, fields: { ...inner.series.fields, ...outer.series.fields } }
  }
  return merged
}

/** A book has one row for each type of problem: the problems of several files become one. */
function oneOfMetadata(problems: Problem[]): Problem[] {
  const troubles = problems.filter(({ type, fatal }) => type === 'metadata' && !fatal)
  if (troubles.length < 2) return problems
  const message = troubles.map((problem) => problem.message).join(' ')
  const joined: Problem = { type: 'metadata', message, details: { all: troubles.map(({ details }) => details ?? {}) }, fatal: false }
  return [...problems.filter((problem) => !troubles.includes(problem)), joined]
}

type SmallFile = { name: string; bytes: Uint8Array } | { problem: Problem } | null

/** Null when the file does not exist, the common case: one system call. A file outside the library counts as missing. */
function readSmallFile({ path, ...inside }: LibraryFile, bytesMax = XML_BYTES_MAX): SmallFile {
  let fd: number
  try {
    // Opening a missing file throws, which takes ten times as long.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null
    fd = openInsideSync({ ...inside, path })
  } catch (error) {
    if (error instanceof OutsideError) return null
    const { code = '' } = error as NodeJS.ErrnoException
    return ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(code) ? null : { problem: unreadable(path, code) }
  }
  try {
    const stat = fstatSync(fd)
    if (stat.size > bytesMax) return { problem: unreadable(path, `it is larger than ${bytesMax / 1024 / 1024} MB`) }
    const bytes = Buffer.alloc(stat.size)
    let filled = 0
    while (filled < bytes.length) {
      const got = readSync(fd, bytes, filled, bytes.length - filled, filled)
      if (got === 0) break
      filled += got
    }
    return { name: basename(path), bytes: bytes.subarray(0, filled) }
  } catch (error) {
    return { problem: unreadable(path, (error as NodeJS.ErrnoException).code ?? String(error)) }
  } finally {
    closeSync(fd)
  }
}

function unreadable(path: string, reason: string): Problem {
  return { type: 'metadata', message: `${basename(path)} beside the book cannot be read: ${reason}.`, fatal: false }
}
