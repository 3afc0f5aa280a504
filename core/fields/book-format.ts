/** The formats of books: what the server has to know about each, except how to read it. */
export const BOOK_FORMATS = ['cbz', 'cbr', 'epub', 'pdf'] as const
export type BookFormat = (typeof BOOK_FORMATS)[number]

/**
 * The file extensions from which each format is expected; analysis decides by content. 7z and tar comics cannot be read, but a user who has some
 * sees an error on the book instead of missing it.
 */
const EXTENSIONS: Readonly<Record<BookFormat, readonly string[]>> = {
  cbz: ['cbz', 'zip', 'cbt'],
  cbr: ['cbr', 'rar', 'cb7'],
  epub: ['epub'],
  pdf: ['pdf'],
}
const FORMAT_OF_EXTENSION = new Map(
  BOOK_FORMATS.flatMap((format) => EXTENSIONS[format].map((extension): [string, BookFormat] => [extension, format])),
)

/** The format according to the name; null for a file that is not a book. */
export function formatOfName(name: string): BookFormat | null {
  const dot = name.lastIndexOf('.')
  if (dot < 1) return null
  const extension = name.slice(dot + 1)
  return FORMAT_OF_EXTENSION.get(extension) ?? FORMAT_OF_EXTENSION.get(extension.toLowerCase()) ?? null
}

/** A file's name without its extension. `.kepub.epub` is one: it marks EPUBs for Kobo readers. The ".5" of "Ch. 10.5" and the ".v01" of "Akira.v01" are none. */
export const stemOf = (fileName: string): string => fileName.replace(/(?<=.)(?:\.kepub)?\.(?!\d+$|[vct]\d+$)\w{1,5}$/is, '')

/** Registered names; browsers choose the application by them. */
export const MEDIA_TYPE_OF_FORMAT: Readonly<Record<BookFormat, string>> = {
  cbz: 'application/vnd.comicbook+zip',
  cbr: 'application/vnd.comicbook-rar',
  epub: 'application/epub+zip',
  pdf: 'application/pdf',
}

export const BOOK_MEDIA_TYPES = Object.values(MEDIA_TYPE_OF_FORMAT)
