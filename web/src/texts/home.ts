import { defineTexts } from '#texts/define-texts.ts'

export const homeTexts = defineTexts({
  title: 'Home',
  keepReading: 'Keep reading',
  alsoOpen: 'Also open',
  onDeck: 'On deck',
  recentlyAdded: 'Recently added',
  recentlyUpdated: 'Recently updated',
  wantToRead: 'Want to read',
  emptyTitle: 'No books yet',
  emptyAdmin: 'Add a library: a folder of comics, PDFs or EPUBs. Its books appear here as they are found.',
  emptyReader: 'Nothing was shared with you yet, or nothing was found yet. Ask the person who runs this server.',
  addLibrary: 'Add a library',
  place: 'Page {page} of {total}',
  placeText: '{percent} read',
  inSeries: '{series}, {number}',
})
