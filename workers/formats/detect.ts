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

/** The container, or a phrase that says what the file is instead. */
export function detectContainer(fd: number, fileBytes: number): Container | { instead: string } {
  if (fileBytes === 0) return { instead: 'empty (0 bytes)' }
  const head = readAt(fd, 0, HEAD_BYTES).toString('latin1')
  if (/^PK(\x03\x04|\x05\x06|\x07\x08)/.test(head)) return 'zip'
  if (head.startsWith('Rar!\x1a\x07')) return 'rar'
  if (head.includes('%PDF-')) return 'pdf'
  // The directory of a zip is at its end: the file may have a prefix, or its beginning may be lost.
  if (hasZipDirectory(fd, fileBytes)) return 'zip'
  const other = OTHER_FORMATS.find(([, at, signature]) => head.toLowerCase().startsWith(signature.toLowerCase(), at))
  if (other) return { instead: other[0] }
  return { instead: /^[\t\n\r\x20-\x7e]*$/.test(head) ? 'plain text' : 'in an unknown format' }
}
