import { randomBytes } from 'node:crypto'
import { closeSync, mkdtempSync, openSync, rmSync, utimesSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateRawSync, gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { OpenedEntry } from '#core/reading/publication.ts'
import { buildZip, type ZipPart } from '#test/support/zip-builder.ts'
import { OpenFiles } from '#workers/formats/open-files.ts'
import { ZipArchive } from '#workers/formats/zip/zip.ts'
import { ENTRY_LIMITS, zipEntryOpener } from '#workers/formats/zip-entry.ts'
import { CheckedEntries } from '#workers/formats/zip-read.ts'

const SHORT = Buffer.from('A chapter. '.repeat(500))
/** Several chunks, which deflate hardly compresses. */
const LONG = Buffer.concat([randomBytes(900_000), Buffer.alloc(300_000, 'x')])

async function openArchive(t: Test, parts: ZipPart[], limits = ENTRY_LIMITS) {
  const root = mkdtempSync(join(tmpdir(), 'carrel-entries-'))
  const path = join(root, 'book.epub')
  const bytes = buildZip(parts)
  writeFileSync(path, bytes)
  const files = new OpenFiles()
  const checked = new CheckedEntries()
  const open = zipEntryOpener(files, checked, limits)
  t.teardown(async () => {
    await files.close()
    rmSync(root, { recursive: true, force: true })
  })
  const fd = openSync(path, 'r')
  const archive = new ZipArchive({ path, fd, bytes: bytes.length })
  const requests = new Map(
    archive.entries.map((entry) => [entry.name, { root, path, name: entry.name, bytes: entry.bytes, zip: archive.locate(entry) }]),
  )
  closeSync(fd)
  const ask = (name: string, asGzip = false) => open({ ...requests.get(name)!, asGzip })
  const entry = async (name: string, asGzip = false): Promise<OpenedEntry> => {
    const outcome = await ask(name, asGzip)
    if ('problem' in outcome) throw new Error(outcome.problem.message)
    return outcome.entry
  }
  return { path, ask, entry, checked, requests }
}

async function all(entry: OpenedEntry, part = { start: 0, end: entry.bytes }): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of entry.read(part)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

t.test('short and long entries, stored and deflated, plain and as gzip', async (t) => {
  const contents = { short: SHORT, long: LONG, empty: Buffer.alloc(0) }
  const parts = Object.entries(contents).flatMap(([name, data]) => [
    { name: `${name}.stored`, data },
    { name: `${name}.deflated`, data, method: 8 },
  ])
  const { entry } = await openArchive(t, parts)
  for (const [name, data] of Object.entries(contents)) {
    for (const kind of ['stored', 'deflated']) {
      for (let time = 0; time < 2; time++) {
        const plain = await entry(`${name}.${kind}`)
        t.equal(plain.isGzip, false)
        t.equal(plain.bytes, data.length)
        t.equal(plain.whole !== null, name !== 'long', 'only short entries are in memory')
        t.ok((await all(plain)).equals(data), `${name} ${kind}`)
        for (const [start, end] of [
          [1, Math.min(10, data.length)],
          [data.length >> 1, data.length],
          [262_140, 262_150],
        ] as const)
          if (end <= data.length && start < end)
            t.ok((await all(plain, { start, end })).equals(data.subarray(start, end)), `${start} to ${end}`)
        const packed = await entry(`${name}.${kind}`, true)
        t.equal(packed.isGzip, kind === 'deflated')
        const bytes = await all(packed)
        t.equal(bytes.length, packed.bytes)
        t.ok((packed.isGzip ? gunzipSync(bytes) : bytes).equals(data))
      }
    }
  }
})

t.test('data after the last block is never sent', async (t) => {
  const behind = (data: Buffer) => Buffer.concat([deflateRawSync(data), Buffer.from('not a part of it')])
  const { entry, checked } = await openArchive(t, [
    { name: 'short', data: SHORT, method: 8, packed: behind(SHORT) },
    { name: 'long', data: LONG, method: 8, packed: behind(LONG) },
  ])
  for (const [name, data] of Object.entries({ short: SHORT, long: LONG })) {
    for (let time = 0; time < 2; time++) {
      const opened = await entry(name, true)
      t.equal(opened.isGzip, false, name)
      t.ok((await all(opened)).equals(data))
    }
  }
  t.same(
    [...checked.values()].map(({ endsExactly }) => endsExactly),
    [false, false],
  )
})

t.test('a wrong checksum, a wrong size, truncated and invalid data', async (t) => {
  const parts: ZipPart[] = []
  for (const [size, data] of Object.entries({ short: SHORT, long: LONG })) {
    for (const method of [0, 8]) {
      const part = { data, method }
      const deflated = deflateRawSync(data)
      parts.push(
        { ...part, name: `${size} ${method} sum`, crc32: 1 },
        { ...part, name: `${size} ${method} more`, bytes: data.length + 1 },
        { ...part, name: `${size} ${method} less`, bytes: data.length - 1 },
      )
      if (method === 8)
        parts.push(
          { ...part, name: `${size} ${method} unfinished`, packed: deflated.subarray(0, deflated.length - 20) },
          { ...part, name: `${size} ${method} noise`, packed: Buffer.alloc(deflated.length, 7) },
        )
    }
  }
  const { ask } = await openArchive(t, parts)
  for (const { name } of parts)
    for (const asGzip of [false, true])
      t.match(
        await ask(name as string, asGzip),
        { problem: { type: 'page_extraction', message: / (damaged|size)/ } },
        `${String(name)} ${asGzip}`,
      )
})

t.test('another record for the same offset is checked separately', async (t) => {
  const { ask, entry, requests } = await openArchive(t, [{ name: 'a', data: SHORT, method: 8 }])
  await entry('a')
  const request = requests.get('a')!
  requests.set('longer', { ...request, bytes: request.bytes + 1 })
  requests.set('stored', { ...request, zip: { ...request.zip, method: 0 } })
  for (const name of ['longer', 'stored']) t.match(await ask(name, true), { problem: { message: /size/ } }, name)
})

t.test('entries are checked once for each version of their file', async (t) => {
  const { path, ask, entry, checked } = await openArchive(t, [{ name: 'long', data: LONG }])
  await Promise.all([entry('long'), entry('long'), entry('long')])
  t.equal(checked.size, 1)
  await entry('long')
  t.equal(checked.size, 1)
  writeFileSync(path, buildZip([{ name: 'long', data: Buffer.concat([Buffer.from('y'), LONG.subarray(1)]) }]))
  // Its size is the same, and its time may be.
  utimesSync(path, 1, 1)
  // What was checked is remembered for two seconds.
  await new Promise((resolve) => setTimeout(resolve, 2_100))
  t.match(await ask('long'), { problem: { message: /damaged/ } }, 'a new version is checked again')
})

t.test('a file that changes while it is read fails', async (t) => {
  const { path, entry } = await openArchive(t, [{ name: 'long', data: LONG }])
  const opened = await entry('long')
  const taken = opened.read({ start: 0, end: opened.bytes })[Symbol.asyncIterator]()
  t.notOk((await taken.next()).done)
  const fd = openSync(path, 'r+')
  writeSync(fd, 'changed', 900_000)
  closeSync(fd)
  utimesSync(path, 1, 1)
  await t.rejects(
    (async () => {
      while (!(await taken.next()).done);
    })(),
    { message: /changed while Carrel read it/ },
  )
})

t.test('the memory cache is bounded', async (t) => {
  const parts = Array.from({ length: 20 }, (_, index) => ({ name: `${index}`, data: Buffer.alloc(100_000, index) }))
  const { entry } = await openArchive(t, parts, { keptBytesMax: 200_000, keptInAllBytesMax: 500_000 })
  const kept = await Promise.all(parts.map(({ name }) => entry(name)))
  const again = await Promise.all(parts.map(({ name }) => entry(name)))
  t.ok(again.filter(({ whole }, index) => whole === kept[index]!.whole).length <= 5)
  for (const [index, opened] of again.entries()) t.ok((await all(opened)).equals(parts[index]!.data))
  const last = await entry('19')
  t.equal(last.whole, (await entry('19')).whole, 'the same bytes, not read again')
})
