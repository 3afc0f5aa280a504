import { closeSync, openSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { buildZip, type ZipPart, type ZipShape } from '#test/support/zip-builder.ts'
import { BookProblem } from '#workers/book-problem.ts'
import { ZipArchive } from '#workers/formats/zip/zip.ts'
import { ENTRIES_MAX } from '#workers/limits.ts'

const KIB = 1024
const MIB = 1024 * KIB
const text = (content: string) => Buffer.from(content)

function open(t: Test, bytes: Uint8Array): ZipArchive {
  const path = join(t.testdir(), 'book.zip')
  writeFileSync(path, bytes)
  const fd = openSync(path, 'r')
  t.teardown(() => closeSync(fd))
  return new ZipArchive({ path, fd, bytes: statSync(path).size })
}

const build = (t: Test, parts: ZipPart[], shape?: ZipShape) => open(t, buildZip(parts, shape))

function faultOf(look: () => unknown): BookProblem['problem'] | null {
  try {
    look()
    return null
  } catch (error) {
    if (error instanceof BookProblem) return error.problem
    throw error
  }
}

t.test('stored and deflated entries are read completely', async (t) => {
  const long = Buffer.alloc(300 * KIB, 'all work and no play ')
  const archive = build(t, [
    { name: 'a.txt', data: text('hello') },
    { name: 'b.txt', data: long, method: 8 },
    { name: 'empty', data: Buffer.alloc(0) },
    { name: 'streamed', data: long, method: 8, descriptor: true },
    { name: 'wide', data: long, method: 8, zip64: true },
  ])
  t.same(
    archive.entries.map(({ name }) => name),
    ['a.txt', 'b.txt', 'empty', 'streamed', 'wide'],
  )
  t.equal(Buffer.from(archive.read(archive.find('a.txt')!, MIB)).toString(), 'hello')
  for (const name of ['b.txt', 'streamed', 'wide']) t.ok(long.equals(archive.read(archive.find(name)!, MIB)), name)
  t.equal(archive.read(archive.find('empty')!, MIB).length, 0)
  t.equal(archive.find('nothing'), undefined)
})

t.test('heads are prefixes of the content', async (t) => {
  const mixed = Buffer.concat([Buffer.alloc(40 * KIB, 'x'), Buffer.from(Array.from({ length: 90 * KIB }, (_, i) => (i * 7919) % 251))])
  for (const method of [0, 8]) {
    const archive = build(t, [{ name: 'page', data: mixed, method }])
    const entry = archive.entries[0]!
    for (const bytes of [1, 100, 2 * KIB, 64 * KIB]) {
      const head = Buffer.from(archive.head(entry, bytes))
      t.ok(head.length > 0 && mixed.subarray(0, head.length).equals(head), `method ${method}, ${bytes} bytes`)
    }
    t.ok(archive.head(entry, 2 * KIB).length >= (method === 0 ? 2 * KIB : 1))
    const { offset, compressedBytes } = archive.locate(entry)
    t.ok(offset > 30 && compressedBytes === entry.compressedBytes)
  }
})

t.test('the directory is found with any data around the archive', async (t) => {
  const parts: ZipPart[] = [
    { name: 'one', data: text('1') },
    { name: 'two', data: text('22'), method: 8 },
  ]
  const shapes: Record<string, ZipShape> = {
    'a comment of 64 KB': { comment: Buffer.alloc(65_535, 'c') },
    'a comment that imitates an end record': { comment: Buffer.from('PK\x05\x06 and 18 bytes more, all of them wrong', 'latin1') },
    'data before it, offsets as they were': { prefix: Buffer.alloc(777, 'j') },
    'data before it, offsets adjusted': { adjustedPrefix: Buffer.alloc(2000, 'j') },
    'zeros after it': { suffix: Buffer.alloc(500) },
    'half a megabyte after it': { suffix: Buffer.alloc(512 * KIB, 'z') },
    'zip64 records': { zip64: true },
    'zip64 records and data before them': { zip64: true, prefix: Buffer.alloc(99, 'j') },
  }
  for (const [label, shape] of Object.entries(shapes)) {
    const archive = build(t, parts, shape)
    t.equal(Buffer.from(archive.read(archive.find('two')!, KIB)).toString(), '22', label)
    t.equal(archive.entries.length, 2, label)
  }
})

t.test('names in every encoding people use', async (t) => {
  const names: [label: string, part: Omit<ZipPart, 'data'>, expected: string][] = [
    ['flagged UTF-8', { name: '第1話.png' }, '第1話.png'],
    ['UTF-8 without the flag', { name: text('chapître.png'), utf8: false }, 'chapître.png'],
    ['Unicode Path', { name: 'p_1.png', unicodePath: 'Страница.png' }, 'Страница.png'],
    ['CP437', { name: Buffer.from([0x82, 0x31, 0xa4, 0x2e, 0x70]) }, 'é1ñ.p'],
    ['CP437 accents before letters', { name: Buffer.from([0x81, 0x62, 0x65, 0x72, 0x20, 0x84, 0x6e]) }, 'über än'],
    ['Shift-JIS with 0x5c inside a character', { name: Buffer.from([0x95, 0x5c, 0x8e, 0x86, 0x2f, 0x31]) }, '表紙/1'],
    ['Shift-JIS kana', { name: Buffer.from([0x83, 0x79, 0x81, 0x5b, 0x83, 0x57]) }, 'ページ'],
    ['backslashes', { name: 'vol1\\page1.png' }, 'vol1/page1.png'],
    ['newline and emoji', { name: 'a\nb 🐟.png' }, 'a\nb 🐟.png'],
    ['NUL', { name: 'a\0b.png' }, 'a\ufffdb.png'],
    ['paths that lead out, which are only data', { name: '../../etc/evil.png' }, '../../etc/evil.png'],
    ['nothing', { name: '' }, ''],
  ]
  for (const [label, part, expected] of names) {
    t.equal(build(t, [{ ...part, data: text('x') }]).entries[0]!.name, expected, label)
  }
  const long = build(t, [{ name: `${'x'.repeat(40_000)}.png`, data: text('x') }]).entries[0]!.name
  t.ok(long.length <= 4096 && long.endsWith('.png'), 'a name of 40,000 characters keeps its end')
  const twice = build(t, [
    { name: 'same', data: text('old') },
    { name: 'same', data: text('new') },
  ])
  t.equal(twice.entries.length, 1)
  t.equal(Buffer.from(twice.read(twice.find('same')!, KIB)).toString(), 'new', 'of two equal names the last counts')
})

t.test('archives without a usable directory are refused with a message', async (t) => {
  const parts: ZipPart[] = [{ name: 'one', data: Buffer.alloc(500, '1') }]
  const whole = buildZip(parts)
  const files: Record<string, Uint8Array> = {
    empty: Buffer.alloc(0),
    'one byte': Buffer.alloc(1),
    'no directory': buildZip(parts, { noDirectory: true }),
    'too few entries': buildZip(parts, { entriesDeclared: 7 }),
    'cut at the first quarter': whole.subarray(0, whole.length / 4),
    'cut at the half': whole.subarray(0, whole.length / 2),
    'cut at the third quarter': whole.subarray(0, (whole.length * 3) / 4),
    'cut in the end record': whole.subarray(0, whole.length - 5),
    'directory overwritten': Buffer.concat([whole.subarray(0, -69), Buffer.alloc(47), whole.subarray(-22)]),
  }
  for (const [label, bytes] of Object.entries(files)) {
    const problem = faultOf(() => open(t, bytes))
    t.match(problem, { type: 'parser', fatal: true, message: /damaged|incomplete/ }, label)
  }
  t.equal(open(t, buildZip([])).entries.length, 0, 'an empty archive is none of these')
})

t.test('entries with false declarations are refused one by one', async (t) => {
  const data = Buffer.alloc(4 * KIB, 'd')
  const archive = build(t, [
    { name: 'good', data },
    { name: 'bad sum stored', data, crc32: 1 },
    { name: 'bad sum deflated', data, method: 8, crc32: 1 },
    { name: 'claims less', data, method: 8, bytes: 100 },
    { name: 'claims more', data, method: 8, bytes: 5 * KIB },
    { name: 'password', data, encrypted: true },
    { name: 'bzip2', data, method: 12 },
    { name: 'unknown', data, method: 77 },
    { name: 'nowhere', data, headerOffset: 0x7fffffff },
    { name: 'cut off', data, compressedBytes: 9 * MIB, bytes: 9 * MIB },
  ])
  const expected: Record<string, RegExp> = {
    'bad sum stored': /checksum/,
    'bad sum deflated': /checksum/,
    'claims less': /size/,
    'claims more': /size/,
    password: /password/,
    bzip2: /bzip2/,
    unknown: /77/,
    nowhere: /not where/,
    'cut off': /cut off/,
  }
  t.equal(
    faultOf(() => archive.read(archive.find('good')!, MIB)),
    null,
  )
  for (const [name, message] of Object.entries(expected)) {
    t.match(
      faultOf(() => archive.read(archive.find(name)!, 16 * MIB)),
      { type: 'page_extraction', message },
      name,
    )
  }
  t.match(
    faultOf(() => archive.read(archive.find('good')!, 100)),
    { message: /more than is allowed/ },
    'the caller sets a limit',
  )
})

t.test('bombs in a zip are refused', async (t) => {
  const zeros = Buffer.alloc(64 * MIB)
  const bomb = build(t, [
    { name: 'ratio', data: zeros, method: 8 },
    { name: 'lying', data: zeros, method: 8, bytes: 1000 },
  ])
  const before = process.memoryUsage().arrayBuffers
  t.match(
    faultOf(() => bomb.read(bomb.find('ratio')!, 256 * MIB)),
    { message: /more than is allowed/ },
  )
  t.match(
    faultOf(() => bomb.read(bomb.find('lying')!, 256 * MIB)),
    { message: /size/ },
  )
  t.ok(bomb.head(bomb.find('ratio')!, 2 * KIB).length <= MIB)
  t.ok(process.memoryUsage().arrayBuffers - before < 16 * MIB, 'and little is inflated')

  const shared = Array.from({ length: 50 }, (_, index) => ({ name: `${index}.png`, data: text('x'), headerOffset: 0 }))
  t.match(
    faultOf(() => build(t, shared)),
    { type: 'parser', message: /overlap/ },
  )
  const huge = [{ name: 'a', data: text('x'), zip64: true, bytes: 2 ** 50 }]
  t.match(
    faultOf(() => build(t, huge)),
    { type: 'parser', message: /more data/ },
  )
})

const many = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `page ${index}.jpg`, data: Buffer.alloc(0) }))

t.test('70,000 entries are read fast', onlyCost, async (t) => {
  for (const shape of [{ zip64: true }, {}]) {
    const bytes = buildZip(many(70_000), shape)
    const started = threadCpuMs()
    const archive = open(t, bytes)
    t.ok(threadCpuMs() - started < 2_000)
    t.equal(archive.entries.length, 70_000)
    t.equal(archive.entries[69_999]!.name, 'page 69999.jpg')
  }
})

t.test('the number of entries is limited', async (t) => {
  t.match(
    faultOf(() => build(t, many(ENTRIES_MAX + 1), { zip64: true })),
    { type: 'parser', message: /more than 100000 entries/ },
  )
})
