import { defineTexts } from '#texts/define-texts.ts'

export const selectionTexts = defineTexts({
  select: 'Select',
  selectOne: 'Select {title}',
  title: 'Selection',
  count: '{count} of {total} selected',
  all: 'Select all {total}',
  allOfView: 'Select all of this view',
  end: 'End the selection',
  more: 'More actions',
  rangeTooLong: 'Shift selects at most {max} at once. Ctrl+A selects all of this view.',
  running: '{done} of {total}',
  reading: 'Finding what is selected: {done} of {total}',
  stop: 'Stop',
  stopped: 'Stopped after {done} of {total}',

  addToCollection: 'Add to collection',
  addToReadList: 'Add to read list',
  deleteMissing: 'Delete missing books',

  readBooks: { one: '{count} book is marked as read', other: '{count} books are marked as read' },
  unreadBooks: { one: '{count} book is marked as unread', other: '{count} books are marked as unread' },
  readSeries: { one: '{count} series is marked as read', other: '{count} series are marked as read' },
  unreadSeries: { one: '{count} series is marked as unread', other: '{count} series are marked as unread' },
  wanted: { one: '{count} series is in your list “Want to read”', other: '{count} series are in your list “Want to read”' },
  unwanted: {
    one: '{count} series is no longer in your list “Want to read”',
    other: '{count} series are no longer in your list “Want to read”',
  },
  analyzingBooks: { one: '{count} book is being analyzed again', other: '{count} books are being analyzed again' },
  analyzingSeries: {
    one: 'The books of {count} series are being analyzed again',
    other: 'The books of {count} series are being analyzed again',
  },
  missingDeleted: { one: '{count} series was checked for missing books', other: '{count} series were checked for missing books' },
  added: '{count} added to “{list}”',

  confirmMissingTitle: 'Delete books whose files are missing?',
  confirmMissing:
    'Books of the selected series whose files were not found at the last scan are deleted, with the reading progress of all users. Files are not touched.',
  confirmMissingAction: 'Delete missing books',

  list: 'List',
  newCollection: 'New collection',
  newReadList: 'New read list',
  name: 'Name',
  nameMissing: 'Write a name for the new list.',
  add: 'Add',
})
