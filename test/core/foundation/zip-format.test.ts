import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { centralDirectory, dataDescriptor, localHeader, type WrittenZipEntry, zipLength } from '#core/foundation/zip-format.ts'

const planOf = (name: string, bytes: number) => ({ name: Buffer.from(name), bytes, modifiedAt: new Date('2024-02-29T12:34:56Z') })

t.test('an archive has the predicted length, and other programs can read it', async (t) => {
  const files = [
    ['進撃の巨人 1.cbz', Buffer.from('first')],
    ['empty.cbz', Buffer.alloc(0)],
    ['b.cbz', Buffer.alloc(70_000, 7)],
  ] as const
  const parts: Buffer[] = []
  const written: WrittenZipEntry[] = []
  for (const [name, bytes] of files) {
    const entry = { ...planOf(name, bytes.length), crc32: crc32(bytes), offset: Buffer.concat(parts).length }
    written.push(entry)
    parts.push(localHeader(entry), bytes, dataDescriptor(entry))
  }
  const zip = Buffer.concat([...parts, centralDirectory(written, Buffer.concat(parts).length)])
  t.equal(zip.length, zipLength(written))

  const folder = mkdtempSync(join(tmpdir(), 'carrel-zip-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'a.zip'), zip)
  const script = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    print(json.dumps([z.testzip(), [[i.filename, i.file_size, list(i.date_time)] for i in z.infolist()]]))`
  let read: string
  try {
    read = execFileSync('python3', ['-c', script, join(folder, 'a.zip')], {
      encoding: 'utf8',
      env: { PYTHONIOENCODING: 'utf-8', PATH: process.env['PATH'] },
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    t.comment('NOT CHECKED by another program: there is no python3')
    return
  }
  const time = [2024, 2, 29, 12, 34, 56]
  t.same(JSON.parse(read), [null, files.map(([name, bytes]) => [name, bytes.length, time])])
})

t.test('files and archives of more than four gigabytes', async (t) => {
  const bytes = 5 * 1024 ** 3
  const header = localHeader(planOf('big.cbz', bytes))
  t.equal(header.readUInt32LE(18), 0xffff_ffff)
  t.equal(header.readBigUInt64LE(header.length - 8), BigInt(bytes))
  t.equal(dataDescriptor({ bytes, crc32: 1 }).length, 24)
  const directory = centralDirectory([{ ...planOf('behind.cbz', 10), crc32: 1, offset: bytes }], bytes + 100)
  t.equal(directory.readUInt32LE(42), 0xffff_ffff)
  const end = directory.length - 22 - 20 - 56
  t.equal(directory.readUInt32LE(end), 0x06064b50)
  t.equal(directory.readBigUInt64LE(end + 48), BigInt(bytes + 100), 'where the directory begins')
  t.equal(directory.readBigUInt64LE(end + 56 + 8), BigInt(bytes + 100 + end), 'where its end begins')
  const many = Array.from({ length: 70_000 }, (_, index) => planOf(`${index}`.padStart(5, '0'), 0))
  t.equal(zipLength(many), 70_000 * (30 + 5 + 16 + 46 + 5) + 56 + 20 + 22)
})
