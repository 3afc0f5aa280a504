import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { credentialOf } from '#plugins/credentials/plugin-auth.ts'
import { answerHostCalls, entryView, type HostCaller, readerOfLibrary } from '#plugins/host/host-calls.ts'
import { ENTRIES_PAGE, type LibraryEntry } from '#plugins/host/library-entry-query.ts'
import type { EgressResponse } from '#plugins/network/answer.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { checkAddress, readRequest } from '#plugins/network/request.ts'
import { refuseGuest } from '#plugins/runtime/guest-error.ts'
import { bodyOf, type Exchange, type FixtureResponse, type Replay } from '../../plugin-sdk/fixtures.ts'
import type { OpenOptions } from '../../plugin-sdk/testing.ts'
import type { LibraryEntry as GivenEntry } from '../../plugin-sdk/types.ts'
import { ALL_LOCAL_SERVICES } from './allow-local.ts'
import type { GivenCredentials } from './credentials-file.ts'
import type { MemoryStorage } from './memory-storage.ts'

interface HostDependencies {
  egress: Egress
  storage: MemoryStorage
  library: readonly GivenEntry[]
  auth: NonNullable<OpenOptions['auth']>
  /** Added to requests to real services; fixtures need none. */
  credentials?: GivenCredentials | undefined
}

// These commands have no database. This file implements the functions that need one; calls to any other throw an error instead of crashing.
const NO_DATABASE = new Proxy((() => {}) as unknown as Knex, {
  get: (_target, name) => (name === 'then' ? undefined : refuseGuest('server', 'This is available only on a server.')),
  apply: () => refuseGuest('server', 'This is available only on a server.'),
})

/** Handles host calls with the server's own code, except those that need its database. */
export function hostAnswers(
  dependencies: HostDependencies,
): (caller: HostCaller) => (kind: string, payload: unknown, signal: AbortSignal) => Promise<unknown> {
  const { egress, storage, library, auth, credentials: fields = {} } = dependencies
  return (caller) => {
    const credentials = { bound: async () => credentialOf(caller.auth, fields), status: async () => auth }
    const answer = answerHostCalls({ database: NO_DATABASE, egress, credentials })(caller)
    return async (kind, payload, signal) => {
      const given = payload !== null && typeof payload === 'object' ? (payload as Record<string, unknown>) : {}
      switch (kind) {
        case 'storage.get':
          return storage.get(given['key'])
        case 'storage.set':
          storage.set({ key: given['key'], value: given['value'], ttlSeconds: given['ttlSeconds'] })
          return null
        case 'storage.delete':
          storage.delete(given['key'])
          return null
        case 'storage.list':
          return storage.list(given['prefix'])
        case 'library.entries':
          return pageOf(library, given['cursor'], caller)
        default:
          return await answer(kind, payload, signal)
      }
    }
  }
}

function pageOf(library: readonly GivenEntry[], cursor: unknown, caller: HostCaller) {
  readerOfLibrary(caller)
  const { granted } = caller
  const after = cursor === null || cursor === undefined ? -1 : library.findIndex(({ seriesId }) => seriesId === cursor)
  if (after === -1 && cursor !== null && cursor !== undefined) refuseGuest('invalid_argument', 'This server did not issue the cursor.')
  const entries = library.slice(after + 1, after + 1 + ENTRIES_PAGE)
  return {
    entries: entries.map((entry) => entryView(entry as LibraryEntry, granted.library)),
    nextCursor: entries.length < ENTRIES_PAGE ? null : (entries.at(-1)?.seriesId ?? null),
  }
}

/** Answers requests from fixtures, under the rules of a server: it refuses what a server would before it looks for a fixture. @param unmatched receives the requests without one */
export function replayEgress(replay: Replay, unmatched: string[]): Egress {
  return {
    local: ALL_LOCAL_SERVICES,
    async fetch(given, { rules }, signal) {
      const { hop, timeoutMs } = readRequest(given)
      checkAddress(hop, rules)
      const { url, method, headers, body } = hop
      const found = replay.next({ url: url.href, method, headers, ...(body === undefined ? {} : { body }) })
      if (found === null) {
        unmatched.push(`${method} ${url.href}`)
        return refuseGuest('upstream', `No fixture matches ${method} ${url.href}.`)
      }
      return await play(found, { url: url.href, timeoutMs, signal })
    },
  }
}

/** For a timeout in a fixture: long enough to be one, short enough for a test. */
const TIMEOUT_MS_MAX = 50

async function play(
  { failure, response = {} }: Exchange,
  { url, timeoutMs, signal }: { url: string; timeoutMs: number | undefined; signal: AbortSignal },
): Promise<EgressResponse> {
  if (failure === undefined) return answerOf(response, url)
  if (failure.code === 'timeout') await sleep(Math.min(timeoutMs ?? TIMEOUT_MS_MAX, TIMEOUT_MS_MAX), undefined, { signal })
  return refuseGuest(failure.code, failure.message)
}

export function answerOf(response: FixtureResponse, url: string): EgressResponse {
  const headers = Object.entries(response.headers ?? {}).map(([name, value]): [string, string] => [name.toLowerCase(), value])
  if (response.json !== undefined && !headers.some(([name]) => name === 'content-type')) headers.push(['content-type', 'application/json'])
  return { status: response.status ?? 200, url: response.url ?? url, headers, body: bodyOf(response) }
}
