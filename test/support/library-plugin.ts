import { readFile } from 'node:fs/promises'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import type { LibraryEntry } from '../../plugin-sdk/types.ts'

const PAGE = 200
const FOLDER = new URL('../../plugins/bundled/similar-in-library/', import.meta.url)

/** A fake library and storage without a server, for libraries that would take minutes to insert into a database. */
export function openLibraryCalls(entries: readonly LibraryEntry[], kept = new Map<string, string>()) {
  const counts = { requests: 0 }
  const answer = async (kind: string, payload: unknown): Promise<unknown> => {
    counts.requests += 1
    const { key, value, cursor } = payload as { key: string; value: unknown; cursor?: string | null }
    if (kind === 'storage.get') return JSON.parse(kept.get(key) ?? 'null')
    if (kind === 'storage.set') {
      kept.set(key, JSON.stringify(value))
      return null
    }
    if (kind !== 'library.entries') throw new Error(`${kind} is not available here`)
    const from = Number(cursor ?? 0)
    const page = entries.slice(from, from + PAGE)
    return { entries: page, nextCursor: page.length < PAGE ? null : String(from + PAGE) }
  }
  return { answer, counts, kept }
}

export interface BundledSandbox {
  call<Answer>(method: string, input: unknown): Promise<{ answer: Answer; cpuMs: number; wallMs: number; requests: number }>
  kept: Map<string, string>
  /** Replaces the library. */
  show(entries: readonly LibraryEntry[]): void
  close(): void
}

/** The bundle of the plugin `similar-in-library` in an isolate, with the limits of a server. */
export async function openBundledSandbox(supervisor: Supervisor, entries: readonly LibraryEntry[]): Promise<BundledSandbox> {
  const code = await readFile(new URL('main.js', FOLDER), 'utf8')
  const { limits, capabilities } = JSON.parse(await readFile(new URL('manifest.json', FOLDER), 'utf8'))
  const methods = capabilities.recommendations.methods.map((method: string) => `recommendations.${method}`)
  const guest = supervisor.open({
    name: 'similar-in-library',
    place: 'similar-in-library',
    sources: [{ name: 'main.js', code, module: true }],
    memoryMbMax: limits.heapMB ?? 64,
    load: { cpuMs: 500, wallMs: 60_000 },
    resultLengthMax: 1024 * 1024,
    concurrency: 4,
    queueMax: 64,
    restMs: 0,
    plugin: { methods, hostCalls: 200, inFlight: 8, logLines: 200, logLength: 64 * 1024 },
  })
  const more = JSON.stringify({ callId: 'call', plugin: { id: 'carrel.similar-in-library', version: '1.0.0' }, config: {}, userConfig: {} })
  const kept = new Map<string, string>()
  let shown = entries
  return {
    kept,
    show(next) {
      shown = next
    },
    close: () => guest.close(),
    async call(method, input) {
      const { answer, counts } = openLibraryCalls(shown, kept)
      const budget = method.endsWith('.refresh') ? { cpuMs: 5_000, wallMs: 120_000 } : { cpuMs: limits.cpuMs, wallMs: limits.wallMs }
      const { text, cpuMs, wallMs } = await guest.call(method, JSON.stringify(input), budget, { more, onRequest: answer })
      return { answer: JSON.parse(text), cpuMs, wallMs, requests: counts.requests }
    },
  }
}
