import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sendArchive } from '#api/http/send-archive.ts'
import type { ArchivedFile } from '#core/reading/archived-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'carrel-zip-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const inside = join(folder, 'library')
mkdirSync(inside)

function archived(name: string, bytes: Uint8Array | number): ArchivedFile {
  const path = join(inside, `${readdirSync(inside).length}`)
  writeFileSync(path, typeof bytes === 'number' ? '' : bytes)
  if (typeof bytes === 'number') truncateSync(path, bytes)
  const { size, mtimeNs } = statSync(path, { bigint: true })
  return { name, path, inside, bytes: Number(size), mtimeNs: String(mtimeNs), isAllowed: async () => true }
}

async function send(t: Test, files: readonly ArchivedFile[], method = 'GET') {
  let problem: unknown
  const server = http.createServer((_, response) => {
    sendArchive(response, files).catch((error: unknown) => {
      problem = error
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { method })
  return { length: Number(answer.headers.get('content-length')), zip: Buffer.from(await answer.arrayBuffer()), problem }
}

/** The names and sizes that another program reads, after it has checked all sums; null when there is none. */
function readByPython(zip: Buffer): unknown {
  writeFileSync(join(folder, 'a.zip'), zip)
  const script = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    print(json.dumps([z.testzip(), [[i.filename, i.file_size] for i in z.infolist()]]))`
  try {
    const env = { PYTHONIOENCODING: 'utf-8', PATH: process.env['PATH'] }
    return JSON.parse(execFileSync('python3', ['-c', script, join(folder, 'a.zip')], { encoding: 'utf8', env }))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return null
  }
}

t.test('an archive has the stated length, and other programs can read it', async (t) => {
  const files = [
    archived('進撃の巨人 1.cbz', Buffer.from('first')),
    archived('empty.cbz', Buffer.alloc(0)),
    archived('b.cbz', Buffer.alloc(700_000, 7)),
  ]
  const { length, zip, problem } = await send(t, files)
  t.equal(problem, undefined)
  t.equal(zip.length, length)
  const read = readByPython(zip)
  if (read === null) t.comment('NOT CHECKED by another program: there is no python3')
  else t.same(read, [null, files.map(({ name, bytes }) => [name, bytes])])
  t.equal((await send(t, files, 'HEAD')).length, length)
})

t.test('the stated length is right around the sizes at which the format changes', async (t) => {
  // The records of a directory of 64 KB, which yazl counts in 64 bits, and those beside it.
  for (const count of [230, 254, 255, 256, 257, 330, 333, 334, 400]) {
    const file = archived('', Buffer.from('x'))
    const files = Array.from({ length: count }, (_, index) => ({ ...file, name: `${index}`.padStart(200, 'n') }))
    const { length, zip } = await send(t, files)
    t.equal(zip.length, length, `${count} files`)
    const read = readByPython(zip)
    if (read !== null) t.same(read, [null, files.map(({ name }) => [name, 1])])
  }
})

t.test('the length of files and archives of more than four gigabytes', async (t) => {
  const bytes = 5 * 1024 ** 3
  const files = [archived('big.cbz', bytes), archived('behind.cbz', Buffer.alloc(10))]
  const names = 'big.cbz'.length + 'behind.cbz'.length
  const local = 2 * 30 + names + 2 * 24
  const directory = 2 * (46 + 9 + 28) + names
  const { length } = await send(t, files, 'HEAD')
  t.equal(length, bytes + 10 + local + directory + 56 + 20 + 22)
})

t.test('an archive whose file changes breaks off with the reason', async (t) => {
  const files = [archived('a.cbz', Buffer.alloc(10)), archived('b.cbz', Buffer.alloc(10))]
  writeFileSync(files[1]?.path as string, 'longer than before')
  await t.rejects(send(t, files))
  const gone = [{ ...(files[0] as ArchivedFile), path: join(inside, 'nothing') }]
  await t.rejects(send(t, gone))
})
