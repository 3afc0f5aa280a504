import { defineTexts } from '#texts/define-texts.ts'

/** Of the pages of people, tags and genres. */
export const nameTexts = defineTexts({
  people: 'People',
  findPeople: 'Find a person',
  noPeople: 'Nobody is named yet',
  noPeopleWords: 'Writers, artists and others appear here when the files of a library, or an app, name them.',
  tags: 'Tags',
  genres: 'Genres',
  kinds: 'What to show',
  findTags: 'Find a tag',
  findGenres: 'Find a genre',
  noTags: 'No tags yet',
  noGenres: 'No genres yet',
  noWordsHint: 'They appear here when the files of a library, or an app, name them.',
  letters: 'Letters',
  all: 'All',
  letter: { one: '{letter}: {count} name', other: '{letter}: {count} names' },
  names: { one: '{count} name', other: '{count} names' },
  series: { one: '{count} series', other: '{count} series' },
  onlyBooks: 'books only',
  noneTitle: 'No such name',
  noneWords: 'Nothing here contains “{words}”.',
  tooMany: 'There are more names than a page can hold; the last ones are left out. The search at the top of every page finds them.',
  tooManyShown: 'The first {shown} of {count} are shown. Type a part of the name to find others.',
})
