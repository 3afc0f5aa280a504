import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { packPlugin, readPackage, readPackageBeside } from '#plugins/packages/plugin-package.ts'
import { readZip, unpackedBytes } from '#plugins/packages/zip.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { pluginOf } from '#test/support/plugins.ts'

const small = pluginOf('export default {}')
/** The files of a package, and a map beside them. */
function withMap(map: Buffer): Buffer {
  const files = readZip(small, () => 1_000_000).filter(({ name }) => !name.startsWith('META/'))
  return packPlugin(new Map([...files.map(({ name, data }) => [name, data] as const), ['main.js.map', map]]))
}

t.test('the largest package costs the main thread a small part of its reading', onlyCost, async (t) => {
  const large = withMap(Buffer.from(randomBytes(6_000_000).toString('base64')))
  let [directMs, besideMs] = [Infinity, Infinity]
  // The least of three: a collection of garbage counts as work of the main thread too.
  for (let round = 0; round < 3; round++) {
    const begun = threadCpuMs()
    const direct = readPackage(large)
    const between = threadCpuMs()
    const read = await readPackageBeside(large)
    directMs = Math.min(directMs, between - begun)
    besideMs = Math.min(besideMs, threadCpuMs() - between)
    t.same(read, direct)
  }
  t.comment(`${Math.round(besideMs)} ms instead of ${Math.round(directMs)}`)
  t.ok(besideMs < directMs / 2, 'of computing')
})

t.test('a small package with large content is read in a thread too; small ones are read directly', async (t) => {
  t.ok(unpackedBytes(small) < 100_000)
  const bomb = withMap(Buffer.alloc(8_000_000))
  t.ok(bomb.length < 100_000)
  t.ok(unpackedBytes(bomb) > 8_000_000)
  t.same(await readPackageBeside(bomb), readPackage(bomb))
  t.same(await readPackageBeside(small), readPackage(small))
})

t.test('a file that is no ZIP starts no thread', async (t) => {
  const damaged = Buffer.from(small)
  damaged.writeUInt32LE(0, damaged.readUInt32LE(damaged.length - 6))
  for (const bytes of [Buffer.alloc(0), Buffer.from('no ZIP'), small.subarray(0, -40), damaged, Buffer.alloc(2_000_000)]) {
    const refused = assert.rejects(readPackageBeside(bytes), { code: 'invalid_value' })
    t.notOk(process.getActiveResourcesInfo().includes('MessagePort'), `${bytes.length} bytes`)
    await refused
  }
  t.pass()
})

t.test('errors are the same in this thread and in another', async (t) => {
  const damaged = withMap(randomBytes(2_000_000))
  damaged[100_000] = (damaged[100_000] as number) ^ 1
  const torn = small.subarray(0, small.length - 40)
  for (const bytes of [damaged, torn, Buffer.alloc(30), Buffer.alloc(0)]) {
    let expected: unknown
    try {
      readPackage(bytes)
    } catch (error) {
      expected = error
    }
    const { code, message, details } = expected as { code: string; message: string; details: unknown }
    await t.rejects(readPackageBeside(bytes), { code, message, details })
  }
})
