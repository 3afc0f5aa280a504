import type { CarrelError } from '#core/foundation/errors.ts'

/** What a plugin did wrong, in a word, where that is what an error is about; null for errors of whoever asked. */
export function pluginFault(error: CarrelError): string | null {
  const code = (error.details as { code?: unknown } | undefined)?.code
  if (typeof code === 'string') return code
  return error.code === 'unavailable' ? 'unavailable' : null
}

/** What programs need to know of a failure, beside the words for people. */
export interface PluginFailure {
  code: string
  /** Null where no call was made, as while a plugin is left alone. */
  callId: string | null
}

export function failureOf(error: CarrelError): PluginFailure {
  const { callId } = (error.details ?? {}) as { callId?: unknown }
  return { code: pluginFault(error) ?? error.code, callId: typeof callId === 'string' ? callId : null }
}
