/** Memory for bytes, lent by a pool. */
export interface Lease {
  /** Exactly as long as requested. Its content is arbitrary, and after `release` it belongs to others. */
  bytes: Buffer<ArrayBuffer>
  /** Gives the memory back. Call it when nothing reads or writes `bytes` any more; only the first call counts. */
  release(): void
}

interface BufferPoolLimits {
  /** Bytes that the pool keeps while nobody uses them. */
  idleBytesMax: number
  /** Shorter memory is allocated each time: that costs less than keeping it. */
  bytesMin: number
  /** Longer memory is returned to the system at once. */
  bytesMax: number
  /** After this time without a request the pool keeps nothing. */
  restMs: number
}

/**
 * Lends memory that is used again. A fresh buffer for each page of 700 KB costs more than reading the page: the system has to clear it, and
 * every 64 MB of them start a full collection of garbage. Memory that is not given back is collected like any other, so that a forgotten lease
 * costs time and nothing else. How much is lent is not limited here: borrowers have other limits, such as that of connections.
 */
export class BufferPool {
  readonly #limits: BufferPoolLimits
  /** By size; all sizes are powers of two, so that pages of similar sizes share buffers. */
  readonly #idle = new Map<number, Buffer<ArrayBuffer>[]>()
  #idleBytes = 0
  #lent = 0
  #wasUsed = false
  #resting: NodeJS.Timeout | null = null

  constructor(limits: BufferPoolLimits) {
    this.#limits = limits
  }

  /** Bytes that are kept and in no use. */
  get idleBytes(): number {
    return this.#idleBytes
  }

  /** Leases of pooled memory that have not been given back. */
  get lent(): number {
    return this.#lent
  }

  take(bytes: number): Lease {
    if (bytes < this.#limits.bytesMin) return { bytes: Buffer.allocUnsafe(bytes), release: () => {} }
    this.#wasUsed = true
    const size = bytes <= this.#limits.bytesMax ? 2 ** Math.ceil(Math.log2(bytes)) : bytes
    const whole = this.#idle.get(size)?.pop()
    if (whole) this.#idleBytes -= size
    this.#lent += 1
    return this.#lend(whole ?? Buffer.allocUnsafeSlow(size), bytes)
  }

  #lend(whole: Buffer<ArrayBuffer>, bytes: number): Lease {
    let isBack = false
    return {
      bytes: whole.subarray(0, bytes),
      release: () => {
        if (isBack) return
        isBack = true
        this.#lent -= 1
        this.#giveBack(whole)
      },
    }
  }

  #giveBack(whole: Buffer<ArrayBuffer>): void {
    if (whole.length > this.#limits.bytesMax || this.#idleBytes + whole.length > this.#limits.idleBytesMax) {
      freeMemory(whole)
      return
    }
    const idle = this.#idle.get(whole.length)
    if (idle) idle.push(whole)
    else this.#idle.set(whole.length, [whole])
    this.#idleBytes += whole.length
    this.#resting ??= setInterval(() => this.#rest(), this.#limits.restMs).unref()
  }

  #rest(): void {
    if (this.#wasUsed) {
      this.#wasUsed = false
      return
    }
    if (this.#resting) clearInterval(this.#resting)
    this.#resting = null
    for (const buffers of this.#idle.values()) for (const whole of buffers) freeMemory(whole)
    this.#idle.clear()
    this.#idleBytes = 0
  }
}

/**
 * Returns memory to the system now and not at the next collection, which comes late in a thread that has little else to collect. Remaining views of it
 * are empty. Does nothing to a part of a larger memory.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
