/** CPU time and duration that one call may take. */
export interface CallBudget {
  cpuMs: number
  wallMs: number
}

/** A bundle of 2 MB compiles in 50 ms; the rest is for its initialization. */
export const LOAD: CallBudget = { cpuMs: 500, wallMs: 5_000 }
/** The setup may send a request to its service. */
export const SETUP: CallBudget = { cpuMs: 500, wallMs: 10_000 }
/** Background work over the whole library of a user; also for migrations of stored data. */
export const REFRESH: CallBudget = { cpuMs: 5_000, wallMs: 120_000 }

/** The granted budget for a call of this method. */
export const budgetOf = ({ cpuMs, wallMs }: CallBudget, method: string): CallBudget =>
  method.endsWith('.refresh') ? REFRESH : { cpuMs, wallMs }

/** Limit for one host, over all plugins and users: services block clients that send more. Manifests can only state less. */
export const HOST_RATE_MAX = { perMinute: 300, burst: 10 } as const

/** Requests at once after a pause; unless a manifest states it, the requests of ten seconds, so that the first minute is no worse than the next. */
export const burstOf = ({ perMinute, burst = Math.floor(perMinute / 6) }: { perMinute: number; burst?: number | undefined }): number =>
  Math.max(Math.min(burst, HOST_RATE_MAX.burst), 1)
