import type { components } from '#api/schema.d.ts'

type Schemas = components['schemas']

/** A book as lists send it. */
export type BookRecord = Schemas['Book']
export type SeriesRecord = Schemas['Series']
export type FullBookRecord = Schemas['FullBook']
export type FullSeriesRecord = Schemas['FullSeries']
export type LibraryRecord = Schemas['Library']
export type LibraryEdit = Schemas['LibraryEdit']
export type LayoutEdit = Pick<LibraryEdit, 'seriesStrategy' | 'seriesConfig'>
export type NewLibrary = Schemas['NewLibrary']
export type PreviewRequest = Schemas['PreviewLibraryScanBody']
export type CollectionRecord = Schemas['Collection']
export type ReadListRecord = Schemas['ReadList']
export type UserRecord = Schemas['User']
export type Permission = Schemas['Permission']
export type BookCondition = Schemas['BookCondition']
export type SeriesCondition = Schemas['SeriesCondition']
export type BookSort = Schemas['BookSort']
export type SeriesSort = Schemas['SeriesSort']

/** A page of a list. */
export interface Listed<T> {
  data: T[]
  total: number
}
