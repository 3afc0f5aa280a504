import type { Json } from './types.ts'

/** What a call did, apart from its answer. */
export interface CallTrace {
  /** CPU time in milliseconds; on a busy machine it is higher. */
  cpuMs: number
  wallMs: number
  /** In the order of their responses; the status is null if there was no response. */
  requests: { method: string; url: string; status: number | null }[]
  log: { level: 'debug' | 'info' | 'warn' | 'error'; message: string; data: Json }[]
  progress: { fraction: number; text: string | null }[]
  /** What a server repairs without a word, and what JSON loses of values for the storage and the log, each with its path. */
  warnings: string[]
}

/**
 * The error with which a call rejects. The code is that of a `PluginError`, or from the sandbox: `thrown` (any other error), `cpu`, `timeout`, `memory`,
 * `crash`, `invalid_result`, `not_implemented`, `load`; `unmatched` if a request matched no fixture, even if the plugin caught the error; or `unhandled`
 * if the call succeeded but a promise rejection was not handled.
 */
export interface CallFailure extends Error {
  readonly code: string
  readonly trace: CallTrace
  /** Position in your sources where it was thrown, such as `src/main.ts:12:9`; null if unknown. */
  readonly source: string | null
}
