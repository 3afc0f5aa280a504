import { BOOK_FORMATS, type BookFormat } from '#core/fields/book-format.ts'

export type MediaProfile = 'DIVINA' | 'EPUB' | 'PDF'

/** The media type that Komga's scanner detects for each format, and its profile. */
export const KOMGA_MEDIA: Readonly<Record<BookFormat, { mediaType: string; profile: MediaProfile }>> = {
  cbz: { mediaType: 'application/zip', profile: 'DIVINA' },
  cbr: { mediaType: 'application/x-rar-compressed', profile: 'DIVINA' },
  epub: { mediaType: 'application/epub+zip', profile: 'EPUB' },
  pdf: { mediaType: 'application/pdf', profile: 'PDF' },
}

export const formatsOfProfile = (profile: MediaProfile): BookFormat[] =>
  BOOK_FORMATS.filter((format) => KOMGA_MEDIA[format].profile === profile)
