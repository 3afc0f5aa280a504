import { hasZipDirectory, readAt } from './zip/zip-directory.ts'

/** The container by content; the extension is ignored. */
type Container = 'zip' | 'rar' | 'pdf'

/** A PDF may have up to 1,024 bytes of anything before its header (ISO 32000-1, annex H). */
const HEAD_BYTES = 1024

/** Other common files in book folders, so that the refusal can name them. */
const OTHER_FORMATS: [name: string, at: number, signature: string][] = [
  ['a 7-Zip archive', 0, '7z\xbc\xaf\x27\x1c'],
  ['a gzip archive', 0, '\x1f\x8b'],
  ['a bzip2 archive', 0, 'BZh'],
  ['an xz archive', 0, '\xfd7zXZ'],
  ['a tar archive', 257, 'ustar'],
  ['a PNG picture', 0, '\x89PNG'],
  ['a JPEG picture', 0, '\xff\xd8\xff'],
  ['a GIF picture', 0, 'GIF8'],
  ['a WebP picture', 8, 'WEBP'],
  ['a DjVu document', 0, 'AT&TFORM'],
  ['a Mobipocket book', 60, 'BOOKMOBI'],
  ['a web page', 0, '<!DOCTYPE html'],
  ['a web page', 0, '<html'],
]

/** What a file is that is no container. */
interface Instead {
  /** Part of a sentence. */
  instead: string
  /** Whether a copy of a book that continues may look like this: short, or with zeros where the rest will be. */
  mayContinue: boolean
}

/** The container, or what the file is instead. */
export function detectContainer(fd: number, fileBytes: number): Container | Instead {
  if (fileBytes === 0) return { instead: 'empty (0 bytes)', mayContinue: true }
  const head = readAt(fd, 0, HEAD_BYTES).toString('latin1')
  if (/^PK(\x03\x04|\x05\x06|\x07\x08)/.test(head)) return 'zip'
  if (head.startsWith('Rar!\x1a\x07')) return 'rar'
  if (head.includes('%PDF-')) return 'pdf'
  // The directory of a zip is at its end: the file may have a prefix, or its beginning may be lost.
  if (hasZipDirectory(fd, fileBytes)) return 'zip'
  const other = OTHER_FORMATS.find(([, at, signature]) => head.toLowerCase().startsWith(signature.toLowerCase(), at))
  if (other) return { instead: other[0], mayContinue: false }
  // The first bytes of every format are text, and so may be what comes before the header of a PDF.
  if (/^[\t\n\r\x20-\x7e]*$/.test(head)) return { instead: 'plain text', mayContinue: fileBytes < HEAD_BYTES }
  return { instead: 'in an unknown format', mayContinue: true }
}
