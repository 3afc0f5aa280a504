import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { publicKeyText } from '#plugins/packages/plugin-package.ts'
import {
  EXPIRES_DAYS_MAX,
  INDEX_BYTES_MAX,
  type IndexPlugin,
  type RepositoryIndex,
  readIndex,
  readNewIndex,
  signIndex,
} from '#plugins/repositories/index-file.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { daysFromNow, entryOf, indexOf, newKey, signAnything, type UnsignedIndex } from '#test/support/plugin-repository.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const key = newKey()
const publicKey = publicKeyText(key)
const now = () => new Date()
const refused = (message: RegExp) => ({ code: 'invalid_value', message })
const entry = entryOf([pluginOf('export default 1')])
const full = indexOf({ plugins: [entry], revoked: [{ id: 'org.example.bad', range: '<1.2.0', reason: 'It leaks' }] })

/** Signs an index without checking it. */
const readSigned = (text: string | Buffer): RepositoryIndex => {
  const { bytes, signature } = signAnything(text, key)
  return readIndex(bytes, signature, publicKey, now())
}
const readChanged = (change: Record<string, unknown>) => readSigned(JSON.stringify({ ...full, keys: [publicKey], ...change }))
const withVersion = (change: Record<string, unknown>) => ({ plugins: [{ ...entry, versions: [{ ...entry.versions[0], ...change }] }] })

t.test('a signed index is read back', async (t) => {
  const { bytes, signature } = signIndex(full, key)
  const index = readIndex(bytes, signature, publicKey, now())
  t.same(index, { ...full, keys: [publicKey] })
  t.same(readNewIndex(bytes, signature, now()), { index, publicKey })
  const again = signIndex(full, key)
  t.ok(again.bytes.equals(bytes) && again.signature.equals(signature), 'the same bytes for the same index and key')
  t.match(fingerprintOf(publicKey), /^SHA256:[0-9a-f]{64}$/)
  t.not(fingerprintOf(publicKey), fingerprintOf(publicKeyText(newKey())))
})

t.test('a signature with another key, of other bytes, or none', async (t) => {
  const { bytes, signature } = signIndex(full, key)
  const other = signIndex(full, newKey())
  const notSigned = /is not signed by the key that was trusted/
  t.throws(() => readIndex(other.bytes, other.signature, publicKey, now()), refused(notSigned), 'another key')
  t.throws(() => readIndex(bytes, other.signature, publicKey, now()), refused(notSigned), 'a signature of another index')
  t.throws(() => readNewIndex(bytes, other.signature, now()), refused(/not signed with any of the keys/), 'also without a known key')
  for (let at = 0; at < bytes.length; at += 7) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] as number) ^ 1
    t.throws(() => readIndex(changed, signature, publicKey, now()), refused(notSigned))
  }
  const noSignature = refused(/index\.json\.sig is not an Ed25519 signature/)
  const text = signature.toString().trim()
  const spellings = [
    '',
    'AAAA',
    text.slice(0, -2),
    `${text} ${text}`,
    text.replaceAll('=', ''),
    `${text}!`,
    'x'.repeat(10_000),
    `\0${text}`,
  ]
  for (const wrong of spellings) t.throws(() => readIndex(bytes, Buffer.from(wrong), publicKey, now()), noSignature, wrong.slice(0, 10))
  // Keys for which anybody can sign: the neutral element and others of low order; and invalid keys.
  const keys = [
    'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
    `${'A'.repeat(43)}=`,
    'AAAA',
    '',
    publicKey.replace('=', ''),
    ` ${publicKey}`,
  ]
  for (const wrong of keys) t.throws(() => readIndex(bytes, signature, wrong, now()), refused(/is not an Ed25519 key/), wrong)
  const weak = JSON.stringify({ ...full, keys: [keys[0]] })
  t.throws(() => readNewIndex(Buffer.from(weak), Buffer.from(Buffer.alloc(64).toString('base64')), now()), refused(/not signed with any/))
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
  t.throws(() => signIndex(full, rsa), refused(/Ed25519/))
  t.throws(() => signIndex(full, createPublicKey(key)), TypeError, 'a public key cannot sign')
})

t.test('nothing is parsed before its signature is verified', async (t) => {
  const bomb = Buffer.from('['.repeat(1_000_000))
  const { signature } = signAnything('other', key)
  t.throws(() => readIndex(bomb, signature, publicKey, now()), refused(/is not signed by the key/))
})

t.test('expired, future and too long validity', async (t) => {
  const at = (issuedAt: string, expires: string) => readChanged({ issuedAt, expires })
  t.ok(at(daysFromNow(-1), daysFromNow(EXPIRES_DAYS_MAX - 1.01)))
  t.throws(() => at(daysFromNow(-10), daysFromNow(-0.001)), refused(/expired at .*publisher must issue a new one/))
  t.throws(() => at(daysFromNow(-1), daysFromNow(EXPIRES_DAYS_MAX)), refused(/within 90 days/))
  t.throws(() => at(daysFromNow(1), daysFromNow(0.5)), refused(/must expire after it was issued/))
  t.throws(() => at(daysFromNow(80), daysFromNow(169)), refused(/issued in the future/), 'otherwise it would be valid for 169 days')
  t.ok(at(daysFromNow(0.5), daysFromNow(5)), 'clocks differ')
  for (const day of ['2026-13-01T00:00:00Z', '2026-11-01', '2026-11-01T00:00:00', 'now', 1, null, '2026-11-01T00:00:00+02:00'])
    t.throws(() => at(day as string, daysFromNow(1)), refused(/./), String(day))
  const { bytes, signature } = signIndex(full, key)
  t.throws(
    () => readIndex(bytes, signature, publicKey, new Date(Date.now() + 31 * 86_400_000)),
    refused(/expired/),
    'by the clock of the server',
  )
})

t.test('validation of the content', async (t) => {
  t.ok(readChanged({ unknown: { of: 'a newer server' }, plugins: [{ ...entry, stars: 5 }] }), 'unknown members are ignored')
  t.throws(() => readChanged({ schema: 2 }), refused(/schema 2, which this server does not support; a newer one may/))
  const changes: [change: Record<string, unknown>, message: RegExp][] = [
    [{ sequence: 0 }, /\/sequence/],
    [{ sequence: 1.5 }, /\/sequence/],
    [{ sequence: 2 ** 53 }, /\/sequence/],
    [{ sequence: '5' }, /index\.json at \/sequence: must be a whole number of at least 1; it is "5"\.$/],
    [{ url: 'http://plugins.example.org/' }, /\/url/],
    [{ url: 'https://plugins.example.org' }, /\/url/],
    [{ url: 'https://plugins.example.org/a/../' }, /\/url/],
    [{ url: 'https://Plugins.example.org/' }, /\/url/],
    [{ keys: [] }, /\/keys/],
    [{ keys: ['short'] }, /\/keys/],
    [{ name: 'a\u202eb' }, /\/name/],
    [{ name: '\u001b[31mred' }, /\/name/],
    [{ name: '' }, /\/name/],
    [{ plugins: [entry, entry] }, /lists org\.example\.echo twice/],
    [{ plugins: [{ ...entry, versions: [entry.versions[0], entry.versions[0]] }] }, /lists org\.example\.echo 1\.0\.0 twice/],
    [{ plugins: [{ ...entry, versions: [] }] }, /\/plugins\/0\/versions/],
    [{ plugins: [{ ...entry, id: 'org.ex\u0430mple' }] }, /\/plugins\/0\/id/],
    [{ plugins: [{ ...entry, id: '../../etc' }] }, /\/plugins\/0\/id/],
    [withVersion({ version: '1.0' }), /\/version/],
    [withVersion({ sha256: 'A'.repeat(64) }), /\/sha256: must be a SHA-256 in 64 lower-case hexadecimal digits; it is "A/],
    [withVersion({ sha256: undefined }), /./],
    [withVersion({ size: 0 }), /\/size/],
    [withVersion({ size: 10 * 1024 * 1024 + 1 }), /\/size/],
    [withVersion({ url: 'http://example.org/a.plugin' }), /is not an https URL/],
    [withVersion({ url: 'file:///etc/passwd' }), /is not an https URL/],
    [withVersion({ url: 'javascript:alert(1)' }), /is not an https URL/],
    [withVersion({ url: 'https://' }), /is not an https URL/],
    [withVersion({ url: 'a b' }), /\/url/],
    [withVersion({ pluginApi: 'latest' }), /"latest" of org\.example\.echo 1\.0\.0 is not a version range/],
    [withVersion({ server: '>=' }), /is not a version range/],
    [withVersion({ changelog: '\u001b]0;title\u0007' }), /\/changelog/],
    [withVersion({ yanked: 'a\nb' }), /\/yanked/],
    [withVersion({ permissions: undefined }), /./],
    [withVersion({ permissions: { ...entry.versions[0]?.permissions, hosts: ['a b'] } }), /\/hosts/],
    [{ revoked: [{ reason: 'why' }] }, /\/revoked/],
    [
      { revoked: [{ id: 'org.example.bad' }] },
      /at \/revoked\/0: must be an object with sha256, reason, or an object with id, reason, and perhaps range; it is \{"id":"org\.example\.bad"\}\.$/,
    ],
    [
      { revoked: [{ id: 'org.example.bad', range: '1.0.0-2.4.0', reason: 'why' }] },
      /"1\.0\.0-2\.4\.0" in the revocation of org\.example\.bad names one pre-release; write spaces/,
    ],
    [
      { revoked: [{ id: 'org.example.bad', range: '<*', reason: 'why' }] },
      /"<\*" in the revocation of org\.example\.bad matches no version/,
    ],
    [
      { revoked: [{ id: 'org.example.bad', range: 'all', reason: 'why' }] },
      /"all" in the revocation of org\.example\.bad is not a version range/,
    ],
    [{ revoked: [{ sha256: 'abc', reason: 'why' }] }, /\/revoked/],
    [{ revoked: Array.from({ length: 10_001 }, () => ({ sha256: 'a'.repeat(64), reason: 'why' })) }, /\/revoked/],
  ]
  for (const [change, message] of changes)
    t.throws(() => readChanged(change), refused(message), encodeURI(JSON.stringify(change)).slice(0, 60))
  // The author's tool refuses what servers would refuse.
  t.throws(() => signIndex({ ...full, sequence: 0 }, key), refused(/\/sequence/))
  t.throws(() => signIndex({ ...full, issuedAt: 'soon' }, key), refused(/\/issuedAt/))
})

t.test('invalid and ambiguous JSON', async (t) => {
  const body = JSON.stringify({ ...full, keys: [publicKey] })
  const texts: [text: string | Buffer, message: RegExp][] = [
    ['', /not valid JSON/],
    ['null', /./],
    ['[]', /./],
    [`\ufeff${body}`, /byte order mark/],
    [Buffer.from([0xff, 0xfe, 0x00]), /not UTF-8/],
    [body.replace('{', '{"sequence":9,'), /"sequence" twice/],
    [body.replace('{', '{"__proto__":{"admin":true},'), /__proto__/],
    [body.replace('{', '{"x":"\\u0000",'), /NUL/],
    [body.replace('{', `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)},`), /nested deeper|not valid JSON/],
    [`{"a":"${'x'.repeat(INDEX_BYTES_MAX)}"}`, /bytes; the limit is 5242880/],
  ]
  for (const [text, message] of texts) t.throws(() => readSigned(text), refused(message), message.source)
})

t.test('the largest index is read in linear time', onlyCost, async (t) => {
  const versions = (sum: number) =>
    Array.from({ length: 10 }, (_, minor) => ({ ...(entry.versions[0] as IndexPlugin['versions'][number]), version: `${sum}.${minor}.0` }))
  const plugins = Array.from({ length: 1_100 }, (_, index) => ({ ...entry, id: `org.example.p${index}`, versions: versions(index) }))
  const { bytes, signature } = signIndex(indexOf({ plugins }), key)
  t.ok(bytes.length > 4_000_000 && bytes.length <= INDEX_BYTES_MAX, `${bytes.length} bytes`)
  const started = threadCpuMs()
  t.equal(readIndex(bytes, signature, publicKey, now()).plugins.length, plugins.length)
  const tookMs = threadCpuMs() - started
  t.comment(`${Math.round(tookMs)} ms`)
  // A fifth of a second on an idle machine.
  t.ok(tookMs < 15_000)
})

t.test('any bytes are an index or refused with a message', async () => {
  const read = (text: string | Buffer) => {
    try {
      readSigned(text)
      return true
    } catch (error) {
      return error instanceof AppError && error.code === 'invalid_value'
    }
  }
  assertInTime(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => read(Buffer.from(bytes))))
  const member = fc.constantFrom(...(Object.keys({ ...full, keys: 1 }) as (keyof UnsignedIndex)[]))
  assertInTime(fc.property(member, fc.jsonValue(), (name, value) => read(JSON.stringify({ ...full, keys: [publicKey], [name]: value }))))
  const versionMember = fc.constantFrom(...Object.keys(entry.versions[0] ?? {}))
  assertInTime(
    fc.property(versionMember, fc.jsonValue(), (name, value) =>
      read(JSON.stringify({ ...full, keys: [publicKey], ...withVersion({ [name]: value }) })),
    ),
  )
})
