import { randomBytes } from 'node:crypto'
import t from 'tap'
import { findSecrets } from '#plugins/devkit/secrets.ts'

// Put together here, so that nobody who looks through this file for credentials takes them for some.
const CERTAIN: [kind: string, text: string][] = [
  ['a private key', `-----BEGIN ${'PRIVATE'} KEY-----\nMC4CAQAw`],
  ['a token of GitHub', `ghp_${'a1B2'.repeat(9)}`],
  ['an access key of AWS', `AKIA${'ABCD2345'.repeat(2)}`],
  ['a key of Google', `AIza${'Sy0-_'.repeat(7)}`],
  ['a token of Slack', `xoxb-${'1234567890'.repeat(2)}`],
  ['a signed token (JWT)', `eyJ${'hbGciOiJI'.repeat(2)}.eyJ${'zdWIiOiIx'.repeat(2)}.${'SflKxwRJ'.repeat(4)}`],
  ['a password in an address', 'https://ada:lovelace@api.example.org/'],
]

t.test('credentials are known by their form, and told without being told', async (t) => {
  for (const [kind, text] of CERTAIN) {
    const [found, ...more] = findSecrets([`prefix ${text}`, `prefix ${text}`])
    t.match(found, { kind, certain: true }, kind)
    t.same(more, [], 'once')
    t.notOk(found?.hint.includes(text.slice(0, 12)), 'the hint does not hold it')
  }
})

t.test('what looks random is suspected, what people write is not', async (t) => {
  for (let turn = 0; turn < 200; turn++) {
    const text = randomBytes(30).toString('base64url')
    // One without a digit, or without a letter, is a word as any other.
    if (/\d/.test(text) && /[a-z]/i.test(text)) t.match(findSecrets([text]), [{ certain: false }], text)
  }
  const harmless = [
    'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
    'metadata.series.search is what it answers to, 32 letters and more',
    'https://api.example.org/v1/series/7?fields=title,year,cover,summary1',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1',
    'short1',
    '',
  ]
  t.same(findSecrets(harmless), [])
})
