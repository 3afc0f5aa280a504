import { closeSync, fstatSync } from 'node:fs'
import type { LibraryFile, Problem } from '#core/fields/analysis.ts'
import { openInsideSync } from '#core/foundation/open-inside.ts'
import { packPublication } from '#core/reading/packed-publication.ts'
import {
  CONTENTS,
  type Content,
  encodePath,
  foldPath,
  normalizeArchivePath,
  type Publication,
  type PublicationFile,
  type PublicationOutcome,
  type PublicationResource,
  type SpineItem,
} from '#core/reading/publication.ts'
import { BookProblem } from '../../book-problem.ts'
import { fileRefusal } from '../file-refusal.ts'
import { ZipArchive, type ZipEntry } from '../zip/zip.ts'
import { positionsIn } from './epub.ts'
import { listEpubEntries } from './epub-entries.ts'
import { type EpubPackage, readEpubPackage } from './epub-package.ts'
import type { ManifestItem } from './epub-spine.ts'
import { mediaTypeOf } from './media-types.ts'
import { readContents } from './publication-toc.ts'

/** The package of an EPUB for clients, with the offset of every entry, as `unpackPublication` reads it. Never throws for a bad file. */
export async function readPacked(request: LibraryFile): Promise<PublicationOutcome> {
  const outcome = await readPublication(request)
  return 'problem' in outcome ? outcome : { bytes: packPublication(outcome.publication) }
}

/** The same as a value of this thread. */
export async function readPublication(request: LibraryFile): Promise<{ publication: Publication } | { problem: Problem }> {
  let fd: number
  try {
    fd = openInsideSync(request)
  } catch (error) {
    return { problem: fileRefusal(error) }
  }
  try {
    const file = { path: request.path, fd, bytes: fstatSync(fd).size }
    const archive = new ZipArchive(file, await listEpubEntries(file))
    return { publication: publicationOf(archive, readEpubPackage(archive)) }
  } catch (error) {
    return { problem: error instanceof BookProblem ? error.problem : fileRefusal(error) }
  } finally {
    closeSync(fd)
  }
}

function publicationOf(archive: ZipArchive, book: EpubPackage): Publication {
  const { items, sides, references } = book.spine
  const direction = book.embedded.series?.fields?.readingDirection
  return {
    isFixedLayout: book.fixedLayout,
    readingProgression: direction === 'rtl' || direction === 'ltr' ? direction : null,
    spine: items.map((item, index): SpineItem => {
      const side = sides[index]
      return { ...describe(item), positions: positionsIn(book, item), ...(side && { side }) }
    }),
    ...(references.length > items.length && { references: [...references] }),
    resources: resourcesOf(book),
    ...readContents(archive, book),
    files: filesOf(archive, book),
  }
}

/** The other files of the package, each once: packages may list a file twice, manifests may not. */
function resourcesOf(book: EpubPackage): PublicationResource[] {
  const cover = coverOf(book)
  const listed = new Set<ManifestItem['entry']>([undefined, ...book.spine.items.map(({ entry }) => entry)])
  const resources: PublicationResource[] = []
  for (const item of book.manifest) {
    if (listed.has(item.entry)) continue
    listed.add(item.entry)
    const rel = item === cover ? 'cover' : item.properties.includes('nav') ? 'contents' : undefined
    resources.push({ ...describe(item), ...(rel && { rel }) })
  }
  return resources
}

/** By EPUB 3's property, else by EPUB 2's meta, which has a manifest id. */
function coverOf(book: EpubPackage): ManifestItem | undefined {
  return (
    book.manifest.find(({ properties }) => properties.includes('cover-image')) ??
    book.manifest.find(({ id, mediaType }) => id !== '' && id === book.coverMeta && mediaType.startsWith('image/'))
  )
}

function describe(item: ManifestItem): { path: string; href?: string; mediaType: string; contains?: Content[] } {
  const contains = CONTENTS.filter((content) => item.properties.includes(content === 'js' ? 'scripted' : content))
  const path = normalizeArchivePath(item.path)
  const href = encodePath(path)
  return {
    path,
    ...(href !== path && { href }),
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
    const folded = foldPath(path)
    const mediaType = mediaTypeOf(listed.get(entry)?.mediaType ?? '', path)
    files.push({ path, ...(folded !== path && { folded }), mediaType, bytes: entry.bytes, zip: placeOf(archive, entry) })
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
