import type { Cover, Problem } from '#core/metadata/analysis.ts'
import { BookProblem } from '../../book-problem.ts'
import type { DrawPdfPage } from '../../drawing.ts'
import { makeThumbnail } from '../../images/image.ts'
import { makePlainCover } from '../../images/plain-picture.ts'
import { ENTRY_BYTES_MAX, THUMBNAIL_LONGEST_SIDE } from '../../limits.ts'
import type { ZipArchive, ZipEntry } from '../zip/zip.ts'
import type { EpubPackage } from './epub-package.ts'
import { findFirstImage } from './epub-spine-image.ts'

/**
 * The cover by the rules of OPF: EPUB 3's `cover-image`, EPUB 2's cover meta, the guide, else the first picture of the
 * first spine item. When one of them names something that cannot be decoded, the next one is tried; a book that names no
 * picture has no cover and no problem.
 */
export async function makeEpubCover(
  archive: ZipArchive,
  book: EpubPackage,
  encrypted: ReadonlySet<string>,
  draw: DrawPdfPage | undefined,
): Promise<{ cover: Cover | null; problem: Problem | null }> {
  let failure: Problem | null = null
  const tried = new Set<ZipEntry>()
  for (const entry of coverCandidates(archive, book)) {
    if (tried.has(entry) || encrypted.has(entry.name)) continue
    tried.add(entry)
    try {
      const bytes = await makePlainCover(archive.read(entry, ENTRY_BYTES_MAX), THUMBNAIL_LONGEST_SIDE, draw)
      return { cover: await makeThumbnail(bytes), problem: null }
    } catch (error) {
      if (!(error instanceof BookProblem)) throw error
      failure ??= {
        type: 'thumbnail',
        message: `The cover "${entry.name}" cannot be shown: ${error.message}`,
        details: { entry: entry.name, ...error.problem.details },
        fatal: false,
      }
    }
  }
  return { cover: null, problem: failure }
}

/** At most one candidate of each kind, so a book of broken pictures costs at most four decodings. */
function* coverCandidates(archive: ZipArchive, book: EpubPackage): Generator<ZipEntry> {
  const candidates = [
    () => book.manifest.find((item) => item.properties.includes('cover-image'))?.entry,
    () => findMetaCover(book),
    () => book.guideCover,
    () => book.spine[0]?.entry,
  ]
  for (const find of candidates) {
    const entry = find()
    const picture = entry === undefined ? undefined : pictureOf(archive, book, entry)
    if (picture !== undefined) yield picture
  }
}

/** The content of the meta is a manifest id; some books write the href, or the id of the page that shows the cover. */
function findMetaCover(book: EpubPackage): ZipEntry | undefined {
  const { coverMeta } = book
  if (coverMeta === undefined || coverMeta === '') return undefined
  const byId = book.manifest.find((item) => item.id === coverMeta)
  return (byId ?? book.manifest.find((item) => item.path === coverMeta || item.path.endsWith(`/${coverMeta}`)))?.entry
}

/** The entry itself when it is a picture, the first picture in it when it is a page. */
function pictureOf(archive: ZipArchive, book: EpubPackage, entry: ZipEntry): ZipEntry | undefined {
  const mediaType = book.manifest.find((item) => item.entry === entry)?.mediaType ?? ''
  const isPicture = mediaType.startsWith('image/') || /\.(jpe?g|jpe|png|gif|webp|avif|svg|bmp|tiff?)$/i.test(entry.name)
  return isPicture ? entry : findFirstImage(archive, book, entry)
}
