import { randomBytes } from 'node:crypto'
import t from 'tap'
import { PictureTokens, TOKEN_LENGTH_MAX } from '#plugins/host/picture-token.ts'

const [NEW, OLD] = ['a-new-key-of-at-least-thirty-two-bytes', 'an-old-key-of-at-least-thirty-two-bytes']
const HOUR = 3_600_000
const OWNER = { pluginId: 'one', userId: 'ann' }
const PICTURE = { ...OWNER, url: 'https://covers.example.org/1.jpg', ownId: 'row' }

t.test('a token is for one user and one plugin, and for a day', (t) => {
  let now = 1_000 * HOUR
  const tokens = new PictureTokens([NEW], () => now)
  const token = tokens.make(PICTURE)
  t.same(tokens.read(token, OWNER), { url: PICTURE.url, ownId: 'row' })
  t.notMatch(Buffer.from(token, 'base64url').toString('latin1'), 'example', 'its address is secret')
  t.equal(tokens.read(token, { ...OWNER, userId: 'bob' }), null)
  t.equal(tokens.read(token, { ...OWNER, pluginId: 'two' }), null)
  t.equal(tokens.make(PICTURE), token, 'the same for an hour')
  for (const ownId of [null, 'another row']) t.not(tokens.make({ ...PICTURE, ownId }), token)
  t.not(tokens.make({ ...PICTURE, userId: 'bob' }), token)
  now += 24 * HOUR - 1
  t.ok(tokens.read(token, OWNER))
  t.not(tokens.make(PICTURE), token)
  now += 1
  t.equal(tokens.read(token, OWNER), null, 'it has expired')
  now -= 48 * HOUR
  t.equal(tokens.read(token, OWNER), null, 'a clock that was set back makes it valid for no longer')
  t.end()
})

t.test('changed and invented tokens are refused, and an older key still opens its tokens', (t) => {
  const tokens = new PictureTokens([NEW, OLD])
  const token = new PictureTokens([OLD]).make(PICTURE)
  t.same(tokens.read(token, OWNER), { url: PICTURE.url, ownId: 'row' })
  t.equal(new PictureTokens([NEW]).read(token, OWNER), null)
  const bytes = Buffer.from(token, 'base64url')
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    t.equal(tokens.read(changed.toString('base64url'), OWNER), null, `byte ${at}`)
  }
  for (const length of [0, 1, 27, 28, 29, 100, 5_000])
    t.equal(tokens.read(randomBytes(length).toString('base64url'), OWNER), null, `${length} bytes`)
  t.equal(tokens.read(token.slice(0, -4), OWNER), null)
  const long = tokens.make({ ...PICTURE, url: `https://covers.example.org/${'x'.repeat(3_970)}` })
  t.ok(long.length <= TOKEN_LENGTH_MAX && tokens.read(long, OWNER), 'the longest address')
  t.throws(() => new PictureTokens([]))
  t.end()
})
