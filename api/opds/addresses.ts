/** Root addresses of both versions of the protocol, and addresses that both use. */
export const OPDS_ROOT = '/opds'
export const ATOM_ROOT = '/opds/v1/catalog'
export const OPDS2_ROOT = '/opds/v2'
export const AUTHENTICATION_PATH = '/opds/authentication'
export const SEARCH_DESCRIPTION_PATH = `${ATOM_ROOT}/search.xml`

/** Sizes of covers, by their longer side: for a list, for a page about the book, for a full screen. */
export const COVER_SIZES = ['small', 'medium', 'large'] as const
export type CoverSize = (typeof COVER_SIZES)[number]

export const fileHref = (bookId: string): string => `/opds/books/${bookId}/file`
export const bookCoverHref = (bookId: string, size: CoverSize): string => `/opds/books/${bookId}/cover?size=${size}`
export const seriesCoverHref = (seriesId: string): string => `/opds/series/${seriesId}/cover`
/** A URL template of OPDS-PSE: pages count from 0. */
export const pageTemplate = (bookId: string): string => `/opds/books/${bookId}/pages/{pageNumber}?width={maxWidth}`
export const manifestHref = (bookId: string): string => `${OPDS2_ROOT}/books/${bookId}/manifest`
export const progressionHref = (bookId: string): string => `${OPDS2_ROOT}/books/${bookId}/progression`
