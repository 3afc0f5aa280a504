import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { refuse } from '#core/foundation/errors.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'

/** NIST SP 800-63B: at least 8 characters, no rules of composition. */
export const PASSWORD_LENGTH_MIN = 8
/** Long enough for any phrase; short enough that its length does not dominate the cost of hashing. */
export const PASSWORD_LENGTH_MAX = 1024
/** OWASP's first choice for Argon2id: 19 MiB, two passes, one lane. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const TAG_BYTES = 32
/** Hashes come from our own table; still, a damaged row must not demand gigabytes or hours. */
const MEMORY_KIB_MAX = 262_144
const PASSES_MAX = 10
/** Each hash holds 19 MiB and a thread of the pool that files and images need as well. */
const RUNNING_MAX = 2
/** About two seconds of work; further requests are refused and should try again later. */
const WAITING_MAX = 100
const RETRY_AFTER_SECONDS = 2

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

const running = new Semaphore(RUNNING_MAX)

/** Hashes a password as Argon2id in PHC string form. @throws unavailable when too many wait already */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const tag = await derive(password, salt, TAG_BYTES, COST)
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${base64(salt)}$${base64(tag)}`
}

/**
 * Whether the password has this hash. Null stands for "no such user" and costs as much as a wrong password.
 * @throws unavailable when too many wait already
 */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const match = hash === null ? null : PHC.exec(hash)
  if (match === null) {
    await derive(password, Buffer.alloc(SALT_BYTES), TAG_BYTES, COST)
    return false
  }
  const [, memory, passes, parallelism, salt = '', tag = ''] = match
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
  if (cost.memory > MEMORY_KIB_MAX || cost.passes > PASSES_MAX) return false
  const expected = Buffer.from(tag, 'base64')
  return timingSafeEqual(await derive(password, Buffer.from(salt, 'base64'), expected.length, cost), expected)
}

async function derive(password: string, nonce: Uint8Array, tagLength: number, cost: typeof COST): Promise<Buffer> {
  if (running.waiting >= WAITING_MAX) {
    refuse('unavailable', 'Too many people are signing in at this moment; try again in some seconds.', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }
  return await running.run(
    () =>
      new Promise((resolve, reject) => {
        argon2('argon2id', { message: password, nonce, tagLength, ...cost }, (error, tag) => (error ? reject(error) : resolve(tag)))
      }),
  )
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replaceAll('=', '')
}
