import type { Json } from './types.ts'

/** What a call did, besides its answer. */
export interface CallTrace {
  /** What it computed, in milliseconds; a machine that is busy makes it look like more. */
  cpuMs: number
  wallMs: number
  /** In the order in which they were answered; the status is null where there was no answer. */
  requests: { method: string; url: string; status: number | null }[]
  log: { level: 'debug' | 'info' | 'warn' | 'error'; message: string; data: Json }[]
  progress: { fraction: number; text: string | null }[]
}

/**
 * What a call rejects with. The code is that of a `PluginError`, or what the sandbox says: `thrown` (any other error), `cpu`, `timeout`, `memory`,
 * `crash`, `invalid_result`, `not_implemented`, `load`; `unmatched` when a request matched no fixture, whatever the plugin made of that; or `unhandled`
 * when the call went well but a promise was rejected while nothing waited for it.
 */
export interface CallFailure extends Error {
  readonly code: string
  readonly trace: CallTrace
  /** Where in your sources it arose, such as `src/main.ts:12:9`; null where nobody knows. */
  readonly source: string | null
}
