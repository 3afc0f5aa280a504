import { READING_ORDER } from '#core/fields/reading-order.ts'

/**
 * The cover that the thumbnail of a record shows, for statements: a text that `shownCoverOf` of core/covers/current-cover.ts reads, or null. Its parts are in
 * the rows that a list reads anyway, or one look-up away by an index. JSON would take several times as long.
 */

const coverText = (of: string): string => `concat(${of}hash, ',', ${of}width, ',', ${of}height, ',', ${of}color)`

/** The table that {@link SHOWN_BOOK_COVER} needs beside books. */
export const BOOK_COVER_JOIN = 'LEFT JOIN covers AS book_cover ON book_cover.book_id = books.id AND book_cover.is_selected'

/** Of a row of books: the chosen one, otherwise that of the file. */
export const SHOWN_BOOK_COVER = `CASE WHEN book_cover.id IS NOT NULL THEN ${coverText('book_cover.')}
    WHEN books.cover_hash IS NOT NULL THEN ${coverText('books.cover_')} END`

/** Of a row of series, beside its chosen cover as `covers`: that one, otherwise that of its first book with a cover, as findReadableSeries finds it. */
export const SHOWN_SERIES_COVER = `CASE WHEN covers.id IS NOT NULL THEN ${coverText('covers.')}
    ELSE (SELECT ${SHOWN_BOOK_COVER} FROM books ${BOOK_COVER_JOIN}
      WHERE books.series_id = series.id AND books.cover_hash IS NOT NULL AND books.deleted_at IS NULL ORDER BY ${READING_ORDER} LIMIT 1) END`
/** The table that {@link SHOWN_SERIES_COVER} needs beside series. */
export const SERIES_COVER_JOIN = 'LEFT JOIN covers ON covers.series_id = series.id AND covers.is_selected'
