/** After this many failures among the last calls of a capability, calls pause, longer each time. */
export const BREAKER = { failures: 5, of: 20, firstMs: 30_000, lastMs: 30 * 60_000 }
/** Recent results of a capability; stored in the database, so that they survive a restart. */
interface Breaker {
  /**
   * The last calls, the newest last: `+` success, `-` failure. A failed call for a user is stored in the shared list as the user's id:
   * one user's configuration or library says nothing about others.
   */
  recent: string[]
  /** Milliseconds of the clock; 0 when calls do not pause. */
  openUntil: number
  pauseMs: number
}

/** By capability, and by capability and user for calls on behalf of a user. */
export type Breakers = Map<string, Breaker>

/** A call, as breakers count it. */
interface CountedCall {
  method: string
  userId: string | null
}

const capabilityOf = (method: string): string => method.slice(0, method.lastIndexOf('.'))
/** Key of one user's breaker, besides the shared one. */
const ownKeyOf = (method: string, userId: string): string => `${capabilityOf(method)} ${userId}`
const isOwn = (key: string): boolean => key.includes(' ')
/** Users whose breakers are kept: those with the most recent failures. */
const OWN_MAX = 200
const freshBreaker = (): Breaker => ({ recent: [], openUntil: 0, pauseMs: BREAKER.firstMs })

export function readBreakers(stored: unknown): Breakers {
  const given = stored !== null && typeof stored === 'object' ? Object.entries(stored as Record<string, Breaker>) : []
  return new Map(given.map(([key, breaker]) => [key, { ...breaker, recent: [...breaker.recent] }]))
}

/** Counts each failure of the server's own calls, and one failure for each user. */
export function failuresOf(recent: readonly string[]): number {
  const users = new Set(recent.filter((one) => one !== '+' && one !== '-'))
  return recent.filter((one) => one === '-').length + users.size
}

const note = (breaker: Breaker, what: string): void => {
  breaker.recent = [...breaker.recent, what].slice(-BREAKER.of)
}

/** Opens the breaker, longer each time. */
function trip(breaker: Breaker, now: number): void {
  breaker.openUntil = now + breaker.pauseMs
  breaker.pauseMs = Math.min(breaker.pauseMs * 2, BREAKER.lastMs)
  breaker.recent = []
}

/** How long a call has to wait, in milliseconds; 0 when it may proceed. After a pause one call may proceed, the probe. */
export function admitCall(breakers: Breakers, { method, userId }: CountedCall, now: number): number {
  const ownMs = userId === null ? 0 : waitOf(breakers.get(ownKeyOf(method, userId)), null, now)
  return ownMs > 0 ? ownMs : waitOf(breakers.get(capabilityOf(method)), userId, now)
}

/** @param userId a user whose call has failed already may not be the probe */
function waitOf(breaker: Breaker | undefined, userId: string | null, now: number): number {
  if (breaker === undefined || breaker.openUntil === 0) return 0
  const pauseMs = breaker.openUntil - now
  if (pauseMs > 0) return pauseMs
  if (userId !== null && breaker.recent.includes(userId)) return BREAKER.firstMs
  // This call is the probe; calls during it wait as if it had failed.
  breaker.openUntil = now + BREAKER.firstMs
  return 0
}

/** @returns whether this closes a breaker */
export function countSuccess(breakers: Breakers, { method, userId }: CountedCall): boolean {
  const keys = [capabilityOf(method), ...(userId === null ? [] : [ownKeyOf(method, userId)])]
  return keys.filter((key) => succeed(breakers, key)).length > 0
}

/** @returns whose calls pause from now on: those of this user, or all */
export function countFailure(breakers: Breakers, { method, userId }: CountedCall, now: number): { own: boolean; shared: boolean } {
  const own = userId !== null && failOwn(breakers, ownKeyOf(method, userId), now)
  return { own, shared: failShared(breakers, { method, userId }, now) }
}

/** Whether calls pause for everybody. */
export const isPaused = (breakers: Breakers, now: number): boolean =>
  [...breakers].some(([key, { openUntil }]) => !isOwn(key) && openUntil > now)

function succeed(breakers: Breakers, key: string): boolean {
  const breaker = breakers.get(key)
  if (breaker === undefined) return false
  const wasOpen = breaker.openUntil !== 0
  note(breaker, '+')
  if (!wasOpen && failuresOf(breaker.recent) > 0) return false
  breakers.delete(key)
  return true
}

/** Counts a failure in the shared breaker. @returns whether it opened */
function failShared(breakers: Breakers, { method, userId }: CountedCall, now: number): boolean {
  const capability = capabilityOf(method)
  const shared = breakers.get(capability) ?? freshBreaker()
  breakers.set(capability, shared)
  const wasProbe = shared.openUntil !== 0
  if (userId === null || !shared.recent.includes(userId)) note(shared, userId ?? '-')
  if ((wasProbe && userId === null) || failuresOf(shared.recent) >= BREAKER.failures) {
    trip(shared, now)
    return true
  }
  // A probe for one user says nothing about others: the next user's call is a probe too.
  if (wasProbe) shared.openUntil = now
  return false
}

/** Counts a failure in the user's own breaker. @returns whether it opened */
function failOwn(breakers: Breakers, key: string, now: number): boolean {
  const own = breakers.get(key) ?? freshBreaker()
  // The most recent failure is last.
  breakers.delete(key)
  breakers.set(key, own)
  const kept = [...breakers.keys()].filter(isOwn)
  for (const oldest of kept.slice(0, Math.max(kept.length - OWN_MAX, 0))) breakers.delete(oldest)
  const wasProbe = own.openUntil !== 0
  note(own, '-')
  if (!wasProbe && failuresOf(own.recent) < BREAKER.failures) return false
  trip(own, now)
  return true
}
