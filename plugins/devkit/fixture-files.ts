import { mkdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { escapedLines } from '#core/foundation/stranger-text.ts'
import type { EgressResponse } from '#plugins/network/answer.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { readRequest } from '#plugins/network/request.ts'
import { refuseGuest } from '#plugins/runtime/guest-error.ts'
import { type Exchange, type Fixtures, openReplay, readFixtures } from '../../plugin-sdk/fixtures.ts'
import { fileReason, ToolProblem } from './command.ts'
import { writePackage } from './pack.ts'

/** Beside the manifest; `dune` in a test is `fixtures/dune.json`. */
export const FIXTURES_FOLDER = 'fixtures'
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9_. -]{0,99}$/
/** Enough for ten responses of 5 MB; no test needs more. */
const FILE_BYTES_MAX = 50 * 1024 * 1024
/** Response headers that plugins read; others change daily, or are private. */
const KEPT_HEADERS = new Set(['content-type', 'link', 'retry-after', 'etag', 'last-modified', 'x-total-count', 'x-ratelimit-remaining'])

const fileOf = (folder: string, name: string): string => {
  if (!NAME.test(name))
    throw new ToolProblem(
      `"${escapedLines(name)}" is not a valid name for a file of fixtures. Use letters, digits, dots and hyphens, without a folder.`,
    )
  return path.join(folder, FIXTURES_FOLDER, `${name}.json`)
}

/** @returns null when the file does not exist. @throws ToolProblem with what is wrong in it */
export async function findFixtures(folder: string, name: string): Promise<Fixtures | null> {
  const file = fileOf(folder, name)
  const shown = path.relative(folder, file)
  let bytes: Buffer
  try {
    bytes = await readFile(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new ToolProblem(`${shown} cannot be read (${fileReason(error)}).`, { cause: error })
  }
  if (bytes.length > FILE_BYTES_MAX) throw new ToolProblem(`${shown} has ${bytes.length} bytes; the limit is ${FILE_BYTES_MAX}.`)
  try {
    return readFixtures(JSON.parse(bytes.toString('utf8')), shown)
  } catch (error) {
    const { message } = error as Error
    throw new ToolProblem(error instanceof SyntaxError ? `${shown}: it is not valid JSON (${message}).` : message, { cause: error })
  }
}

/** Statuses that say nothing about what was requested: the credentials, the pace or the service is the reason. */
const isRefusal = (status = 200): boolean => [401, 403, 429].includes(status) || status >= 500

/**
 * Sends requests to the service and records its responses. Replaces existing fixtures for the same request, except with a refusal; fixtures that people
 * have added by hand, such as failures that no service produces on demand, still come first.
 */
export class Recorder {
  readonly egress: Egress
  readonly #kept: Exchange[]
  readonly #others: Exchange[]
  readonly #keepsOthers: boolean
  readonly #recorded = new Map<string, Exchange>()
  readonly #isNew: boolean
  /** What is said of each request whose earlier response stays because the service refused it this time. */
  readonly refused = new Map<string, string>()

  /** @param keepsOthers whether fixtures of requests that are not made this time stay */
  constructor(outside: Egress, before: Fixtures | null, keepsOthers = false) {
    this.#others = (before?.exchanges ?? []).filter(({ failure }) => failure === undefined)
    this.#keepsOthers = keepsOthers
    this.#isNew = before === null
    this.#kept = (before?.exchanges ?? []).filter(({ failure }) => failure !== undefined)
    const replay = openReplay({ formatVersion: 1, exchanges: this.#kept })
    this.egress = {
      ...(outside.local && { local: outside.local }),
      fetch: async (given, policy, signal) => {
        const { hop } = readRequest(given)
        const { method, url, body } = hop
        const written = replay.next({ method, url: url.href, headers: hop.headers, ...(body === undefined ? {} : { body }) })
        if (written?.failure) return refuseGuest(written.failure.code, written.failure.message)
        const answer = await outside.fetch(given, policy, signal)
        const made = { method, url: url.href, body }
        const key = keyOf(made)
        const before = this.#others.find(({ request }) => keyOf(request) === key)
        if (isRefusal(answer.status) && before !== undefined && !isRefusal(before.response?.status))
          this.refused.set(key, `the response to ${method} ${url.href} stays as it was: the service answered ${answer.status} this time`)
        else {
          this.refused.delete(key)
          this.#recorded.set(key, exchangeOf(made, answer))
        }
        return answer
      },
    }
  }

  /** Whether there is anything to write: a file that nothing was recorded for stays as it is. */
  get hasRecorded(): boolean {
    return this.#isNew || this.#recorded.size > 0
  }

  get exchanges(): Exchange[] {
    // A service that did not respond to anything has no other answers; after a refusal, code makes fewer requests.
    const isKept = this.#keepsOthers || this.#recorded.size === 0 || this.refused.size > 0
    const others = this.#others.filter(({ request }) => isKept && !this.#recorded.has(keyOf(request)))
    return [...this.#kept, ...others, ...this.#recorded.values()]
  }
}

const keyOf = ({ method = 'GET', url, body }: { method?: string | undefined; url: string; body?: unknown }): string =>
  `${method} ${url} ${body ?? ''}`

function exchangeOf({ method, url, body }: { method: string; url: string; body: string | undefined }, answer: EgressResponse): Exchange {
  const headers = Object.fromEntries(answer.headers.filter(([name]) => KEPT_HEADERS.has(name)))
  const json = readJson(answer.body)
  return {
    request: { ...(method === 'GET' ? {} : { method }), url, ...(body === undefined ? {} : { body }) },
    response: {
      ...(answer.status === 200 ? {} : { status: answer.status }),
      ...(answer.url === url ? {} : { url: answer.url }),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      // JSON is kept as JSON, so that people can read and change it.
      ...(json === undefined ? { body: answer.body } : { json: json as NonNullable<Exchange['response']>['json'] & {} }),
    },
  }
}

/** The value of a JSON text; undefined when it is invalid, or would not serialize to the same text. */
function readJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** @throws ToolProblem when the file cannot be written */
export async function writeFixtures(folder: string, name: string, exchanges: readonly Exchange[]): Promise<string> {
  const file = fileOf(folder, name)
  // If it cannot be made, neither can the file, which says so.
  await mkdir(path.dirname(file), { recursive: true }).catch(() => {})
  await writePackage(file, `${JSON.stringify({ formatVersion: 1, exchanges }, null, 2)}\n`)
  return path.relative(folder, file)
}
