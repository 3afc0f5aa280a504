/** How fast a bucket fills. */
export interface Pace {
  perSecond: number
  /** Tokens of a full bucket. */
  burst: number
}

/** Tolerates floating-point error: a client that waited for the requested time gets its token. */
const ROUNDING = 1e-9

/** Tokens that refill over time: at most `burst` can be taken at once, and `perSecond` per second in the long run. */
export class TokenBucket {
  #tokens: number
  #at: number

  /** Creates a full bucket. @param now seconds of a clock, the same in every call */
  constructor({ burst }: Pace, now: number) {
    this.#tokens = burst
    this.#at = now
  }

  /** Adds the tokens for the time since the last call, at this pace. */
  refill({ perSecond, burst }: Pace, now: number): void {
    this.#tokens = Math.min(burst, this.#tokens + Math.max(0, now - this.#at) * perSecond)
    this.#at = now
  }

  /** Whole tokens, as of the last refill. */
  get whole(): number {
    return Math.max(0, Math.floor(this.#tokens + ROUNDING))
  }

  /** Takes a token if there is one. */
  take(): boolean {
    if (this.whole < 1) return false
    this.#tokens -= 1
    return true
  }

  /** Seconds until the bucket has `count` tokens, at this pace. */
  secondsUntil(count: number, { perSecond }: Pace): number {
    return Math.max(0, (count - this.#tokens) / perSecond)
  }

  /** When it was last refilled, in seconds. */
  get refilledAt(): number {
    return this.#at
  }
}
