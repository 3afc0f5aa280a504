import type { Signal } from './web-globals.ts'

/** A running call of a function of the guest. */
export interface Call {
  readonly id: number
  ended: boolean
  /** Host calls: in total, running, and waiting ones as a list. */
  requests: number
  running: number
  first: HostCall | null
  last: HostCall | null
  lines: number
  letters: number
  signal: Signal | null
  /** Ends a call that has returned, and waits for its host calls. */
  end: (() => void) | null
  fail: (error: unknown) => void
}

/** A request of a plugin to the server. */
export interface HostCall {
  kind: string
  text: string
  call: Call
  resolve: (answer: never) => void
  reject: (error: Error) => void
  next: HostCall | null
  /** Has the stack of the caller. */
  caller: Error
}

export const calls = {
  live: 0,
  /** The call to which the running code belongs: that of the last entry, because jobs of an entry run before the next entry. */
  current: null as Call | null,
}
