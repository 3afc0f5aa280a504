import type { Static } from 'typebox'
import { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import type { AuthorRole, Field } from '#core/fields/field.ts'
import { SERIES_FIELDS } from '#core/fields/series-metadata.ts'

export type Kind = 'book' | 'series'

/** The values of fields as they are stored: strings of people are views of `authors`. */
type StoredValues<One extends Field> = { readonly [Each in Exclude<One, { role: AuthorRole }> as Each['name']]?: Static<Each['schema']> }
/** The values of fields in a change: null clears. */
type PatchValues<One extends Field> = { readonly [Each in One as Each['name']]?: Static<Each['schema']> | null }

/** The values of a book or series, by its fields. */
export interface ValuesOf {
  book: StoredValues<(typeof BOOK_FIELDS)[number]>
  series: StoredValues<(typeof SERIES_FIELDS)[number]>
}

/** A change of a book or series, by its fields; absent fields stay. */
export interface PatchOf {
  book: PatchValues<(typeof BOOK_FIELDS)[number]>
  series: PatchValues<(typeof SERIES_FIELDS)[number]>
}

const FIELDS: Readonly<Record<Kind, readonly Field[]>> = { book: BOOK_FIELDS, series: SERIES_FIELDS }

/** Every field that records of a kind have. */
export const fieldsOf = (kind: Kind): readonly Field[] => FIELDS[kind]
