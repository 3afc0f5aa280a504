import { randomBytes } from 'node:crypto'
import t from 'tap'
import { findSecrets } from '#plugins/devkit/secrets.ts'

// Concatenated, so that secret scanners do not report this file.
const CERTAIN: [kind: string, text: string][] = [
  ['a private key', `-----BEGIN ${'PRIVATE'} KEY-----\nMC4CAQAw`],
  ['a GitHub token', `ghp_${'a1B2'.repeat(9)}`],
  ['an AWS access key', `AKIA${'ABCD2345'.repeat(2)}`],
  ['a Google key', `AIza${'Sy0-_'.repeat(7)}`],
  ['a Slack token', `xoxb-${'1234567890'.repeat(2)}`],
  ['a signed token (JWT)', `eyJ${'hbGciOiJI'.repeat(2)}.eyJ${'zdWIiOiIx'.repeat(2)}.${'SflKxwRJ'.repeat(4)}`],
  ['a password in a URL', 'https://ada:lovelace@api.example.org/'],
]

t.test('credentials are recognized by their form, and reported without revealing them', async (t) => {
  for (const [kind, text] of CERTAIN) {
    const [found, ...more] = findSecrets([`prefix ${text}`, `prefix ${text}`])
    t.match(found, { kind, certain: true }, kind)
    t.same(more, [], 'once')
    t.notOk(found?.hint.includes(text.slice(0, 12)), 'the hint does not contain it')
  }
})

t.test('random texts are reported, natural ones are not', async (t) => {
  for (let turn = 0; turn < 200; turn++) {
    const text = randomBytes(30).toString('base64url')
    // A text without a digit, or without a letter, is an ordinary word; one with sk- may be a certain key.
    if (/\d/.test(text) && /[a-z]/i.test(text) && !/\bsk-/.test(text)) t.match(findSecrets([text]), [{ certain: false }], text)
  }
  const sanitized = [
    'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
    'metadata.series.search is what it answers to, 32 letters and more',
    'https://api.example.org/v1/series/7?fields=title,year,cover,summary1',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1',
    'short1',
    '',
  ]
  t.same(findSecrets(sanitized), [])
})
