import type { AppError } from '#core/foundation/errors.ts'

/** The plugin's failure code, when a plugin failure caused the error; null for errors of the caller. */
export function pluginFailureCode(error: AppError): string | null {
  const code = (error.details as { code?: unknown } | undefined)?.code
  if (typeof code === 'string') return code
  return error.code === 'unavailable' ? 'unavailable' : null
}

/** The machine-readable part of a failure. */
interface PluginFailure {
  code: string
  /** Null when no call was made, as while calls pause. */
  callId: string | null
}

export function failureOf(error: AppError): PluginFailure {
  const { callId } = (error.details ?? {}) as { callId?: unknown }
  return { code: pluginFailureCode(error) ?? error.code, callId: typeof callId === 'string' ? callId : null }
}
