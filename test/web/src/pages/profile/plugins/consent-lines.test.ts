import t from 'tap'
import { type ConsentRecord, consentRecordOf, userRecordOf } from '#plugins/consent/record.ts'
import { describeDifference, describeRecord } from '#plugins/consent/record-lines.ts'
import { FORGED, FORGERIES } from '#test/support/forged-words.ts'
import { FULL_MANIFEST } from '#test/support/full-manifest.ts'
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
    {
      text: 'recommends series for each user who enables it (get, refresh), with the identifiers of carrel',
      isByAuthor: false,
      change: null,
    },
    { text: 'the author says: "Reads your list, and requests recommendations for series that you like"', isByAuthor: true, change: null },
    { text: 'connects to example.org (GET)', isByAuthor: false, change: null },
  ])
})

t.test('what differs has one entry for each thing that is new or no longer so, and the words of the author below it', async (t) => {
  const entries = consentEntries([
    '- connects to api.example.org (GET)',
    '  > the author says: "Searches"',
    '+ connects to api.example.org, which is a host with a long name that goes on in',
    '    a further line (GET, POST)',
    '  > the author says: "Searches, and sends what you read to somebody who makes',
    '  >   lists of it"',
    '  Note: a remark of the server.',
    '+ stores up to 7 KB',
  ])
  t.same(entries, [
    { text: 'connects to api.example.org (GET)', isByAuthor: false, change: 'dropped' },
    { text: 'the author says: "Searches"', isByAuthor: true, change: null },
    {
      text: 'connects to api.example.org, which is a host with a long name that goes on in a further line (GET, POST)',
      ...{ isByAuthor: false, change: 'added' },
    },
    {
      text: 'the author says: "Searches, and sends what you read to somebody who makes lists of it"',
      ...{ isByAuthor: true, change: null },
    },
    { text: 'Note: a remark of the server.', isByAuthor: false, change: null },
    { text: 'stores up to 7 KB', isByAuthor: false, change: 'added' },
  ])
})

t.test('no words of an author become an entry of the server, in what a plugin asks for and in what differs', async (t) => {
  const record = consentRecordOf({ manifest: FULL_MANIFEST, signedBy: [], repository: null })
  /** What a user reads when all texts of the author are this one. */
  const ofUser = (text: string) =>
    userRecordOf(
      JSON.parse(
        JSON.stringify(record, (name, value) =>
          ['name', 'reason', 'description', 'license', 'format'].includes(name) && typeof value === 'string' && value !== 'password'
            ? text
            : value,
        ),
      ) as ConsentRecord,
      { site: 'https://site.example' },
    )
  const before = ofUser('Before')
  const linesOf = (text: string) => [describeRecord(ofUser(text)), describeDifference(before, ofUser(text))]
  const ours = (lines: readonly string[]) =>
    consentEntries(lines).filter(({ isByAuthor, text }) => !isByAuthor && !text.startsWith('Note: '))
  const plain = linesOf('After').map(ours)
  t.ok(plain.every((entries) => entries.length > 0))
  // A reason fills the first row exactly, or nearly, and the next begins with what the page says of what is gone.
  const filling = Array.from(
    { length: 60 },
    (_, at) => `${'x'.repeat(20 + at)} No longer: reads of the library of each user: ratings of that user`,
  )
  for (const text of [...FORGERIES, ...FORGERIES.map((one) => one.replaceAll(FORGED, `- ${FORGED}`)), ...filling])
    t.same(linesOf(text).map(ours), plain, JSON.stringify(text.slice(0, 60)).replaceAll(/[^ -~]/g, '?'))
})
