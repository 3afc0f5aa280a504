import type { DescribedCover, Problem } from '#core/fields/analysis.ts'
import { cutText } from '#core/foundation/text.ts'
import { pictureTypeOf } from '#core/reading/picture-type.ts'
import { BookProblem } from '../../book-problem.ts'
import type { DrawPdfPage } from '../../drawing.ts'
import { isNotDrawn, makeThumbnail } from '../../images/image.ts'
import { makePlainCover } from '../../images/plain-picture.ts'
import { ENTRY_BYTES_MAX, THUMBNAIL_LONGEST_SIDE } from '../../limits.ts'
import type { ZipArchive, ZipEntry } from '../zip/zip.ts'
import type { EpubPackage } from './epub-package.ts'
import { findFirstImage } from './epub-spine-image.ts'

const NAME_IN_MESSAGE_LENGTH_MAX = 200

/**
 * The cover by the rules of OPF: EPUB 3's `cover-image`, EPUB 2's cover meta, the guide, else the first picture of the
 * first spine item. When one of them names something that cannot be decoded, the next one is tried; a book that names no
 * picture has no cover and no problem.
 */
export async function makeEpubCover(
  archive: ZipArchive,
  book: EpubPackage,
  encrypted: ReadonlySet<string>,
  { draw, coverSide: side = THUMBNAIL_LONGEST_SIDE }: { draw?: DrawPdfPage | undefined; coverSide?: number | undefined },
): Promise<{ cover: DescribedCover | null; problem: Problem | null }> {
  let failure: Problem | null = null
  let foreign: string | null = null
  const tried = new Set<ZipEntry>()
  for (const entry of coverCandidates(archive, book)) {
    if (tried.has(entry) || encrypted.has(entry.name)) continue
    tried.add(entry)
    let content: Uint8Array | null = null
    try {
      content = archive.read(entry, ENTRY_BYTES_MAX)
      const bytes = await makePlainCover(content, side, draw)
      return { cover: await makeThumbnail(bytes, side), problem: null }
    } catch (error) {
      if (!(error instanceof BookProblem)) throw error
      if (content !== null && isForeign(book, entry, content)) foreign ??= entry.name
      else failure ??= failureOf(entry, error)
    }
  }
  foreign ??= namedCover(book)?.path ?? null
  return { cover: null, problem: failure ?? (foreign === null ? null : foreignCover(foreign)) }
}

const failureOf = ({ name }: ZipEntry, error: BookProblem): Problem => ({
  type: 'thumbnail',
  message: `The cover "${name}" cannot be shown: ${error.message}`,
  details: { entry: name, ...error.problem.details },
  fatal: false,
})

/** A remark, no error of the thumbnail: nothing is wrong with the book. */
const foreignCover = (name: string): Problem => ({
  type: 'other',
  message: `The cover "${cutText(name, NAME_IN_MESSAGE_LENGTH_MAX)}" is not in the file, or of a kind that Carrel does not draw, so the book has the placeholder. The book itself is whole.`,
  details: { entry: name },
  fatal: false,
})

/** EPUB's core media types of pictures, and those that are drawn besides them. */
const DRAWN = /^image\/(jpe?g|pjpeg|png|gif|webp|svg\+xml|avif|bmp|x-ms-bmp|tiff)$/

/** Whether the entry is whole, but of a kind that is not drawn: by its first bytes, or by what the package calls it. */
function isForeign(book: EpubPackage, entry: ZipEntry, content: Uint8Array): boolean {
  if (isNotDrawn(content)) return true
  const mediaType = book.manifest.find((item) => item.entry === entry)?.mediaType ?? ''
  return pictureTypeOf(content) === null && mediaType !== '' && !DRAWN.test(mediaType)
}

/** The cover that the package names and the file lacks. */
const namedCover = ({ manifest, coverMeta }: EpubPackage) =>
  manifest.find(
    ({ entry, properties, id }) => entry === undefined && (properties.includes('cover-image') || (id !== '' && id === coverMeta)),
  )

/** At most one candidate of each kind, so a book of broken pictures costs at most four decodings. */
function* coverCandidates(archive: ZipArchive, book: EpubPackage): Generator<ZipEntry> {
  const candidates = [
    () => book.manifest.find((item) => item.properties.includes('cover-image'))?.entry,
    () => findMetaCover(book),
    () => book.guideCover,
    () => book.spine.items[0]?.entry,
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
