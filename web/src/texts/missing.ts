import { defineTexts } from '#texts/define-texts.ts'

export const missingTexts = defineTexts({
  missing: 'Missing books',
  none: 'No file is missing',
  noneWords: 'Books whose files a scan no longer finds are listed here, and nothing of them is lost before you remove them.',
  found: { one: 'The file of {count} book is missing', other: 'The files of {count} books are missing' },
  ofLibrary: 'Library',
  anyLibrary: 'All libraries',
  since: 'Since {when}:',
  why_file: 'the file is gone.',
  why_folder: 'its whole folder is gone or empty.',
  why_withheld:
    'its disk is probably missing, and the scan waits for you. Connect the disk, or confirm under “Libraries” that the files are gone.',
  pick: 'Select {title}',
  pickShown: { one: 'Select the {count} that is shown and can be removed', other: 'Select the {count} that are shown and can be removed' },
  removeChosen: { one: 'Remove {count} selected', other: 'Remove {count} selected' },
  removeAll: 'Remove all',
  remove: 'Remove',
  removeNamed: 'Remove {title}',
  removeTitle: { one: 'Remove {count} missing book?', other: 'Remove {count} missing books?' },
  removeOneTitle: 'Remove {title}?',
  allOf: 'These are all missing books of {names}, except those whose disk is probably missing.',
  removeWords: {
    one: 'Its reading progress, metadata, bookmarks and places in lists are lost for everyone, and a series without other books goes with its ratings. If the file comes back, it is a new book.',
    other:
      'Their reading progress, metadata, bookmarks and places in lists are lost for everyone, and a series without other books goes with its ratings. If the files come back, they are new books.',
  },
  removed: { one: '{count} missing book is removed', other: '{count} missing books are removed' },
  more: 'Show more',
  show: { one: 'Show the {count} book', other: 'Show the {count} books' },
})
