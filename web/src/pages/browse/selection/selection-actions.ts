import { BookCheck, BookX, Heart, ListPlus, type LucideIcon, RefreshCw, Share2, Tags, Trash2 } from 'lucide-react'
import {
  addToCollection,
  addToReadList,
  analyzeBooks,
  analyzeManySeries,
  type BulkWork,
  changeBookNames,
  changeSeriesNames,
  deleteMissing,
  readBooks,
  readManySeries,
  shareManySeries,
  type TargetList,
  unreadBooks,
  unreadManySeries,
  wantManySeries,
} from '#api/bulk.ts'
import type { NameChange, SharingChange } from '#api/bulk-changes.ts'
import type { Permission } from '#api/records.ts'
import { partTexts } from '#texts/parts.ts'
import { selectionTexts } from '#texts/selection.ts'
import { sharingTexts } from '#texts/sharing.ts'

/** Something that is done at once with everything selected. */
export interface SelectionAction {
  text: string
  icon: LucideIcon
  needs: Permission
  /** The sentence afterwards. */
  said: (values: { count: number }) => string
  /** What is asked before. */
  ask?: 'list' | 'names' | 'sharing' | 'confirm'
  isDangerous?: true
  work: (given: Given) => BulkWork
}

/** What was answered before an action. */
export interface Given {
  /** For `ask: 'list'`, with its name. */
  to?: TargetList
  listName?: string
  /** For `ask: 'names'`. */
  names?: NameChange
  /** For `ask: 'sharing'`. */
  sharing?: SharingChange
}

export const BOOK_ACTIONS: readonly SelectionAction[] = [
  { text: partTexts.markRead(), icon: BookCheck, needs: 'progress-write', said: selectionTexts.readBooks, work: () => readBooks },
  { text: partTexts.markUnread(), icon: BookX, needs: 'progress-write', said: selectionTexts.unreadBooks, work: () => unreadBooks },
  {
    text: selectionTexts.addToReadList(),
    icon: ListPlus,
    needs: 'books-write',
    said: partTexts.books,
    ask: 'list',
    work: ({ to }) => addToReadList(to as TargetList),
  },
  {
    text: selectionTexts.tags(),
    icon: Tags,
    needs: 'books-write',
    said: selectionTexts.namedBooks,
    ask: 'names',
    work: ({ names }) => changeBookNames(names as NameChange),
  },
  { text: partTexts.analyze(), icon: RefreshCw, needs: 'books-write', said: selectionTexts.analyzingBooks, work: () => analyzeBooks },
]

export const SERIES_ACTIONS: readonly SelectionAction[] = [
  { text: partTexts.markRead(), icon: BookCheck, needs: 'progress-write', said: selectionTexts.readSeries, work: () => readManySeries },
  { text: partTexts.markUnread(), icon: BookX, needs: 'progress-write', said: selectionTexts.unreadSeries, work: () => unreadManySeries },
  { text: partTexts.wantToRead(), icon: Heart, needs: 'progress-write', said: selectionTexts.wanted, work: () => wantManySeries },
  {
    text: selectionTexts.addToCollection(),
    icon: ListPlus,
    needs: 'series-write',
    said: partTexts.series,
    ask: 'list',
    work: ({ to }) => addToCollection(to as TargetList),
  },
  {
    text: selectionTexts.tags(),
    icon: Tags,
    needs: 'series-write',
    said: selectionTexts.namedSeries,
    ask: 'names',
    work: ({ names }) => changeSeriesNames(names as NameChange),
  },
  {
    text: sharingTexts.give(),
    icon: Share2,
    needs: 'system-admin',
    said: sharingTexts.given,
    ask: 'sharing',
    work: ({ sharing }) => shareManySeries(sharing as SharingChange),
  },
  {
    text: partTexts.analyze(),
    icon: RefreshCw,
    needs: 'series-write',
    said: selectionTexts.analyzingSeries,
    work: () => analyzeManySeries,
  },
  {
    text: selectionTexts.deleteMissing(),
    icon: Trash2,
    needs: 'series-write',
    said: selectionTexts.missingDeleted,
    ask: 'confirm',
    isDangerous: true,
    work: () => deleteMissing,
  },
]
