import { closeSync, fstatSync } from 'node:fs'
import { openInsideSync } from '#core/foundation/open-inside.ts'
import type { LibraryFile } from '#core/metadata/analysis.ts'
import {
  CONTENTS,
  type Content,
  normalizeArchivePath,
  type Publication,
  type PublicationFile,
  type PublicationOutcome,
  type PublicationResource,
  type SpineItem,
} from '#core/reading/publication.ts'
import { BookProblem } from '../../book-problem.ts'
import { PACKAGE_PATHS_LENGTH_MAX } from '../../limits.ts'
import { fileRefusal } from '../file-refusal.ts'
import { openZip, type ZipArchive, type ZipEntry } from '../zip/zip.ts'
import { positionsIn } from './epub.ts'
import { listEpubEntries } from './epub-entries.ts'
import { type EpubPackage, type ManifestItem, openPackage } from './epub-package.ts'
import { readContents } from './publication-toc.ts'

/** The package of an EPUB for clients, with the offset of every entry. Never throws for a bad file. */
export async function readPublication(request: LibraryFile): Promise<PublicationOutcome> {
  let fd: number
  try {
    fd = openInsideSync(request.root, request.path)
  } catch (error) {
    return { problem: fileRefusal(error) }
  }
  try {
    const file = { path: request.path, fd, bytes: fstatSync(fd).size }
    const archive = openZip(file, await listEpubEntries(file))
    return { publication: publicationOf(archive, openPackage(archive)) }
  } catch (error) {
    return { problem: error instanceof BookProblem ? error.problem : fileRefusal(error) }
  } finally {
    closeSync(fd)
  }
}

/** @throws BookProblem before anything is built from it */
function checkPathsLength(book: EpubPackage): void {
  const length = [...book.spine, ...book.manifest].reduce((sum, { path }) => sum + path.length, 0)
  if (length <= PACKAGE_PATHS_LENGTH_MAX) return
  throw new BookProblem(
    'parser',
    `The addresses in the package document have ${length} characters; ${PACKAGE_PATHS_LENGTH_MAX} are read at most.`,
  )
}

function publicationOf(archive: ZipArchive, book: EpubPackage): Publication {
  checkPathsLength(book)
  const cover = coverOf(book)
  const inSpine = new Set(book.spine)
  const direction = book.embedded.series?.fields?.readingDirection
  return {
    isFixedLayout: book.fixedLayout,
    readingProgression: direction === 'rtl' || direction === 'ltr' ? direction : null,
    spine: book.spine.map((item, index): SpineItem => {
      const side = book.sides[index]
      return { ...describe(item), positions: positionsIn(book, item), ...(side && { side }) }
    }),
    resources: book.manifest
      .filter((item) => item.entry !== undefined && !inSpine.has(item))
      .map((item): PublicationResource => {
        const rel = item === cover ? 'cover' : item.properties.includes('nav') ? 'contents' : undefined
        return { ...describe(item), ...(rel && { rel }) }
      }),
    ...readContents(archive, book),
    files: filesOf(archive, book),
  }
}

/** By EPUB 3's property, else by EPUB 2's meta, which has a manifest id. */
function coverOf(book: EpubPackage): ManifestItem | undefined {
  return (
    book.manifest.find(({ properties }) => properties.includes('cover-image')) ??
    book.manifest.find(({ id, mediaType }) => id !== '' && id === book.coverMeta && mediaType.startsWith('image/'))
  )
}

function describe(item: ManifestItem): { path: string; mediaType: string; contains?: Content[] } {
  const contains = CONTENTS.filter((content) => item.properties.includes(content === 'js' ? 'scripted' : content))
  return {
    path: normalizeArchivePath(item.path),
    mediaType: mediaTypeOf(item.mediaType, item.path),
    ...(contains.length > 0 && { contains }),
  }
}

/** Every file of the archive, in the manifest or not: styles refer to fonts that no manifest lists. Of equal names the last one counts, as elsewhere. */
function filesOf(archive: ZipArchive, book: EpubPackage): PublicationFile[] {
  const listed = new Map<ZipEntry, ManifestItem>()
  for (const item of book.manifest) if (item.entry !== undefined) listed.set(item.entry, item)
  const files: PublicationFile[] = []
  for (const entry of archive.entries) {
    if (entry.name.endsWith('/')) continue
    const path = normalizeArchivePath(entry.name)
    files.push({ path, mediaType: mediaTypeOf(listed.get(entry)?.mediaType ?? '', path), bytes: entry.bytes, zip: placeOf(archive, entry) })
  }
  return files
}

function placeOf(archive: ZipArchive, entry: ZipEntry): PublicationFile['zip'] {
  try {
    return archive.locate(entry)
  } catch (error) {
    if (error instanceof BookProblem) return null
    throw error
  }
}

/** RFC 6838, 4.2; without parameters. */
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/

const BY_EXTENSION: Record<string, string> = {
  xhtml: 'application/xhtml+xml',
  html: 'text/html',
  htm: 'text/html',
  css: 'text/css',
  svg: 'image/svg+xml',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  ttf: 'font/ttf',
  otf: 'font/otf',
  woff: 'font/woff',
  woff2: 'font/woff2',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  mp4: 'video/mp4',
  opf: 'application/oebps-package+xml',
  ncx: 'application/x-dtbncx+xml',
  xml: 'application/xml',
}

function mediaTypeOf(listed: string, path: string): string {
  if (MEDIA_TYPE.test(listed)) return listed
  const extension = /\.([a-z0-9]{1,10})$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  return BY_EXTENSION[extension] ?? 'application/octet-stream'
}
