import { titleOfFileName } from '#core/fields/file-name.ts'

/** Titles that contain only a number: "Vol. 3", "Chapter 12", "#7". */
const GENERIC = /^[\s.:#_-]*(?:(?:vol(?:ume)?|v|ch(?:apter)?|c|issue|part|ep(?:isode)?|no|nr|number)[\s.:#_-]*)*\d+(?:\.\d+)?\s*$/i
/** Characters; an index entry of PostgreSQL holds 2,704 bytes, and a character takes up to four. */
const TITLE_MAX = 500

/** The title by the library's strategy: the embedded title, or that of the library's pattern, or the name of the file. */
export function chooseTitle(book: {
  strategy: string
  fileName: string
  embedded: string | undefined
  placed?: string | undefined
}): string {
  return embeddedTitle(book) ?? cut(book.placed ?? titleOfFileName(book.fileName))
}

/** The title in the file, if the strategy uses it; undefined if the name of the file is the title. */
export function embeddedTitle(book: { strategy: string; embedded: string | null | undefined }): string | undefined {
  const embedded = book.embedded?.replaceAll(/\s+/g, ' ').trim() ?? ''
  const takes = book.strategy === 'metadata_first' || (book.strategy === 'smart' && !GENERIC.test(embedded))
  return takes && embedded !== '' ? cut(embedded) : undefined
}

const cut = (title: string) => [...title].slice(0, TITLE_MAX).join('')
