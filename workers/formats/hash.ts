import { createHash } from 'node:crypto'
import { read, readSync } from 'node:fs'

/** Large enough that the cost per read is negligible, small enough for two buffers per thread. */
const CHUNK_BYTES = 1024 * 1024

/** KOReader's partial MD5: 1,024 bytes at 0, 1024, 4096, … up to 1024·4^10. */
const SAMPLE_BYTES = 1024
const SAMPLE_OFFSETS = [0, ...Array.from({ length: 11 }, (_, power) => 1024 * 4 ** power)]

interface FileHashes {
  /** Lower-case hex of the whole file. */
  sha256: string
  /** KOReader's partial MD5, lower-case hex. */
  readerHash: string
  /** Bytes read, which differ from the earlier size when the file changes. */
  bytesRead: number
}

/** Two buffers are enough for one file at a time; a second caller in the same thread allocates its own. */
let spare: [Buffer, Buffer] | null = null

/**
 * A chunk from the cache of the system takes 0.1 to 0.3 ms. Then another thread that reads the next one ahead would only cost: waking it and taking over its
 * chunk from another core made reading and hashing a tenth slower (two files at a time on two cores). A disk that delivers 500 MB a second needs 2 ms.
 */
const SLOW_READ_MS = 1
/** After a slow read, so many chunks are read ahead before another one is measured: a busy machine makes single reads slow. */
const AHEAD_CHUNKS = 16

/**
 * Reads the whole file once. While reads take long, another thread reads the next chunk while this one hashes the current one. Rejects with the error of the
 * file system.
 */
export async function hashFile(fd: number, { slowReadMs = SLOW_READ_MS } = {}): Promise<FileHashes> {
  const buffers = spare ?? [Buffer.allocUnsafeSlow(CHUNK_BYTES), Buffer.allocUnsafeSlow(CHUNK_BYTES)]
  spare = null
  const sha256 = createHash('sha256')
  const samples = new Samples()
  let position = 0
  let ahead = 0
  let pending: Promise<number> | null = null
  for (let turn: 0 | 1 = 0; ; ) {
    const begun = performance.now()
    const bytes = pending === null ? readSync(fd, buffers[turn], 0, CHUNK_BYTES, position) : await pending
    if (bytes === 0) break
    const chunk = buffers[turn].subarray(0, bytes)
    ahead = pending !== null ? ahead - 1 : performance.now() - begun > slowReadMs ? AHEAD_CHUNKS : 0
    // After an incomplete chunk comes the end.
    pending = null
    if (ahead > 0 && bytes === CHUNK_BYTES) {
      turn = turn === 0 ? 1 : 0
      pending = readChunk(fd, buffers[turn], position + bytes)
    }
    sha256.update(chunk)
    samples.take(chunk, position)
    position += bytes
  }
  spare = buffers
  return { sha256: sha256.digest('hex'), readerHash: samples.digest(), bytesRead: position }
}

function readChunk(fd: number, buffer: Buffer, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, buffer, 0, buffer.length, position, (error, bytes) => (error ? reject(error) : resolve(bytes)))
  })
}

/** Collects the samples from chunks that may begin or end in the middle of one. */
class Samples {
  readonly #kept = Buffer.alloc(SAMPLE_OFFSETS.length * SAMPLE_BYTES)
  readonly #filled = SAMPLE_OFFSETS.map(() => 0)

  take(chunk: Buffer, position: number): void {
    for (const [index, offset] of SAMPLE_OFFSETS.entries()) {
      const from = Math.max(offset, position)
      const to = Math.min(offset + SAMPLE_BYTES, position + chunk.length)
      if (from >= to) continue
      chunk.copy(this.#kept, index * SAMPLE_BYTES + from - offset, from - position, to - position)
      this.#filled[index] = to - offset
    }
  }

  digest(): string {
    const md5 = createHash('md5')
    for (const [index, bytes] of this.#filled.entries()) md5.update(this.#kept.subarray(index * SAMPLE_BYTES, index * SAMPLE_BYTES + bytes))
    return md5.digest('hex')
  }
}
