import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import { capMemory } from '#workers/formats/rar/rar-engine.ts'

const require = createRequire(import.meta.url)
const read = (name: string) => readFileSync(require.resolve(`node-unrar-js/dist/js/${name}`))

// The types of Node leave it to those of browsers.
const { validate: isModule } = (globalThis as unknown as { WebAssembly: { validate(bytes: Uint8Array): boolean } }).WebAssembly

/** The offset of the maximum in the memory section and its value, in pages of 64 KiB; null when there is no maximum. */
function readMaximum(wasm: Buffer): number | null {
  const leb = (at: number): [value: number, next: number] => {
    let [value, shift, next] = [0, 0, at]
    for (;;) {
      const byte = wasm[next++]!
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return [value, next]
      shift += 7
    }
  }
  for (let at = 8; at < wasm.length; ) {
    const [size, start] = leb(at + 1)
    if (wasm[at] === 5) return wasm[start + 1] === 1 ? leb(leb(start + 2)[1])[0] : null
    at = start + size
  }
  return null
}

t.test('the engine is the one that its driver was written for', async (t) => {
  const sums = ['unrar.js', 'unrar.wasm'].map((name) => createHash('sha256').update(read(name)).digest('hex'))
  t.same(
    sums,
    [
      '3b75dc33931582f43f9a566c1c65fbc286aa620891c4cc6392d69eb1c93dca44',
      'c7d79f869196e3c79c053ba74a8f629116de8293a94f60cc851bbcd7977d0c2b',
    ],
    'another version: check how it calls `extractor`, returns a failed `open` and adds listeners, see rar-engine.ts, then change the checksums',
  )
})

t.test('the maximum of its memory can be lowered', async (t) => {
  const wasm = read('unrar.wasm')
  const pages = readMaximum(wasm) ?? 0
  t.ok(pages * 65_536 > 256 * 1024 * 1024, `${pages} pages before`)
  for (const bytes of [64, 200, 256].map((mb) => mb * 1024 * 1024)) {
    const capped = capMemory(Buffer.from(wasm), bytes)
    t.equal(readMaximum(capped), bytes / 65_536)
    t.equal(capped.length, wasm.length)
    t.ok(isModule(new Uint8Array(capped)), 'and it is still a module')
  }
  t.equal(readMaximum(capMemory(Buffer.from(wasm), 2 ** 40)), pages, 'never raised')
  t.throws(() => capMemory(Buffer.from(wasm.subarray(0, 8)), 1), /no memory section/)
})
