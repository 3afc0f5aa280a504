import { constants, crc32, deflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { PACKAGE_BYTES_MAX, readZip, writeZip } from '#plugins/packages/zip.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.setTimeout(120_000)

const MB = 1024 * 1024
const anything = () => 20 * MB
const bytes = (text: string) => Buffer.from(text)

/** An entry with its false declarations; everything else is declared correctly. */
interface Part {
  name: string | Buffer
  data?: Buffer
  method?: number
  /** The bytes in the archive, when they are not the data itself. */
  packed?: Buffer
  size?: number
  packedSize?: number
  crc?: number
  flags?: number
  system?: number
  version?: number
  attributes?: number
  disk?: number
  extra?: Buffer
  comment?: Buffer
  localAt?: number
  /** Differences in the local header. */
  local?: Partial<Omit<Part, 'local'>>
  /** Bytes after the data. */
  gap?: Buffer
}

interface End {
  before?: Buffer
  between?: Buffer
  after?: Buffer
  comment?: Buffer
  count?: number
  countHere?: number
  disk?: number
  directoryBytes?: number
  directoryAt?: number
  commentBytes?: number
}

const nameOf = ({ name }: { name?: string | Buffer }) => (typeof name === 'string' ? bytes(name) : (name ?? Buffer.alloc(0)))

function headerOf(part: Part): Buffer {
  const data = part.data ?? bytes('text')
  const header = Buffer.alloc(26)
  header.writeUInt16LE(part.version ?? 20, 0)
  header.writeUInt16LE(part.flags ?? 0, 2)
  header.writeUInt16LE(part.method ?? 0, 4)
  header.writeUInt32LE(part.crc ?? crc32(data), 10)
  header.writeUInt32LE(part.packedSize ?? (part.packed ?? data).length, 14)
  header.writeUInt32LE(part.size ?? data.length, 18)
  header.writeUInt16LE(nameOf(part).length, 22)
  header.writeUInt16LE(part.extra?.length ?? 0, 24)
  return header
}

/** A malicious ZIP. */
function forge(parts: readonly Part[], end: End = {}): Buffer {
  const files: Buffer[] = [end.before ?? Buffer.alloc(0)]
  const directory: Buffer[] = []
  let at = files[0]?.length ?? 0
  for (const part of parts) {
    const said = { ...part, ...part.local }
    const local = Buffer.concat([
      bytes('PK\x03\x04'),
      headerOf(said),
      nameOf(said),
      said.extra ?? Buffer.alloc(0),
      part.packed ?? part.data ?? bytes('text'),
      part.gap ?? Buffer.alloc(0),
    ])
    const rest = Buffer.alloc(14)
    rest.writeUInt16LE(part.comment?.length ?? 0, 0)
    rest.writeUInt16LE(part.disk ?? 0, 2)
    rest.writeUInt32LE(part.attributes ?? 0, 6)
    rest.writeUInt32LE(part.localAt ?? at, 10)
    directory.push(
      Buffer.concat([
        bytes('PK\x01\x02'),
        Buffer.from([20, part.system ?? 0]),
        headerOf(part),
        rest,
        nameOf(part),
        part.extra ?? Buffer.alloc(0),
        part.comment ?? Buffer.alloc(0),
      ]),
    )
    files.push(local)
    at += local.length
  }
  const between = end.between ?? Buffer.alloc(0)
  const listed = Buffer.concat(directory)
  const tail = Buffer.alloc(22)
  tail.write('PK\x05\x06', 'latin1')
  tail.writeUInt16LE(end.disk ?? 0, 4)
  tail.writeUInt16LE((end.countHere ?? end.count ?? parts.length) & 0xffff, 8)
  tail.writeUInt16LE((end.count ?? parts.length) & 0xffff, 10)
  tail.writeUInt32LE(end.directoryBytes ?? listed.length, 12)
  tail.writeUInt32LE(end.directoryAt ?? at + between.length, 16)
  tail.writeUInt16LE(end.commentBytes ?? end.comment?.length ?? 0, 20)
  return Buffer.concat([...files, between, listed, tail, end.comment ?? Buffer.alloc(0), end.after ?? Buffer.alloc(0)])
}

const deflated = (name: string, data: Buffer, more: Partial<Part> = {}): Part => ({
  name,
  data,
  method: 8,
  packed: deflateRawSync(data),
  ...more,
})

const unix = (mode: number) => ({ attributes: (mode << 16) >>> 0, system: 3 })

// First, while the peak memory of this process is low.
t.test('bombs and false sizes take no more memory than the limit for unpacking', async (t) => {
  // Made of pieces, so that building it does not set the peak memory.
  const piece = deflateRawSync(Buffer.alloc(MB), { level: 9, finishFlush: constants.Z_SYNC_FLUSH })
  const bomb = Buffer.concat([...Array.from({ length: 200 }, () => piece), deflateRawSync(Buffer.alloc(0))])
  const cases: [string, Buffer][] = [
    ['200 MB, declared', forge([{ name: 'a', method: 8, packed: bomb, size: 200 * MB, crc: 0 }])],
    ['200 MB, declared as 1 KB', forge([{ name: 'a', method: 8, packed: bomb, size: 1024, crc: 0 }])],
    ['200 MB, declared as 0', forge([{ name: 'a', method: 8, packed: bomb, size: 0, crc: 0 }])],
    ['200 MB, declared as the maximum', forge([{ name: 'a', method: 8, packed: bomb, size: 20 * MB, crc: 0 }])],
    [
      '64 entries of 19 MB each',
      forge(Array.from({ length: 64 }, (_, index) => ({ name: `f${index}`, method: 8, packed: bomb, size: 19 * MB, crc: 0 }))),
    ],
    ['a few bytes, declared as 20 MB', forge([deflated('a', bytes('x'), { size: 20 * MB })])],
    ['stored, declared as 20 MB', forge([{ name: 'a', size: 20 * MB }])],
  ]
  for (const [name, archive] of cases) {
    // Peak with peak: what the process uses now falls when the system takes memory back that an earlier case has left.
    const before = process.resourceUsage().maxRSS
    t.throws(() => readZip(archive, anything), AppError, name)
    const grown = (process.resourceUsage().maxRSS - before) * 1024
    t.ok(grown < 25 * MB, `${name}: at most ${(grown / MB).toFixed(1)} MB more`)
  }
  t.throws(() => readZip(forge([{ name: 'a', size: 6, data: bytes('12345') }]), anything), AppError)
  t.throws(() => readZip(forge([deflated('a', bytes('12345'), { size: 6 })]), anything), /is damaged/)
  t.throws(() => readZip(forge([deflated('a', bytes('12345'), { crc: 7 })]), anything), /is damaged/)
  t.throws(() => readZip(Buffer.alloc(PACKAGE_BYTES_MAX + 1), anything), /the limit is/)
})

t.test('ordinary archives of other tools are read', async (t) => {
  const text = bytes('a long text, a long text, a long text')
  const archive = forge([
    { name: 'a.txt', ...unix(0o100644), flags: 0x0800 },
    deflated('b/c.txt', text),
    { name: 'empty', data: Buffer.alloc(0) },
  ])
  t.same(readZip(archive, anything), [
    { name: 'a.txt', data: bytes('text') },
    { name: 'b/c.txt', data: text },
    { name: 'empty', data: Buffer.alloc(0) },
  ])
  t.same(readZip(forge([deflated('nothing', Buffer.alloc(0))]), anything), [{ name: 'nothing', data: Buffer.alloc(0) }])
})

t.test('names that leave the folder, or that systems interpret differently, are refused', async (t) => {
  const names = [
    ...[
      '../a',
      '..',
      '.',
      'a/../b',
      'a/./b',
      'a/..',
      '/a',
      '//a',
      'C:/a',
      'C:a',
      'a\\b',
      '..\\a',
      '\\\\host\\a',
      'a/',
      'a//b',
      '',
      ' a',
      'a ',
    ],
    ...[
      'a.',
      'a./b',
      'a\0',
      'a\0.txt',
      'a\n',
      'main.js\n',
      'a\r',
      'a\x1b[2J',
      'a:b',
      'a*',
      'a?',
      'a|b',
      '~/a',
      '$HOME',
      '-rf',
      '.hidden',
      'a/b/c/d',
    ],
    ...['ma\u0131n.js', '\u202esj.niam', 'main.js\u200b', 'e\u0301', '\u00e9', '\uff0e\uff0e/a', 'a'.repeat(65), 'a'.repeat(65_000)],
  ]
  const raw = [Buffer.from([0xc0, 0xae, 0xc0, 0xae, 0x2f, 0x61]), Buffer.from([0xff, 0xfe, 0x61]), Buffer.from([0x80])]
  for (const name of [...names, ...raw]) {
    t.throws(
      () => readZip(forge([{ name }]), anything),
      { code: 'invalid_value', message: /is not a valid name/ },
      encodeURI(String(name)).slice(0, 80),
    )
    t.throws(() => writeZip([{ name: String(name), data: bytes('x') }]), AppError)
  }
  try {
    readZip(forge([{ name: `\x1b[31m\u009b${'x'.repeat(5_000)}` }]), anything)
  } catch (error) {
    const { message } = error as Error
    t.match(message, /^\P{C}{20,200}$/u, 'the message has no terminal escape codes')
  }
})

t.test('links, folders, devices and setuid files are refused, for any declared system', async (t) => {
  const modes = [0o120777, 0o040755, 0o020666, 0o060666, 0o010644, 0o140755, 0o104755, 0o102755, 0o101644, 0o170000, 0o004755]
  for (const mode of modes)
    for (const system of [0, 3, 19])
      t.throws(
        () => readZip(forge([{ name: 'a', ...unix(mode), system }]), anything),
        /is not a regular file/,
        `${mode.toString(8)} of ${system}`,
      )
  for (const attributes of [0x10, 0x08, 0x40])
    t.throws(() => readZip(forge([{ name: 'a', attributes }]), anything), /is not a regular file/)
})

t.test('an archive with duplicate names is refused', async (t) => {
  for (const [first, second] of [
    ['main.js', 'main.js'],
    ['main.js', 'MAIN.js'],
    ['readme/a', 'README/A'],
  ] as const)
    t.throws(() => readZip(forge([{ name: first }, { name: second }]), anything), /twice/, second)
  t.throws(() => readZip(forge([{ name: '\u00e9' }, { name: 'e\u0301' }]), anything), AppError, 'two forms of one letter')
})

t.test('headers and directory that disagree', async (t) => {
  const others: Partial<Part>[] = [
    { name: 'b' },
    { name: 'longer' },
    { flags: 0x0800 },
    { flags: 1 },
    { method: 8 },
    { crc: 1 },
    { size: 3 },
    { packedSize: 3 },
    { extra: bytes('abcd') },
  ]
  for (const local of others)
    t.throws(() => readZip(forge([{ name: 'a', local }, { name: 'z' }]), anything), /header of "a" differs/, JSON.stringify(local))
  t.throws(() => readZip(forge([{ name: 'a', flags: 0x0800, local: { flags: 0 } }]), anything), /header of "a" differs/)
})

t.test('encryption, descriptors, other methods, ZIP64, multiple parts, comments and extra fields', async (t) => {
  for (const flags of [1, 0x08, 0x20, 0x40, 0x2000, 0x0801])
    t.throws(() => readZip(forge([{ name: 'a', flags }]), anything), /is encrypted or uses/)
  for (const method of [1, 6, 9, 12, 14, 93, 95, 98, 99, 0xffff])
    t.throws(() => readZip(forge([{ name: 'a', method }]), anything), new RegExp(`method ${method};`))
  t.throws(() => readZip(forge([{ name: 'a', version: 45 }]), anything), /later version of ZIP/)
  t.throws(() => readZip(forge([{ name: 'a', disk: 1 }]), anything), /split/)
  t.throws(() => readZip(forge([{ name: 'a' }], { disk: 1 }), anything), /split/)
  t.throws(() => readZip(forge([{ name: 'a' }], { countHere: 2 }), anything), /split/)
  const zip64 = Buffer.concat([Buffer.from([1, 0, 8, 0]), Buffer.alloc(8)])
  for (const extra of [zip64, bytes('up\x05\x00main.'), bytes('x')])
    t.throws(() => readZip(forge([{ name: 'a', extra }]), anything), /extra fields or a comment/)
  t.throws(() => readZip(forge([{ name: 'a', comment: bytes('x') }]), anything), /extra fields or a comment/)
  t.throws(() => readZip(forge([{ name: 'a', size: 0xffffffff, packedSize: 0xffffffff }]), anything), AppError)
  t.throws(() => readZip(forge([{ name: 'a', localAt: 0xffffffff }]), anything), /does not directly follow/)
  t.throws(() => readZip(forge([{ name: 'a' }], { directoryAt: 0xffffffff }), anything), /not at its declared offset/)
  t.throws(() => readZip(forge([{ name: 'a' }], { directoryBytes: 0xffffffff }), anything), /not at its declared offset/)
  t.throws(() => readZip(forge([{ name: 'a' }], { comment: bytes('x') }), anything), /data after its end/)
  t.throws(() => readZip(forge([{ name: 'a' }], { commentBytes: 9 }), anything), /comment/)
  const inner = forge([{ name: 'other' }])
  t.throws(() => readZip(forge([{ name: 'a' }], { comment: inner }), anything), AppError, 'a whole archive in the comment of another')
})

t.test('entries that overlap, hide or leave gaps', async (t) => {
  const overlapping = forge([{ name: 'a' }, { name: 'a2', localAt: 0 }])
  t.throws(() => readZip(overlapping, anything), /does not directly follow/, 'two entries of one header')
  const nested = forge([{ name: 'inner' }])
  t.throws(
    () =>
      readZip(
        forge([
          { name: 'a', data: nested },
          { name: 'inner', localAt: 31 },
        ]),
        anything,
      ),
    /does not directly follow/,
    'one in another',
  )
  t.throws(() => readZip(forge([{ name: 'a', gap: bytes('hidden') }, { name: 'b' }]), anything), /does not directly follow/)
  t.throws(() => readZip(forge([{ name: 'a', gap: bytes('hidden') }]), anything), /belongs to no file/)
  t.throws(() => readZip(forge([{ name: 'a' }], { between: bytes('hidden') }), anything), /belongs to no file/)
  t.throws(
    () => readZip(forge([{ name: 'a' }], { before: bytes('#!/bin/sh\n') }), anything),
    /does not directly follow/,
    'a program in front',
  )
  t.throws(() => readZip(forge([{ name: 'a', localAt: 0 }], { before: bytes('x') }), anything), AppError)
  t.throws(() => readZip(forge([{ name: 'a' }], { after: bytes('x') }), anything), /data after its end/)
  t.throws(() => readZip(forge([{ name: 'a' }, { name: 'b' }], { count: 1 }), anything), /belongs to no file/)
  t.throws(() => readZip(forge([{ name: 'a' }], { count: 2 }), anything), /directory of the package is damaged/)
  t.throws(() => readZip(forge([{ name: 'a', packedSize: 4_000, size: 4_000 }]), anything), /extends into the directory/)
  const text = bytes('a text, a text, a text')
  const padded = Buffer.concat([deflateRawSync(text), bytes('hidden behind the stream')])
  t.throws(() => readZip(forge([deflated('a', text, { packed: padded })]), anything), /extra data after "a"/)
  t.throws(() => readZip(forge([deflated('a', text, { packed: deflateRawSync(text).subarray(0, -1) })]), anything), /damaged/)
})

t.test('an archive with too many entries is refused', async (t) => {
  t.equal(readZip(forge(Array.from({ length: 64 }, (_, index) => ({ name: `f${index}` }))), anything).length, 64)
  // More than the entry count of the end record can express.
  const many = forge(Array.from({ length: 70_000 }, (_, index) => ({ name: `f${index}` })))
  for (const count of [70_000, 64, 1]) {
    for (const at of [8, 10]) many.writeUInt16LE(count & 0xffff, many.length - 22 + at)
    t.throws(() => readZip(many, anything), AppError, `${count} of 70,000 are declared`)
  }
  t.throws(() => readZip(forge([]), anything), /0 entries/)
})

t.test('the size limit of a name is checked before inflating', async (t) => {
  const archive = forge([deflated('a', Buffer.alloc(2_000))])
  t.throws(() => readZip(archive, () => 1_999), /"a" has 2000 bytes; the limit is 1999/)
  t.equal(readZip(archive, () => 2_000).length, 1)
  t.throws(() => readZip(archive, () => null), /is not allowed/)
})

t.test('a truncated archive, or one that is not an archive, is refused', async (t) => {
  const archive = writeZip([
    { name: 'manifest.json', data: bytes('{}') },
    { name: 'main.js', data: bytes('a text, a text, a text, a text') },
  ])
  for (let length = 0; length < archive.length; length++) {
    t.throws(() => readZip(archive.subarray(0, length), anything), AppError)
    t.throws(() => readZip(archive.subarray(length + 1), anything), AppError)
  }
  const noise = fc.uint8Array({ maxLength: 300 }).map((noise) => Buffer.from(noise))
  const withEnd = fc
    .tuple(noise, fc.uint8Array({ minLength: 16, maxLength: 16 }))
    .map(([noise, rest]) => Buffer.concat([noise, bytes('PK\x05\x06'), Buffer.from(rest), Buffer.alloc(2)]))
  assertInTime(
    fc.property(fc.oneof(noise, withEnd), (bytes) => {
      try {
        readZip(bytes, anything)
        return false
      } catch (error) {
        return error instanceof AppError
      }
    }),
    { numRuns: sizeOf('random archives', { main: 400, full: 2_000 }) },
  )
})

t.test('written archives are read back, with the same bytes in any order', async (t) => {
  const name = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}[A-Za-z0-9](\/[a-z0-9]{1,9})?$/)
  const file = fc.record({ name, data: fc.uint8Array({ maxLength: 2_000 }).map((data) => Buffer.from(data)) })
  const files = fc.uniqueArray(file, { minLength: 1, maxLength: 20, selector: ({ name }) => name.toLowerCase() })
  assertInTime(
    fc.property(
      files.chain((files) => fc.tuple(fc.constant(files), fc.shuffledSubarray(files, { minLength: files.length }))),
      ([files, shuffled]) => {
        const archive = writeZip(files)
        t.ok(archive.equals(writeZip(shuffled)))
        t.same(
          readZip(archive, anything),
          [...files].sort((a, b) => (a.name < b.name ? -1 : 1)),
        )
      },
    ),
    { numRuns: 100 },
  )
})
