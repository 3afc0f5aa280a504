import { closeSync, fstatSync, lstatSync, readdirSync, readSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { LibraryFile, Problem } from '#core/fields/analysis.ts'
import { formatOfName, stemOf } from '#core/fields/book-format.ts'
import type { Embedded } from '#core/fields/embedded.ts'
import { COVER_BYTES_MAX } from '#core/fields/limits.ts'
import type { SeriesFileOutcome } from '#core/fields/series-file.ts'
import { bookFiles, FOLDER_FILES } from '#core/fields/sidecar.ts'
import { OutsideError, openInsideSync } from '#core/foundation/open-inside.ts'
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
  { path, ...inside }: LibraryFile,
  found: { embedded: Embedded; problems: Problem[] },
): { embedded: Embedded; problems: Problem[] } {
  const folder = dirname(path)
  const stem = stemOf(basename(path))
  const own = bookFiles(stem)
  let { embedded } = found
  const problems = [...found.problems]
  const add = (names: { own: string; folders: string }, reader: (name: string, bytes: Uint8Array) => Read) => {
    for (const name of [names.own, names.folders]) {
      const bytes = readSmallFile({ ...inside, path: join(folder, name) })
      if (bytes === null || (name === names.folders && !isOnlyBook(folder, stem))) continue
      const read = 'problem' in bytes ? { embedded: {}, problem: bytes.problem } : reader(name, bytes.bytes)
      embedded = merge(embedded, read.embedded)
      if (read.problem) problems.push(read.problem)
      return
    }
  }
  add({ own: own.comicInfo, folders: FOLDER_FILES.comicInfo }, readComicInfo)
  add({ own: own.opf, folders: FOLDER_FILES.opf }, readOpfFile)
  return { embedded, problems: oneOfMetadata(problems) }
}

/** The picture beside the only book of a folder; null without one. */
export function readCoverFile({ path, ...inside }: LibraryFile): { bytes: Uint8Array } | { problem: Problem } | null {
  const folder = dirname(path)
  const bytes = readSmallFile({ ...inside, path: join(folder, FOLDER_FILES.cover) }, COVER_BYTES_MAX)
  return bytes === null || !isOnlyBook(folder, stemOf(basename(path))) ? null : bytes
}

/** Reads the file that describes the series of a folder. */
export function readSeriesFile(file: LibraryFile): SeriesFileOutcome {
  const json = readSmallFile(file)
  if (json === null) return { series: null, problem: null }
  if ('problem' in json) return { series: null, problem: json.problem }
  const { series, problem } = readSeriesJson(json.bytes)
  return { series: series ?? null, problem }
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

/** Null when the file does not exist, the common case: one system call. A file outside the library counts as missing. */
function readSmallFile({ path, ...inside }: LibraryFile, bytesMax = XML_BYTES_MAX): { bytes: Uint8Array } | { problem: Problem } | null {
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
    return { bytes: bytes.subarray(0, filled) }
  } catch (error) {
    return { problem: unreadable(path, (error as NodeJS.ErrnoException).code ?? String(error)) }
  } finally {
    closeSync(fd)
  }
}

function unreadable(path: string, reason: string): Problem {
  return { type: 'metadata', message: `${basename(path)} beside the book cannot be read: ${reason}.`, fatal: false }
}

function isOnlyBook(folder: string, stem: string): boolean {
  try {
    return readdirSync(folder).every((name) => formatOfName(name) === null || stemOf(name) === stem || name.startsWith('.'))
  } catch {
    return false
  }
}
