import { Register } from '#core/foundation/register.ts'
import { type Leave, Semaphore } from '#core/foundation/semaphore.ts'

/**
 * A disk that hangs keeps each call, and its thread, for as long as it likes. Node has a pool of threads for all files, digests and names of hosts (see
 * api/node-tuning.mjs), so only some of them may wait for libraries.
 */
const AT_ONCE_MAX = 12
/** With half as many, pages of a fast disk come a sixth slower. */
const OF_ONE_MAX = 6
/** Late calls, after which all libraries are refused: more would leave no thread to the rest of the server. */
const LATE_MAX = 8
/** Disks that sleep take up to 15 s to start. */
const ANSWER_MS = 15_000
/** A timer for each call would cost as much as the rest of asking. */
const LOOK_MS = 1_000

interface Asked {
  root: string
  endsAt: number
  /** Null while it waits for a place. */
  leave: Leave | null
  hasTimedOut: boolean
  reject: (reason: Error) => void
}

/** The calls that may wait for the disks of libraries. */
export class DiskCalls {
  readonly #answerMs
  readonly #lookMs
  readonly #places = new Semaphore(AT_ONCE_MAX, OF_ONE_MAX)
  /** Those that have not timed out, in the order in which they do. */
  readonly #asked = new Set<Asked>()
  /** How many calls of each library are late, and of all. */
  readonly #late = new Register<number>()
  #lateCalls = 0
  #looking: NodeJS.Timeout | null = null

  constructor({ answerMs = ANSWER_MS, lookMs = LOOK_MS } = {}) {
    this.#answerMs = answerMs
    this.#lookMs = lookMs
  }

  /** See {@link askDisk}. */
  ask<T>(root: string, call: () => Promise<T>, discard: (result: T) => unknown = () => {}): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isRefused(root)) throw silenceOf(root)
      const asked: Asked = { root, endsAt: performance.now() + this.#answerMs, leave: null, hasTimedOut: false, reject }
      this.#asked.add(asked)
      this.#looking ??= setInterval(() => this.#look(), this.#lookMs).unref()
      this.#run(asked, call, discard).then(resolve, reject)
    })
  }

  #isRefused(root: string): boolean {
    return this.#late.has(root) || this.#lateCalls >= LATE_MAX
  }

  async #run<T>(asked: Asked, call: () => Promise<T>, discard: (result: T) => unknown): Promise<T> {
    const { root } = asked
    const leave = this.#places.tryEnter({ key: root }) ?? (await this.#places.enter(undefined, { key: root }))
    try {
      // Meanwhile others may have become late, one of whose places this one has.
      if (asked.hasTimedOut || this.#isRefused(root)) throw silenceOf(root)
      asked.leave = leave
      const result = await call()
      if (asked.hasTimedOut) discard(result)
      return result
    } finally {
      leave()
      if (!this.#asked.delete(asked) && asked.leave !== null) this.#count(root, -1)
    }
  }

  /** Gives up the calls that have waited too long. */
  #look(): void {
    const now = performance.now()
    for (const asked of this.#asked) {
      if (asked.endsAt > now) return
      this.#asked.delete(asked)
      asked.hasTimedOut = true
      if (asked.leave !== null) this.#count(asked.root, 1)
      // No more calls of this library come, so that those of others have the place.
      asked.leave?.()
      asked.reject(silenceOf(asked.root))
    }
    if (this.#looking) clearInterval(this.#looking)
    this.#looking = null
  }

  #count(root: string, change: 1 | -1): void {
    this.#lateCalls += change
    const now = (this.#late.get(root) ?? 0) + change
    if (now > 0) this.#late.set(root, now)
    else this.#late.delete(root)
  }
}

const disks = new DiskCalls()

/**
 * Runs a call that may wait for the disk of a library. While another call of this library is late, it is refused at once.
 * @param root the folder of the library
 * @param discard receives the result of a call that was late
 * @throws the error ETIMEDOUT when the disk does not answer; what the call throws
 */
export const askDisk: DiskCalls['ask'] = (root, call, discard) => disks.ask(root, call, discard)

/** The error of a library whose disk does not answer. */
export const silenceOf = (root: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`The disk of "${root}" does not answer. Check its cable, or the network drive.`), {
    code: 'ETIMEDOUT',
    syscall: 'read',
  })
