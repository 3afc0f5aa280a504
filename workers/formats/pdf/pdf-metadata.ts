import type { Problem } from '#core/fields/analysis.ts'
import type { Embedded } from '#core/fields/embedded.ts'
import { authorsOf, isbnsOf, languageOf, lineOf, namesOf, present, Remarks, summaryOf, textOfHtml } from '../../metadata/metadata-values.ts'
import { readDate } from '../../metadata/written-date.ts'
import type { PDFDocumentProxy } from './pdf-document.ts'
import { isLeftByProgram } from './program-title.ts'

const INFO_NAMES = ['Title', 'Author', 'Subject', 'Keywords', 'keywords', 'Language'] as const
const XMP_NAMES = [
  'dc:title',
  'dc:creator',
  'dc:subject',
  'dc:description',
  'dc:publisher',
  'dc:language',
  'prism:publicationdate',
  'prism:coverdate',
  'prism:isbn',
  'pdfx:isbn',
  'xmp:identifier',
] as const

/** Longer reasons are no reasons. */
const DAMAGE_LENGTH_MAX = 1_000
/** In all, so that a description of a document is bounded: ten times what a book may have. */
const TEXTS_LENGTH_MAX = 500_000

/** The texts of a document from which its metadata is taken. */
export interface PdfTexts {
  /** Fields of the document information. */
  info: { [Name in (typeof INFO_NAMES)[number]]?: string }
  /** Values of XMP properties, of every language and in any order. */
  xmp: { [Name in (typeof XMP_NAMES)[number]]?: string[] }
  /** Why they cannot be read; null if they can. */
  damage: string | null
}

/** Document information and XMP of a PDF. */
export async function readPdfTexts(document: PDFDocumentProxy): Promise<PdfTexts> {
  try {
    const { info, metadata } = await document.getMetadata()
    let room = TEXTS_LENGTH_MAX
    const within = (text: string) => {
      const part = text.slice(0, room)
      room -= part.length
      return part
    }
    const infoOf = (name: string): [string, string][] => {
      const value: unknown = (info as Record<string, unknown>)[name]
      // Titles padded with NUL are common.
      return typeof value === 'string' ? [[name, within(value.replaceAll('\0', ' '))]] : []
    }
    const xmpOf = (name: string): [string, string[]][] => {
      const list = listOf(metadata?.get(name))
        .map(within)
        .filter((text) => text !== '')
      return list.length > 0 ? [[name, list]] : []
    }
    return { info: Object.fromEntries(INFO_NAMES.flatMap(infoOf)), xmp: Object.fromEntries(XMP_NAMES.flatMap(xmpOf)), damage: null }
  } catch (error) {
    return { info: {}, xmp: {}, damage: String(error).slice(0, DAMAGE_LENGTH_MAX) }
  }
}

/** Whether a value of another process is what {@link readPdfTexts} returns. */
export function isPdfTexts(value: unknown): value is PdfTexts {
  if (typeof value !== 'object' || value === null) return false
  const { info, xmp, damage } = value as Record<string, unknown>
  const hasOnly = (record: unknown, names: readonly string[], isValue: (value: unknown) => boolean) =>
    typeof record === 'object' && record !== null && Object.entries(record).every(([name, one]) => names.includes(name) && isValue(one))
  const isText = (one: unknown) => typeof one === 'string'
  return (
    hasOnly(info, INFO_NAMES, isText) &&
    hasOnly(xmp, XMP_NAMES, (list) => Array.isArray(list) && list.every(isText)) &&
    (damage === null || isText(damage))
  )
}

/** When the texts are damaged, the book still loads without metadata. */
export function metadataOf({ info, xmp, damage }: PdfTexts): { embedded: Embedded; problem: Problem | null } {
  if (damage === null) {
    const remarks = new Remarks()
    const embedded = embeddedOf({ info: (name) => info[name], xmp: (name) => xmp[name] ?? [] }, remarks)
    return { embedded, problem: remarks.problem('The document information of this PDF') }
  }
  const problem: Problem = {
    type: 'metadata',
    message: 'The document information of this PDF is damaged, so its title is unknown.',
    details: { reason: damage },
    fatal: false,
  }
  return { embedded: {}, problem }
}

interface Written {
  info: (name: (typeof INFO_NAMES)[number]) => string | undefined
  xmp: (name: (typeof XMP_NAMES)[number]) => string[]
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
  const { year } = readDate(xmp('prism:publicationdate')[0] ?? xmp('prism:coverdate')[0] ?? '') ?? {}
  return (
    present<Embedded>({
      title: [info('Title'), xmp('dc:title')[0]]
        .map((title) => lineOf(title))
        .find((title) => title !== undefined && !isLeftByProgram(title)),
      book: present({
        authors: nonEmpty(authorsOf(people.map((name) => ({ name, role: 'author' as const })))),
        summary: summaryOf(textOfHtml(info('Subject') ?? xmp('dc:description')[0] ?? ''), 'Subject', remarks),
        subjects: nonEmpty(subjects),
        publisher: lineOf(xmp('dc:publisher')[0]),
        languageIso: languageOf(info('Language') ?? xmp('dc:language')[0], 'Language', remarks),
        isbns: isbnsOf(
          [...xmp('prism:isbn'), ...xmp('pdfx:isbn'), ...xmp('xmp:identifier').filter((id) => /isbn/i.test(id))],
          'ISBN',
          remarks,
        ),
        year,
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
