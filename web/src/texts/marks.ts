import { defineTexts } from '#texts/define-texts.ts'

/** Highlights, notes and pictures of a text. */
export const markTexts = defineTexts({
  menu: 'Mark the selected words',
  amber: 'Amber',
  rose: 'Rose',
  sky: 'Sky',
  sage: 'Sage',
  colors: 'Colors',
  onlyColor: 'Only {color}',
  addNote: 'Add a note',
  copy: 'Copy',
  searchWords: 'Search these words in the book',
  highlight: 'Highlight',
  highlights: 'Highlights',
  none: 'No highlights yet. Select words in the text to mark them.',
  noneOfColor: 'No highlights of this color.',
  note: 'Note',
  notePlaceholder: 'What you think of these words',
  edit: 'Change the highlight',
  save: 'Save',
  remove: 'Remove the highlight',
  refused: 'The highlight could not be changed: {reason}',
  notFound: 'These words are not in this edition of the book.',
  where: '{chapter} · {percent} · {day}',

  pageList: 'Pages',
  landmarks: 'Parts',
  picture: 'Picture',
  pictureHint: 'Pinch, turn the wheel or tap twice to enlarge.',
})

/** How long the rest takes. */
export const paceTexts = defineTexts({
  inBook: '{time} left in the book',
  inChapter: '{time} left in the chapter',
  inSeries: '{time} left in the series',
})
