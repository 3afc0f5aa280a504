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
