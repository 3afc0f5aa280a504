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

const calls = new Semaphore(AT_ONCE_MAX, OF_ONE_MAX)
/** How many calls of each library are late, and of all. */
const late = new Register<number>()
let lateCalls = 0

/**
 * Runs a call that may wait for the disk of a library. While another call of this library is late, it is refused at once.
 * @param root the folder of the library
 * @param discard receives the result of a call that was late
 * @throws the error ETIMEDOUT when the disk does not answer; what the call throws
 */
export async function askDisk<T>(root: string, call: () => Promise<T>, discard: (result: T) => unknown = () => {}): Promise<T> {
  if (late.get(root) !== undefined || lateCalls >= LATE_MAX) throw silenceOf(root)
  const tooLong = new AbortController()
  let leave: Leave | null = null
  let isLate = false
  const work = (async () => {
    leave = await calls.enter(tooLong.signal, { key: root })
    try {
      // Meanwhile another call may have become late, whose place this one has.
      if (late.get(root) !== undefined) throw silenceOf(root)
      const result = await call()
      if (isLate) discard(result)
      return result
    } finally {
      leave()
      if (isLate) count(root, -1)
    }
  })()
  work.catch(() => {})
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isLate = leave !== null
      if (isLate) count(root, 1)
      // No more calls of this library come, so that those of others have the place.
      leave?.()
      tooLong.abort(silenceOf(root))
      reject(silenceOf(root))
    }, ANSWER_MS)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

function count(root: string, change: 1 | -1): void {
  lateCalls += change
  const now = (late.get(root) ?? 0) + change
  if (now > 0) late.set(root, now)
  else late.delete(root)
}

/** The error of a library whose disk does not answer. */
export const silenceOf = (root: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`The disk of "${root}" does not answer. Check its cable, or the network drive.`), {
    code: 'ETIMEDOUT',
    syscall: 'read',
  })
