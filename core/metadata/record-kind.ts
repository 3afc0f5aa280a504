import { BOOK_FIELDS } from '#core/metadata/book-metadata.ts'
import type { Field } from '#core/metadata/field.ts'
import { SERIES_FIELDS } from '#core/metadata/series-metadata.ts'

export type Kind = 'book' | 'series'

const FIELDS: Readonly<Record<Kind, readonly Field[]>> = { book: BOOK_FIELDS, series: SERIES_FIELDS }

/** Every field that records of a kind have. */
export const fieldsOf = (kind: Kind): readonly Field[] => FIELDS[kind]
