import { BookProblem } from '../../book-problem.ts'
import { descendantsNamed, textOf, type XmlElement } from '../../metadata/xml.ts'
import type { ZipArchive } from '../zip/zip.ts'
import type { EpubPackage } from './epub-package.ts'

/** The styles of a page that shows nothing are some lines; a longer one may show something. */
const STYLE_BYTES_MAX = 256 * 1024

/** `@font-face` and `@import` name files that are no pictures; one that does not end, ends with the style. */
const NOT_PICTURES = /@font-face\s*\{[^}]*|@import[^;]*/gi
const PICTURE = /url\(|image-set\(|gradient\(/i

/** Whether the styles of a page may show a picture: then it is not blank, although its elements are empty. */
export function mayBeStyled(archive: ZipArchive, book: EpubPackage, page: { root: XmlElement; from: string }): boolean {
  const { root, from } = page
  const styles = [...descendantsNamed(root, 'style')].map(textOf)
  for (const link of descendantsNamed(root, 'link')) {
    if (!/\bstylesheet\b/i.test(link.attributes.get('rel') ?? '')) continue
    const entry = book.resolve(link.attributes.get('href') ?? '', from)?.entry
    if (entry === undefined) continue
    if (entry.bytes > STYLE_BYTES_MAX) return true
    try {
      styles.push(Buffer.from(archive.read(entry, STYLE_BYTES_MAX)).toString('latin1'))
    } catch (error) {
      if (!(error instanceof BookProblem)) throw error
    }
  }
  return styles.some((style) => PICTURE.test(style.replace(NOT_PICTURES, ''))) || hasOwnStyle(root)
}

function hasOwnStyle(element: XmlElement): boolean {
  return (
    PICTURE.test(element.attributes.get('style') ?? '') || element.children.some((child) => typeof child !== 'string' && hasOwnStyle(child))
  )
}
