import { createHash, randomBytes } from 'node:crypto'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { hashFile } from '#workers/formats/hash.ts'

/** KOReader's own loop, from its source: shifts by 2·i from -1, of which the first gives 0. */
function partialMd5(bytes: Buffer): string {
  const md5 = createHash('md5')
  for (let i = -1; i <= 10; i++) {
    const offset = i < 0 ? 0 : 1024 * 4 ** i
    if (offset >= bytes.length) break
    md5.update(bytes.subarray(offset, offset + 1024))
  }
  return md5.digest('hex')
}

t.test('one read gives both hashes, for every size around a boundary', async (t) => {
  const path = join(t.testdir(), 'file')
  const mib = 1024 * 1024
  for (const size of [
    0,
    1,
    1023,
    1024,
    1025,
    2048,
    4095,
    4096,
    4097,
    5120,
    65536,
    mib - 1,
    mib,
    mib + 1,
    mib + 1024,
    5 * mib + 17,
    20 * mib,
  ]) {
    const bytes = randomBytes(size)
    writeFileSync(path, bytes)
    const expected = { sha256: createHash('sha256').update(bytes).digest('hex'), readerHash: partialMd5(bytes), bytesRead: size }
    for (const [disk, slowReadMs] of Object.entries({ fast: Number.POSITIVE_INFINITY, slow: 0 })) {
      const fd = openSync(path, 'r')
      t.same(await hashFile(fd, { slowReadMs }), expected, `${size} bytes on a ${disk} disk`)
      closeSync(fd)
    }
  }
})

t.test('two files at a time do not mix', async (t) => {
  const folder = t.testdir()
  const files = [randomBytes(3_000_000), randomBytes(3_000_000)].map((bytes, index) => {
    const path = join(folder, `file ${index}`)
    writeFileSync(path, bytes)
    return { path, sha256: createHash('sha256').update(bytes).digest('hex') }
  })
  const descriptors = files.map(({ path }) => openSync(path, 'r'))
  const hashes = await Promise.all(descriptors.map((fd) => hashFile(fd, { slowReadMs: 0 })))
  for (const fd of descriptors) closeSync(fd)
  t.same(
    hashes.map(({ sha256 }) => sha256),
    files.map(({ sha256 }) => sha256),
  )
})

t.test('an unreadable descriptor rejects', async (t) => {
  const fd = openSync(t.testdir(), 'r')
  await t.rejects(hashFile(fd), { code: 'EISDIR' })
  closeSync(fd)
})
