import type { Embedded, Problem } from '#core/metadata/analysis.ts'
import {
  authorsOf,
  isbnsOf,
  languageOf,
  lineOf,
  namesOf,
  openRemarks,
  plainText,
  present,
  type Remarks,
  summaryOf,
} from '../../metadata/metadata-values.ts'
import type { PDFDocumentProxy } from './pdf-document.ts'

/** Document information and XMP of a PDF. When they are damaged, the book still loads without metadata. */
export async function readPdfMetadata(document: PDFDocumentProxy): Promise<{ embedded: Embedded; problem: Problem | null }> {
  try {
    const { info, metadata } = await document.getMetadata()
    const remarks = openRemarks()
    const embedded = embeddedOf({ info: texts(info), xmp: (name) => listOf(metadata?.get(name)) }, remarks)
    return { embedded, problem: remarks.problem('The document information of this PDF') }
  } catch (error) {
    const problem: Problem = {
      type: 'metadata',
      message: 'The document information of this PDF is damaged, so its title is unknown.',
      details: { reason: String(error) },
      fatal: false,
    }
    return { embedded: {}, problem }
  }
}

interface Written {
  /** A field of the document information. */
  info: (name: string) => string | undefined
  /** Values of an XMP property, of every language and in any order. */
  xmp: (name: string) => string[]
}

const texts = (info: object) => (name: string) => {
  const value: unknown = (info as Record<string, unknown>)[name]
  // Titles padded with NUL are common.
  return typeof value === 'string' ? value.replaceAll('\0', ' ') : undefined
}

const listOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((text) => typeof text === 'string' && text.trim() !== '')

/**
 * Prefers the document information, which programs show and people edit, and takes missing values from XMP. Its dates belong to
 * the file and not to the book, so only XMP's publication date counts.
 */
function embeddedOf({ info, xmp }: Written, remarks: Remarks): Embedded {
  const creators = xmp('dc:creator')
  const author = info('Author')?.trim()
  // XMP lists several authors separately; a single one is more reliable in the document information. Programs write their URL there.
  const people = (creators.length > 1 || !author ? creators : splitAuthors(author)).filter((name) => !URL_START.test(name.trim()))
  const subjects = namesOf(info('Keywords') ?? info('keywords') ?? xmp('dc:subject').join(';'), /[;,]/)
  // Only the year is reliable: tools write the day on which they made the file.
  const year = /^(\d{4})/.exec(xmp('prism:publicationdate')[0] ?? xmp('prism:coverdate')[0] ?? '')?.[1]
  return (
    present<Embedded>({
      title: lineOf(info('Title')) ?? lineOf(xmp('dc:title')[0]),
      book: present({
        authors: nonEmpty(authorsOf(people.map((name) => ({ name, role: 'author' as const })))),
        summary: summaryOf(plainText(info('Subject') ?? xmp('dc:description')[0] ?? ''), 'Subject', remarks),
        subjects: nonEmpty(subjects),
        publisher: lineOf(xmp('dc:publisher')[0]),
        languageIso: languageOf(info('Language') ?? xmp('dc:language')[0], 'Language', remarks),
        isbns: isbnsOf(
          [...xmp('prism:isbn'), ...xmp('pdfx:isbn'), ...xmp('xmp:identifier').filter((id) => /isbn/i.test(id))],
          'ISBN',
          remarks,
        ),
        year: year === undefined || year === '0000' ? undefined : Number(year),
      }),
      tags: nonEmpty(subjects),
    }) ?? {}
  )
}

const URL_START = /^https?:\/\//i

const nonEmpty = <T>(list: T[]): T[] | undefined => (list.length === 0 ? undefined : list)

/** "Moore, Alan" is one author and "Alan Moore, Dave Gibbons" two: a comma separates only where every part contains a space. */
function splitAuthors(text: string | undefined): string[] {
  const named = namesOf(text, /[;&]|\band\b/)
  return named.flatMap((name) => {
    const parts = name.split(',').map((part) => part.trim())
    return parts.length > 1 && parts.every((part) => part.includes(' ')) ? parts : [name]
  })
}
