import { randomUUID } from 'node:crypto'
import type { CallBegun, CallRecord, PluginLogs } from '#plugins/logs/plugin-logs.ts'
import type { OnContact } from '#plugins/network/egress.ts'

/**
 * Records work of the server for a plugin, such as fetching a picture that it named, beside the calls of the plugin, so that each host that is
 * contacted for a plugin is on record. Work that contacts nobody leaves no record.
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
  let record: CallRecord | undefined
  const end = (code: string, error?: unknown) =>
    record?.end({
      code,
      cpuMs: 0,
      wallMs: performance.now() - begunAt,
      queueMs: 0,
      inputLength: 0,
      resultLength: 0,
      ...(error instanceof Error && { message: error.message }),
    })
  try {
    const value = await work((host, outcome, bytes) => {
      record ??= logs.begin({ callId: randomUUID(), ...begun })
      record.fetch(host, outcome, bytes, false, { grant: grantOf(host) })
    })
    end('ok')
    return value
  } catch (error) {
    end(codeOf(error), error)
    throw error
  }
}
