import { descendantsNamed, findDescendant } from '../../metadata/xml.ts'
import type { ZipArchive } from '../zip/zip.ts'
import type { EpubPackage } from './epub-package.ts'
import { readPage } from './epub-spine-image.ts'

/** One kilobyte for each file of the book: enough for 4,000 files. */
const ENCRYPTION_BYTES_MAX = 4 * 1024 * 1024

/** Font obfuscation with the book's own identifier; it does not restrict reading. */
const FONT_OBFUSCATIONS = new Set(['http://www.idpf.org/2008/embedding', 'http://ns.adobe.com/pdf/enc#RC'])

/** Archive paths that META-INF/encryption.xml lists as encrypted, without obfuscated fonts. */
export function findEncryptedPaths(archive: ZipArchive, book: EpubPackage): Set<string> {
  const paths = new Set<string>()
  const entry = book.resolve('META-INF/encryption.xml', '')?.entry
  const root = entry === undefined ? undefined : readPage(archive, entry, ENCRYPTION_BYTES_MAX)
  if (root === undefined) return paths
  for (const data of descendantsNamed(root, 'EncryptedData')) {
    const algorithm = findDescendant(data, 'EncryptionMethod')?.attributes.get('Algorithm') ?? ''
    if (FONT_OBFUSCATIONS.has(algorithm)) continue
    for (const reference of descendantsNamed(data, 'CipherReference')) {
      const found = book.resolve(reference.attributes.get('URI') ?? '', '')
      if (found !== undefined) paths.add(found.entry?.name ?? found.path)
    }
  }
  return paths
}
