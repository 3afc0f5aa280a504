import { formatOfName } from '#core/fields/book-format.ts'
import { BookProblem } from '../book-problem.ts'
import { pageTypeOf } from './comic/page-order.ts'
import type { ZipArchive } from './zip/zip.ts'

const EPUB_TYPE = 'application/epub+zip'
/** The longest media type of an OpenDocument file has 64 characters. */
const MIMETYPE_BYTES = 128
/** Types with which comics are marked. */
const COMIC_TYPE = /^application\/(zip|x-zip|x-zip-compressed|x-cbz|vnd\.comicbook\+zip)$/

/** Files by which other documents that are ZIPs are recognized, whether they contain pictures or not. */
const MARKS: [name: RegExp, document: string][] = [
  [/^\[Content_Types\]\.xml$/i, 'a document of an office program'],
  // OpenDocument, also without its media type.
  [/^META-INF\/manifest\.xml$/, 'a document of an office program'],
  [/^Index\/Document\.iwa$|^Index\.zip$/, 'a document of an office program'],
  [/\.class$|^AndroidManifest\.xml$/, 'a program'],
]

/** Files of HTMLZ books, saved web pages and browser extensions. */
const WEB_FILE = /\.(x?html?|js)$/i

/** By the marks of the OCF container. Some EPUBs lack `mimetype` or misspell it; a container file that leads to a package is enough. */
export function isEpub(archive: ZipArchive): boolean {
  if (mimetypeOf(archive).startsWith(EPUB_TYPE)) return true
  return archive.find('META-INF/container.xml') !== undefined && archive.entries.some((entry) => /\.opf$/i.test(entry.name))
}

/** What a ZIP that is no EPUB is instead of a comic; null for an archive of pictures, or one that nothing marks as a document. */
export function documentInstead(archive: ZipArchive): string | null {
  const type = mimetypeOf(archive)
  if (/^[a-z]+\/[\w.+-]+$/i.test(type) && !COMIC_TYPE.test(type)) return `a document of the type ${type}`
  const mark = MARKS.find(([name]) => archive.entries.some((entry) => name.test(entry.name)))
  if (mark) return mark[1]
  if (formatOfName(archive.path) !== 'epub') return null
  // Comics with the wrong name hold pictures and little else. Web pages and scripts make it a book of another format, or a program.
  const isComic = archive.entries.some(({ name }) => pageTypeOf(name) !== null) && !archive.entries.some(({ name }) => WEB_FILE.test(name))
  return isComic ? null : 'a ZIP archive that is named like an EPUB, without the files of one'
}

/** What the entry `mimetype` says: the mark of EPUBs and of OpenDocument files. */
function mimetypeOf(archive: ZipArchive): string {
  const entry = archive.find('mimetype')
  if (!entry) return ''
  try {
    return Buffer.from(archive.head(entry, MIMETYPE_BYTES)).toString('latin1', 0, MIMETYPE_BYTES).trim()
  } catch (error) {
    if (error instanceof BookProblem) return ''
    throw error
  }
}
