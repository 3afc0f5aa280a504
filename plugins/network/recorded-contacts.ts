import { randomUUID } from 'node:crypto'
import type { CallBegun, CallRecord, PluginLogs } from '#plugins/logs/plugin-logs.ts'
import type { OnContact } from '#plugins/network/egress.ts'

/**
 * Records work of the server for a plugin, such as fetching a picture that it named, beside the calls of the plugin, so that each host that is
 * contacted for a plugin is on record. Work that contacts nobody leaves no record. A contact after its end has a record of its own: each new isolate of a
 * plugin repeats its setup, with what was given to the first.
 * @param about.codeOf the failure code of an error
 * @param about.grantOf the granted pattern of a host, as for a call
 */
export async function recordContacts<Value>(
  logs: PluginLogs,
  about: Omit<CallBegun, 'callId'> & { codeOf: (error: unknown) => string; grantOf: (host: string) => string | null },
  work: (onContact: OnContact) => Promise<Value>,
): Promise<Value> {
  const { codeOf, grantOf, ...begun } = about
  const begunAt = performance.now()
  const begin = (): CallRecord => logs.begin({ callId: randomUUID(), ...begun })
  const ended = { cpuMs: 0, queueMs: 0, inputLength: 0, resultLength: 0 }
  let record: CallRecord | undefined
  let hasEnded = false
  const end = (code: string, error?: unknown) => {
    hasEnded = true
    record?.end({ ...ended, code, wallMs: performance.now() - begunAt, ...(error instanceof Error && { message: error.message }) })
  }
  const onContact: OnContact = (host, outcome, bytes) => {
    const own = record === undefined || hasEnded ? begin() : record
    if (!hasEnded) record = own
    own.fetch(host, outcome, bytes, false, { grant: grantOf(host) })
    if (hasEnded) own.end({ ...ended, code: typeof outcome === 'number' ? 'ok' : outcome, wallMs: 0 })
  }
  try {
    const value = await work(onContact)
    end('ok')
    return value
  } catch (error) {
    end(codeOf(error), error)
    throw error
  }
}
