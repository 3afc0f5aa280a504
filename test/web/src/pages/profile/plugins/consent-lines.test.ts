import t from 'tap'
import { consentEntries } from '../../../../../../web/src/pages/profile/plugins/consent-lines.ts'

t.test('what a plugin asks for has one entry for what goes on in further lines, and tells the words of its author apart', async (t) => {
  const entries = consentEntries([
    '  recommends series for each user who enables it (get, refresh), with',
    '    the identifiers of carrel',
    '  > the author says: "Reads your list, and requests recommendations for series',
    '  >   that you like"',
    '  connects to example.org (GET)',
    '',
  ])
  t.same(entries, [
    { text: 'recommends series for each user who enables it (get, refresh), with the identifiers of carrel', isByAuthor: false },
    { text: 'the author says: "Reads your list, and requests recommendations for series that you like"', isByAuthor: true },
    { text: 'connects to example.org (GET)', isByAuthor: false },
  ])
})
