import { defineTexts } from '#texts/define-texts.ts'

export const searchTexts = defineTexts({
  title: 'Search',
  label: 'Search series, books, people, collections and read lists',
  placeholder: 'Search',
  series: 'Series',
  books: 'Books',
  people: 'People',
  collections: 'Collections',
  readLists: 'Read lists',
  allSeries: 'All series with these words',
  allBooks: 'All books with these words',
  start: 'Type a title, a name, or a few words of either.',
  noneTitle: 'Nothing found for “{words}”',
  noneWords: 'Check the spelling, or use fewer words.',
  results: { one: '{count} result', other: '{count} results' },
  clear: 'Clear the search',
})
