import { execFile } from 'node:child_process'
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { packPlugin, publicKeyText, readPackage } from '#plugins/packages/plugin-package.ts'
import { manifestOf } from '#test/support/plugins.ts'
import { INTEGRITY, keyOf, type PackageFiles, packed, SIGNATURE, unpacked } from '#test/support/signed-packages.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.setTimeout(240_000)

const MB = 1024 * 1024
type Files = PackageFiles

const AUTHOR = keyOf(1)
const STRANGER = keyOf(2)

const filesOf = (more: Record<string, string | Buffer> = {}): Files =>
  new Map(
    Object.entries({
      'manifest.json': JSON.stringify(manifestOf()),
      'main.js': 'export default 1',
      'README.md': '# Echo',
      'icon.svg': '<svg/>',
      'locales/en.json': '{}',
      ...more,
    }).map(([name, data]) => [name, Buffer.from(data as string)]),
  )

const SIGNED = unpacked(packPlugin(filesOf(), [AUTHOR]))
/** Names its signer, whose signature is missing. */
const UNSIGNED = new Map([...SIGNED].filter(([name]) => name !== SIGNATURE))

/** A package that was changed after packing. */
function changed(change: (files: Files) => void, whole = SIGNED): Buffer {
  const files = new Map(whole)
  change(files)
  return packed(files)
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const refused = (message: RegExp) => ({ name: 'AppError', code: 'invalid_value', message })

interface Listed {
  name: unknown
  size: unknown
  sha256: unknown
}
/** A package with another list, correctly signed. */
const listing = (change: (list: { files: Listed[] } & Record<string, unknown>) => unknown) =>
  changed((files) => {
    const list = JSON.parse(String(files.get(INTEGRITY)))
    signedOver(files, Buffer.from(JSON.stringify(change(list) ?? list)))
  })

function signedOver(files: Files, listed: Buffer, key = AUTHOR): void {
  files.set(INTEGRITY, listed)
  files.set(
    SIGNATURE,
    Buffer.from(JSON.stringify([{ publicKey: publicKeyText(key), signature: sign(null, listed, key).toString('base64') }])),
  )
}

t.test('the largest package takes no more memory than its content', async (t) => {
  const locales = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [
      `locales/${'abcdefghij'[index % 10]}${'abcde'[Math.floor(index / 10)]}.json`,
      Buffer.from(JSON.stringify({ summary: 'a' }).padEnd(128 * 1024)),
    ]),
  )
  const code = Buffer.alloc(2 * MB, 32)
  code.write('// \u65e5')
  const files = filesOf({ 'main.js': code, 'main.js.map': Buffer.alloc(8 * MB, 32), 'README.md': Buffer.alloc(256 * 1024, 32), ...locales })
  const bytes = packPlugin(files)
  t.ok(bytes.length < MB, `${bytes.length} bytes`)
  // In a separate process, which has not packed them. While the source map is read it is another 8 MB of text, and translations are 6 MB until they are collected.
  const source = `
    import { readPackage } from '#plugins/packages/plugin-package.ts'
    const bytes = Buffer.from(process.env.PACKAGE, 'base64')
    try { readPackage(bytes.subarray(1)) } catch {}
    const before = process.memoryUsage.rss()
    const { length } = readPackage(bytes).code
    console.log(JSON.stringify({ length, grown: process.resourceUsage().maxRSS * 1024 - before }))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    env: { PACKAGE: bytes.toString('base64') },
    timeout: 30_000,
  })
  const { length, grown } = JSON.parse(stdout) as { length: number; grown: number }
  t.equal(length, 2 * MB - 2)
  t.ok(grown > 10 * MB && grown < 45 * MB, `${(grown / MB).toFixed(1)} MB`)
  for (const name of ['manifest.json', INTEGRITY, SIGNATURE, 'README.md', 'icon.svg', 'main.js', 'locales/en.json'])
    t.throws(
      () => readPackage(changed((files) => files.set(name, Buffer.alloc(10 * MB, '[')))),
      refused(/has 10485760 bytes; the limit is \d+/),
      name,
    )
  t.throws(() => readPackage(Buffer.alloc(11 * MB)), refused(/the limit is/))
})

t.test('a packed package is read with its signatures', async (t) => {
  const bytes = packPlugin(filesOf(), [AUTHOR, STRANGER])
  const read = readPackage(bytes)
  t.match(read, { manifest: { id: 'org.example.echo' }, code: 'export default 1', readme: '# Echo', sha256: sha256(bytes) })
  t.same(read.signedBy, [publicKeyText(AUTHOR), publicKeyText(STRANGER)])
  t.same(read.nextSigners, read.signedBy, 'who may sign next')
  t.match(readPackage(packPlugin(filesOf())), { signedBy: [], nextSigners: [] })
  t.equal(publicKeyText(createPublicKey(AUTHOR)), publicKeyText(AUTHOR), 'of either half')
  const without = filesOf()
  without.delete('README.md')
  t.equal(readPackage(packPlugin(without)).readme, null)
})

t.test('the same files and keys make the same bytes in any order, and read the same', async () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 500 }).filter((text) => !text.includes('\0') && text.isWellFormed())
  const some = fc.record(
    {
      'main.js': text,
      'README.md': text,
      LICENSE: text,
      'CHANGELOG.md': text,
      'locales/de.json': text.map((more) => JSON.stringify({ more: [...more.replaceAll(/[^a-z]/gu, '')].join('') })),
    },
    { requiredKeys: ['main.js'] },
  )
  const keys = fc.uniqueArray(fc.integer({ min: 0, max: 255 }), { maxLength: 4 })
  assertInTime(
    fc.property(some, keys, fc.boolean(), (some, keys, signed) => {
      const files = filesOf(some as Record<string, string>)
      const by = signed ? keys.map(keyOf) : []
      const bytes = packPlugin(files, by)
      const read = readPackage(bytes)
      if (!bytes.equals(packPlugin(new Map([...files].reverse()), by))) return false
      const back = unpacked(bytes)
      back.delete(INTEGRITY)
      back.delete(SIGNATURE)
      const same = back.size === files.size && [...files].every(([name, data]) => back.get(name)?.equals(data))
      return same && read.code === some['main.js'] && JSON.stringify(read.signedBy) === JSON.stringify(by.map(publicKeyText))
    }),
    { numRuns: 60 },
  )
})

t.test('packages that no server would install are not packed', async (t) => {
  const pack = (more: Record<string, string | Buffer>, keys: KeyObject[] = []) => packPlugin(filesOf(more), keys)
  t.throws(() => packPlugin(new Map()), refused(/no manifest\.json/))
  t.throws(() => packPlugin(new Map([['manifest.json', Buffer.from(JSON.stringify(manifestOf()))]])), refused(/no main\.js/))
  for (const name of [
    '../main.js',
    'Main.js',
    'package.json',
    'main.mjs',
    'snapshot.bin',
    'icon.jpg',
    'locales/../a.json',
    'locales/en.json\n',
    'locales/a/b.json',
    'META/other.json',
    'META',
    '',
  ])
    t.throws(() => pack({ [name]: 'x' }), refused(/not a valid name|not allowed|twice/), encodeURI(name))
  for (const name of [INTEGRITY, SIGNATURE]) t.throws(() => pack({ [name]: '[]' }, [AUTHOR]), refused(/twice|reserved/), name)
  t.throws(() => pack({ 'manifest.json': '{}' }), refused(/manifest\.json/))
  t.throws(() => pack({ 'main.js': Buffer.from([0xff]) }), refused(/main\.js is not UTF-8/))
  t.throws(() => pack({ 'main.js': 'a\0b' }), refused(/main\.js contains NUL/))
  t.throws(() => pack({ 'README.md': 'a\0b' }), refused(/README\.md contains NUL/))
  for (const active of ['<script>x()</script>', '<svg:script href="x"/>', '<rect onload="x()"/>', '<a href="javascript:x()"/>'])
    t.throws(
      () => pack({ 'icon.svg': `<svg>${active}</svg>` }),
      refused(/icon\.svg contains ".*", which can run code\. An icon only draws: remove it\./),
      active,
    )
  t.throws(() => pack({ 'icon.svg': Buffer.from('<svg/>', 'utf16le') }), refused(/icon\.svg is not in UTF-8: save it as UTF-8/))
  t.throws(() => pack({}, [AUTHOR, AUTHOR]), refused(/twice by the same key/))
  t.throws(() => pack({}, [1, 2, 3, 4, 5].map(keyOf)), refused(/1 to 4 signatures/))
  for (const { privateKey } of [generateKeyPairSync('ec', { namedCurve: 'P-256' }), generateKeyPairSync('ed448')])
    t.throws(() => pack({}, [privateKey]), refused(/Ed25519/))
})

t.test('one changed byte in any file, a file added or removed', async (t) => {
  t.equal(SIGNED.size, 7)
  for (const [name, { length }] of SIGNED) {
    for (let at = 0; at < length; at++) {
      const bytes = changed((files) => {
        const data = Buffer.from(files.get(name) as Buffer)
        data[at] = (data[at] as number) ^ 1
        files.set(name, data)
      })
      t.throws(() => readPackage(bytes), { code: 'invalid_value' }, `${name} at ${at}`)
    }
    if (name !== SIGNATURE)
      t.throws(() => readPackage(changed((files) => files.delete(name))), refused(/has no|is not in the package/), `without ${name}`)
  }
  for (const name of ['LICENSE', 'icon.png', 'locales/de.json', 'main.js.map'])
    t.throws(() => readPackage(changed((files) => files.set(name, Buffer.from('x')))), refused(/does not list it/), name)
  t.throws(() => readPackage(changed((files) => files.delete(SIGNATURE))), refused(/signature with SHA256:[0-9a-f]{64} is missing/))
})

t.test('with any changed byte the archive is refused or has the same content', async (t) => {
  const bytes = packed(SIGNED)
  const { sha256: _, ...whole } = readPackage(bytes)
  for (let at = 0; at < bytes.length; at++)
    for (const change of [1, 0x80, 0xff]) {
      const other = Buffer.from(bytes)
      other[at] = (other[at] as number) ^ change
      try {
        const { sha256, ...read } = readPackage(other)
        t.strictSame(read, whole, `at ${at}`)
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'invalid_value') t.fail(`at ${at}: ${error}`)
      }
    }
  for (let length = 0; length < bytes.length; length++)
    try {
      readPackage(bytes.subarray(0, length))
      t.fail(`read the first ${length} bytes`)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'invalid_value') t.fail(`cut to ${length}: ${error}`)
    }
})

t.test('incomplete, duplicate, false and invalid lists', async (t) => {
  t.ok(readPackage(listing((list) => list)), 'the list as it was')
  t.ok(readPackage(listing((list) => ({ ...list, files: [...list.files].reverse() }))), 'in another order')
  const twice = listing((list) => {
    const main = list.files.find(({ name }) => name === 'main.js')
    return { ...list, files: list.files.map((file) => (file.name === 'README.md' ? main : file)) }
  })
  t.throws(() => readPackage(twice), refused(/"main\.js" twice/), 'one file twice, and another missing')
  const changes: [string, (list: { files: Listed[] } & Record<string, unknown>) => unknown, RegExp][] = [
    ['a file left out', (list) => void list.files.pop(), /does not list it/],
    ['nothing', (list) => void list.files.splice(0), /does not list it/],
    ['a missing file', (list) => void list.files.push({ name: 'LICENSE', size: 0, sha256: sha256(Buffer.alloc(0)) }), /not in the package/],
    ['itself', (list) => void list.files.push({ name: INTEGRITY, size: 0, sha256: '' }), /not in the package/],
    ['the signatures', (list) => void list.files.push({ name: SIGNATURE, size: 0, sha256: '' }), /not in the package/],
    ['a name of Object.prototype', (list) => void list.files.push({ name: 'constructor', size: 0, sha256: '' }), /not in the package/],
    ['another size', (list) => void Object.assign(list.files[0] as Listed, { size: 0 }), /differs from its entry/],
    ['another hash', (list) => void Object.assign(list.files[0] as Listed, { sha256: sha256(Buffer.alloc(0)) }), /differs from its entry/],
    [
      'a hash in capitals',
      (list) => void Object.assign(list.files[0] as Listed, { sha256: String(list.files[0]?.sha256).toUpperCase() }),
      /differs from its entry/,
    ],
    ['another format', (list) => ({ ...list, format: 3 }), /format 2 or 1/],
    ['another format with these members', (list) => ({ ...list, format: 1 }), /format 2 or 1/],
    ['another plugin', (list) => ({ ...list, id: 'org.example.other' }), /another plugin/],
    ['another version', (list) => ({ ...list, version: '1.0.1' }), /another plugin or version/],
    ['more than a list', (list) => ({ ...list, more: 1 }), /not a list/],
    ['null', () => [null], /not a list/],
    ['a text', () => 'x', /not a list/],
    ['no files', (list) => ({ ...list, files: {} }), /not a list/],
    ['null among the files', (list) => ({ ...list, files: [null] }), /not a list/],
    ['files without name', (list) => ({ ...list, files: list.files.map(() => ({})) }), /not a list/],
    [
      'names that cannot be printed',
      (list) => ({ ...list, files: list.files.map((file) => ({ ...file, name: { toString: 1 } })) }),
      /not a list/,
    ],
    ['sizes as texts', (list) => ({ ...list, files: list.files.map((file) => ({ ...file, size: String(file.size) })) }), /not a list/],
    ['names with terminal escape codes', (list) => void list.files.push({ name: `\x1b[2J${'\u202e'}`, size: 0, sha256: '' }), /^[ -~]+$/],
  ]
  for (const [name, change, message] of changes) t.throws(() => readPackage(listing(change)), refused(message), name)
  const texts: [string, (text: string) => string, RegExp][] = [
    ['a member twice', (text) => text.replace('{', '{"id":"org.example.other",'), /"id" twice/],
    ['a byte order mark', (text) => `\ufeff${text}`, /byte order mark/],
    ['no JSON', (text) => text.slice(1), /not valid JSON/],
    ['deep', () => '['.repeat(15_000) + ']'.repeat(15_000), /nested deeper/],
    ['nothing', () => '', /not valid JSON/],
  ]
  for (const [name, change, message] of texts)
    t.throws(
      () => readPackage(changed((files) => signedOver(files, Buffer.from(change(String(files.get(INTEGRITY))))))),
      refused(message),
      name,
    )
})

t.test('invalid signatures, and those that anybody can make', async (t) => {
  const listed = SIGNED.get(INTEGRITY) as Buffer
  const publicKey = publicKeyText(AUTHOR)
  const signature = sign(null, listed, AUTHOR).toString('base64')
  const withSignatures = (value: unknown) =>
    changed((files) => files.set(SIGNATURE, Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))), UNSIGNED)
  t.same(readPackage(withSignatures([{ publicKey, signature }])).signedBy, [publicKey])
  const other = (bytes: Buffer | string, key = AUTHOR) => sign(null, Buffer.from(bytes as string), key).toString('base64')
  const raw = Buffer.from(signature, 'base64')
  /** The same signature for a verifier that does not check that its second half is below the order of the group. */
  const order = 2n ** 252n + 27742317777372353535851937790883648493n
  const s = BigInt(`0x${Buffer.from(raw.subarray(32)).reverse().toString('hex')}`) + order
  const malleable = Buffer.concat([raw.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()]).toString('base64')
  const cases: [string, unknown, RegExp][] = [
    ['over something else', [{ publicKey, signature: other('x') }], /is invalid/],
    ['over nothing', [{ publicKey, signature: other('') }], /is invalid/],
    ['over the hash of the list', [{ publicKey, signature: other(createHash('sha512').update(listed).digest()) }], /is invalid/],
    ['over the list with a line behind', [{ publicKey, signature: other(`${listed}\n`) }], /is invalid/],
    ['by another key', [{ publicKey, signature: other(listed, STRANGER) }], /is invalid/],
    ['with the key of another signer', [{ publicKey: publicKeyText(STRANGER), signature }], /is invalid/],
    [
      'one valid and one invalid',
      [
        { publicKey, signature },
        { publicKey: publicKeyText(STRANGER), signature },
      ],
      /is invalid/,
    ],
    ['empty', [{ publicKey, signature: '' }], /is invalid/],
    ['zeros', [{ publicKey, signature: Buffer.alloc(64).toString('base64') }], /is invalid/],
    ['too short', [{ publicKey, signature: raw.subarray(0, 63).toString('base64') }], /is invalid/],
    ['too long', [{ publicKey, signature: Buffer.concat([raw, Buffer.alloc(1)]).toString('base64') }], /is invalid/],
    ['in another spelling', [{ publicKey, signature: `${signature}\n` }], /is invalid/],
    ['for the web', [{ publicKey, signature: raw.toString('base64url') }], /is invalid/],
    ['in its other form', [{ publicKey, signature: malleable }], /is invalid/],
    [
      'twice',
      [
        { publicKey, signature },
        { publicKey, signature },
      ],
      /twice/,
    ],
    ['none', [], /1 to 4/],
    ['too many', Array.from({ length: 5 }, () => ({ publicKey, signature })), /1 to 4/],
    ['an object', { publicKey, signature }, /1 to 4/],
    ['null', 'null', /1 to 4/],
    ['null among them', [null], /1 to 4/],
    ['numbers', [{ publicKey: 1, signature: 2 }], /1 to 4/],
    ['texts that are objects', [{ publicKey: { toString: 1 }, signature: {} }], /1 to 4/],
    ['no JSON', '[', /not valid JSON/],
    ['a member twice', `[{"publicKey":"x","publicKey":"${publicKey}","signature":"${signature}"}]`, /twice/],
    ['a key in another spelling', [{ publicKey: publicKey.replace('=', ''), signature }], /not an Ed25519 key/],
    ['a key with a line behind', [{ publicKey: `${publicKey}\n`, signature }], /not an Ed25519 key/],
    ['a short key', [{ publicKey: Buffer.from(publicKey, 'base64').subarray(0, 31).toString('base64'), signature }], /not an Ed25519 key/],
    [
      'a long key',
      [{ publicKey: Buffer.concat([Buffer.from(publicKey, 'base64'), Buffer.alloc(1)]).toString('base64'), signature }],
      /not an Ed25519 key/,
    ],
    ['no key', [{ publicKey: '', signature }], /not an Ed25519 key/],
    ['a point that is not on the curve', [{ publicKey: Buffer.alloc(32, 2).toString('base64'), signature }], /Ed25519 key|is invalid/],
  ]
  for (const [name, value, message] of cases) t.throws(() => readPackage(withSignatures(value)), refused(message), name)
})

/** A coordinate in the encoding of keys. */
const spelled = (y: bigint, sign: 0 | 1): Buffer =>
  Buffer.from((y | (BigInt(sign) << 255n)).toString(16).padStart(64, '0'), 'hex').reverse()

t.test('keys of low order, for which signatures need no private key', async (t) => {
  const prime = 2n ** 255n - 19n
  const mod = (value: bigint) => ((value % prime) + prime) % prime
  const power = (value: bigint, exponent: bigint): bigint => {
    let result = 1n
    for (let [square, rest] = [mod(value), exponent]; rest > 0n; rest >>= 1n, square = mod(square * square))
      if (rest & 1n) result = mod(result * square)
    return result
  }
  const inverse = (value: bigint) => power(value, prime - 2n)
  const d = mod(-121665n * inverse(121666n))
  const root = power(2n, (prime - 1n) / 4n)
  const roots = (square: bigint): bigint[] => {
    const first = power(square, (prime + 3n) / 8n)
    return [first, mod(first * root)].filter((one) => mod(one * one) === mod(square)).flatMap((one) => [one, mod(-one)])
  }
  // Points of order eight are those whose double, of order four, has y = 0. Doubling gives y' = (y² + x²) / (1 - d x² y²), which is 0 where
  // x² = -y²; on the curve -x² + y² = 1 + d x² y² that makes d y⁴ + 2 y² - 1 = 0.
  const eighths = roots(1n + d).flatMap((one) => roots(mod((one - 1n) * inverse(d))))
  const low = [...new Set([0n, 1n, prime - 1n, ...eighths])]
  t.equal(low.length, 5, 'one, minus one, zero, and two of order eight')
  const spellings = [...low, ...low.filter((y) => y < 19n).map((y) => y + prime)].flatMap((y) => [spelled(y, 0), spelled(y, 1)])
  // R neutral and S zero: the equation then holds for every text if the key is neutral itself, and for one in two to eight otherwise. Current
  // OpenSSL refuses some of these keys by itself, but trust must not depend on that.
  const forged = Buffer.concat([spelled(1n, 0), Buffer.alloc(32)])
  for (const raw of spellings) {
    const publicKey = raw.toString('base64')
    const bytes = changed(
      (files) => files.set(SIGNATURE, Buffer.from(JSON.stringify([{ publicKey, signature: forged.toString('base64') }]))),
      UNSIGNED,
    )
    t.throws(() => readPackage(bytes), refused(/a weak key for which anybody can sign/), raw.toString('hex'))
  }
  t.throws(
    () =>
      readPackage(
        changed(
          (files) =>
            files.set(
              SIGNATURE,
              Buffer.from(JSON.stringify([{ publicKey: Buffer.alloc(32, 255).toString('base64'), signature: forged.toString('base64') }])),
            ),
          UNSIGNED,
        ),
      ),
    refused(/anybody/),
  )
})
