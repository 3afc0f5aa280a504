import t from 'tap'
import { publicKeyText } from '#plugins/packages/plugin-package.ts'
import { INDEX_BYTES_MAX, type IndexPlugin, readIndex, signIndex } from '#plugins/repositories/index-file.ts'
import { readIndexBeside } from '#plugins/repositories/index-reader.ts'
import { entryOf, indexOf, newKey, signAnything } from '#test/support/plugin-repository.ts'
import { pluginOf } from '#test/support/plugins.ts'

const key = newKey()
const publicKey = publicKeyText(key)
const entry = entryOf([pluginOf(`export default {}`)])
const never = new AbortController().signal

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

t.test('the largest index costs the main thread a small part of its reading', async (t) => {
  const version = entry.versions[0] as IndexPlugin['versions'][number]
  const versions = (sum: number) => Array.from({ length: 10 }, (_, minor) => ({ ...version, version: `${sum}.${minor}.0` }))
  const plugins = Array.from({ length: 1_100 }, (_, index) => ({ ...entry, id: `org.example.p${index}`, versions: versions(index) }))
  const signed = signIndex(indexOf({ plugins }), key)
  t.ok(signed.bytes.length > 4_000_000 && signed.bytes.length <= INDEX_BYTES_MAX)

  const begun = cpuMs()
  const index = readIndex(signed.bytes, signed.signature, publicKey, new Date())
  const direct = cpuMs() - begun
  const started = cpuMs()
  const read = await readIndexBeside({ ...signed, publicKey }, never)
  const beside = cpuMs() - started
  t.comment(`${Math.round(beside)} ms instead of ${Math.round(direct)}`)
  t.ok(beside < direct / 2, 'of computing')
  t.match(read, { name: index.name, url: index.url, sequence: 1, plugins: 1_100, publicKey, revoked: [] })
  t.same(JSON.parse(read.text), index)
  t.match(await readIndexBeside({ ...signed, publicKey: null }, never), { publicKey }, 'it returns the signing key')
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
