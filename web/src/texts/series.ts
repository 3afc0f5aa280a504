import { defineTexts } from '#texts/define-texts.ts'

/** Of the pages of a series and of a book, beyond what all works have. */
export const seriesTexts = defineTexts({
  yourRating: 'Your rating',
  rate: 'Rate',
  ratedOf: '{rating} of 10',
  unrate: 'Remove the rating',
  rated: 'You rated {title} {rating} of 10',
  unrated: 'Your rating of {title} is removed',
  average: 'Rated here',
  averageOf: { one: '{rating} of 10, by one reader', other: '{rating} of 10, by {count} readers' },

  byVolume: 'By volume',
  noVolume: 'Without a volume',
  tooManyBooks: 'The first {shown} of {total} books are shown.',

  files: 'Files',
  folder: 'Folder',
  waiting: 'Waits for its analysis',
  gone: 'Gone',
  showFiles: 'Show the files',
  filesOf: { one: '{count} file, {size}', other: '{count} files, {size}' },

  yourReadings: 'Your readings',
  times: { one: 'Finished once', other: 'Finished {count} times' },
  lastRead: 'last read {when}',
  readCount: 'Finished',
  readTimes: { one: 'Once', other: '{count} times' },

  contents: 'Contents',
  allContents: 'Show all {count} entries',
  untitled: 'Without a title',
})
