/** A signal for a guest, and what aborts it. */
export interface Signal {
  signal: AbortSignal
  giveUp: (reason: unknown) => void
}

/** What the prelude needs of the globals of plugins. */
export interface WebGlobals {
  makeSignal: () => Signal
  /** The arguments of `ctx.fetch`, of which the headers may be anything. */
  readArguments: (input: unknown, init: unknown) => { signal?: AbortSignal | null | undefined; headers: unknown }
  makeResponse: (answer: never) => Response
}

/** The value of the script that defines them. */
export type InstallWeb = (timers: {
  set: (run: () => void, ms: number, isDeadline?: boolean) => number
  clear: (id: number) => void
}) => WebGlobals

export let web: WebGlobals | null = null

/** The server's own programs have none. */
export function useWeb(installed: WebGlobals | null): void {
  web = installed
}
