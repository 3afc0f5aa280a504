import t from 'tap'
import { type Credential, withoutCredential } from '#plugins/network/credential.ts'
import { openTestEgress } from '#test/support/egress.ts'

t.setTimeout(60_000)

const HOST = 'api.example.org'
const SIGNS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'

/** Learns a secret character by character from the masking of guesses, as a plugin could whose service echoes its requests. */
function guessed(known: string, length: number, mask: (text: string) => string): string {
  let found = known
  while (found.length < length) {
    const right = [...SIGNS].filter((sign) => !mask(`<${found}${sign}>`).includes(`${sign}>`))
    if (right.length !== 1) break
    found += right[0]
  }
  return found
}

t.test('masking of guesses reveals nothing beyond them', (t) => {
  const token = 'Kd93hfPq7Zx0Lm2Wv81kEyP0sQw5Rt6Yu-7Io8'
  const front = 'the-plugin-has-chosen-this:'
  const formatted: Credential = { host: HOST, place: 'header', name: 'X-Key', value: `${front}${token}`, secrets: [token] }
  t.equal(
    guessed(front, front.length + token.length, (text) => withoutCredential(text, formatted)),
    front,
    'the prefix from the manifest reveals nothing',
  )
  const claims = 'eyJhdWQiOiIxMjM0NSIsImp0aSI6Ij'
  const head = 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9'
  const signed = `${head}.${claims}Q1ZTMyYWJjZGVmIn0.bXkgc2lnbmF0dXJlIGlzIGxvbmdlciB0aGFuIHRoaXM`
  for (const credential of [
    { host: HOST, place: 'header', name: 'Authorization', value: `Bearer ${signed}`, secrets: [signed] },
    { host: HOST, place: 'query', name: 'access_token', value: signed, secrets: [signed] },
  ] as Credential[]) {
    const mask = (text: string) => withoutCredential(text, credential)
    for (const known of [claims, `${head}.${claims}`, claims.slice(10)]) {
      const learnt = guessed(known, known.length + 40, mask)
      t.equal(learnt, known, `nor from how such tokens begin: ${learnt}`)
      for (const how of ['hex', 'base64'] as const) {
        const inForm = (text: string) => mask(Buffer.from(text).toString(how))
        const shown = new Set([...SIGNS].map((sign) => inForm(`${known}${sign}`).includes('[credential]')))
        t.equal(shown.size, 1, `${how}: all guesses look alike`)
      }
    }
  }
  t.end()
})

t.test('responses of a host without credentials confirm no guess', async (t) => {
  const password = 'correct horse'
  const pair = Buffer.from(`ada:${password}`).toString('base64')
  const credential: Credential = {
    ...{ host: HOST, place: 'header', name: 'Authorization', value: `Basic ${pair}` },
    secrets: [pair, password],
  }
  const { fetch, closed } = await openTestEgress(t, (request, response) => {
    if (request.url === '/away') response.writeHead(302, { location: 'https://other.example.org/' }).end()
    else response.end('wrong horse, correct horse')
  })
  t.equal((await fetch('https://other.example.org/', { credential })).body, 'wrong horse, correct horse')
  t.equal((await fetch(`https://${HOST}/`, { credential })).body, 'wrong horse, [credential]')
  t.equal((await fetch(`https://${HOST}/away`, { credential })).body, 'wrong horse, [credential]', 'also after a redirect')
  t.ok(await closed())
})

t.test('a secret is masked in any case of its letters, and with letters beyond ASCII', (t) => {
  const key = '9f86d081884c7d659a2feaa0c55ad015'
  const of = (secret: string, text: string) =>
    withoutCredential(text, { host: HOST, place: 'query', name: 'key', value: secret, secrets: [secret] })
  t.equal(of(key, `no key ${key.toUpperCase()}!`), 'no key [credential]!')
  t.equal(of(key, `no key ${key.replace('f', 'F')}!`), 'no key [credential]!')
  const password = 'schöne-grüße'
  for (const text of [
    password,
    encodeURIComponent(password),
    encodeURIComponent(password).toLowerCase(),
    [...Buffer.from(password, 'latin1')].map((byte) => `%${byte.toString(16)}`).join(''),
    Buffer.from(password, 'latin1').toString('utf8'),
    Buffer.from(password, 'latin1').toString('hex'),
    Buffer.from(password, 'utf8').toString('latin1'),
    JSON.stringify(password).replace(/[^ -~]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`),
  ])
    t.match(of(password, `<${text}>`), /^<"?\[credential\]"?>$/, text)
  t.end()
})
