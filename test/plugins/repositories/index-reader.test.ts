import t from 'tap'
import { publicKeyText } from '#plugins/packages/plugin-package.ts'
import { INDEX_BYTES_MAX, type IndexPlugin, readIndex, signIndex } from '#plugins/repositories/index-file.ts'
import { readIndexBeside } from '#plugins/repositories/index-reader.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { entryOf, indexOf, newKey, signAnything } from '#test/support/plugin-repository.ts'
import { pluginOf } from '#test/support/plugins.ts'

const key = newKey()
const publicKey = publicKeyText(key)
const entry = entryOf([pluginOf(`export default {}`)])
const never = new AbortController().signal

/** Each plugin has ten versions. */
function signPlugins(count: number) {
  const version = entry.versions[0] as IndexPlugin['versions'][number]
  const versions = (sum: number) => Array.from({ length: 10 }, (_, minor) => ({ ...version, version: `${sum}.${minor}.0` }))
  const plugins = Array.from({ length: count }, (_, index) => ({ ...entry, id: `org.example.p${index}`, versions: versions(index) }))
  return signIndex(indexOf({ plugins }), key)
}

t.test('a large index is read in a thread, which finds the same', async (t) => {
  const signed = signPlugins(50)
  const index = readIndex(signed.bytes, signed.signature, publicKey, new Date())
  const read = await readIndexBeside({ ...signed, publicKey }, never)
  t.match(read, { name: index.name, url: index.url, sequence: 1, plugins: 50, publicKey, revoked: [] })
  t.same(JSON.parse(read.text), index)
  t.match(await readIndexBeside({ ...signed, publicKey: null }, never), { publicKey }, 'it returns the signing key')
})

t.test('the largest index costs the main thread a small part of its reading', onlyCost, async (t) => {
  const signed = signPlugins(1_100)
  t.ok(signed.bytes.length > 4_000_000 && signed.bytes.length <= INDEX_BYTES_MAX)

  const begun = threadCpuMs()
  readIndex(signed.bytes, signed.signature, publicKey, new Date())
  const direct = threadCpuMs() - begun
  const started = threadCpuMs()
  await readIndexBeside({ ...signed, publicKey }, never)
  const beside = threadCpuMs() - started
  t.comment(`${Math.round(beside)} ms instead of ${Math.round(direct)}`)
  t.ok(beside < direct / 2, 'of computing')
})

t.test('errors are the same in this thread and in another', async (t) => {
  const refused = (message: RegExp) => ({ code: 'invalid_value', message })
  for (const room of ['', ' '.repeat(100_000)]) {
    const text = (json: string) => ({ ...signAnything(json + room, key), publicKey })
    await t.rejects(readIndexBeside({ ...text('{}'), publicKey: publicKeyText(newKey()) }, never), refused(/is not signed by the key/))
    await t.rejects(readIndexBeside(text('{'), never), refused(/not valid JSON/))
    await t.rejects(readIndexBeside(text('{}'), never), refused(/index\.json/))
  }
})

t.test('the signal of the caller cancels it', async (t) => {
  const large = signAnything(`{"x":"${'x'.repeat(100_000)}"}`, key)
  await t.rejects(readIndexBeside({ ...large, publicKey }, AbortSignal.abort()), { code: 'unavailable' })
})
