import { mkdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { parseJson } from '#core/foundation/plain-object.ts'
import { escapedLines } from '#core/foundation/stranger-text.ts'
import type { EgressResponse } from '#plugins/network/answer.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { checkAddress, readRequest } from '#plugins/network/request.ts'
import { refuseGuest } from '#plugins/runtime/guest-error.ts'
import { type Exchange, type Fixtures, openReplay, readFixtures } from '../../plugin-sdk/fixtures.ts'
import { fileReason, ToolProblem } from './command.ts'
import { answerOf } from './host-answers.ts'
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

/** Whether a recording leaves it as it is: people write such responses by hand, because services do not give them on demand. */
const isKept = ({ failure, response }: Exchange): boolean => failure !== undefined || (response?.status ?? 200) >= 400

interface Made {
  method: string
  url: string
  body: string | undefined
}

/** Sends requests to the service and records its responses. Failures, and responses with a status of 400 or more, answer as before and stay. */
export class Recorder {
  readonly #outside: Egress
  readonly #before: Exchange[]
  readonly #isNew: boolean
  /** New responses in exchanges of the file. */
  readonly #replaced = new Map<Exchange, Exchange>()
  /** Exchanges of requests that the file does not have. */
  readonly #added = new Map<string, Exchange>()
  /** What is said of each request that the service refused this time. */
  readonly refused = new Map<string, string>()

  constructor(outside: Egress, before: Fixtures | null) {
    this.#outside = outside
    this.#before = before?.exchanges ?? []
    this.#isNew = before === null
  }

  /** The service for one plugin, for which the file is read from its beginning, as in a replay. */
  open(): Egress {
    const replay = openReplay({ formatVersion: 1, exchanges: this.#before })
    const { local } = this.#outside
    return {
      ...(local && { local }),
      fetch: async (given, policy, signal) => {
        const { hop } = readRequest(given)
        const { method, headers, body } = hop
        const url = hop.url.href
        const found = replay.next({ method, url, headers, ...(body === undefined ? {} : { body }) })
        if (found !== null && isKept(found)) {
          checkAddress(hop, policy.rules)
          return found.failure ? refuseGuest(found.failure.code, found.failure.message) : answerOf(found.response ?? {}, url)
        }
        const answer = await this.#outside.fetch(given, policy, signal)
        this.#note({ method, url, body }, found, answer)
        return answer
      },
    }
  }

  #note(made: Made, found: Exchange | null, answer: EgressResponse): void {
    const { method, url } = made
    const key = keyOf(made)
    if (isRefusal(answer.status)) {
      const what = found !== null || this.#added.has(key) ? 'the response to' : 'nothing was recorded for'
      const then = what === 'the response to' ? ' stays as it was' : ''
      this.refused.set(key, `${what} ${method} ${url}${then}: the service answered ${answer.status} this time`)
      return
    }
    this.refused.delete(key)
    const response = responseOf(answer, url)
    if (found === null) this.#added.set(key, { request: requestOf(made), response })
    else this.#replaced.set(found, { ...found, response })
  }

  /** Whether there is anything to write: a file that nothing was recorded for stays as it is. */
  get hasRecorded(): boolean {
    return this.#isNew || this.#replaced.size + this.#added.size > 0
  }

  /** What no recording replaces. */
  get kept(): Exchange[] {
    return this.#before.filter(isKept)
  }

  /** @param keepsOthers whether responses to requests that were not made this time stay */
  exchanges(keepsOthers: boolean): Exchange[] {
    // A service that did not respond to anything has no other answers; after a refusal, code makes fewer requests.
    const staysAll = keepsOthers || this.#replaced.size + this.#added.size === 0 || this.refused.size > 0
    const stayed = this.#before.filter((one) => staysAll || isKept(one) || this.#replaced.has(one))
    // In their places: the first match answers.
    return [...stayed.map((one) => this.#replaced.get(one) ?? one), ...this.#added.values()]
  }
}

const keyOf = ({ method, url, body }: Made): string => `${method} ${url} ${body ?? ''}`

const requestOf = ({ method, url, body }: Made): Exchange['request'] => ({
  ...(method === 'GET' ? {} : { method }),
  url,
  ...(body === undefined ? {} : { body }),
})

function responseOf(answer: EgressResponse, url: string): NonNullable<Exchange['response']> {
  const headers = Object.fromEntries(answer.headers.filter(([name]) => KEPT_HEADERS.has(name)))
  const json = readJson(answer.body)
  return {
    ...(answer.status === 200 ? {} : { status: answer.status }),
    ...(answer.url === url ? {} : { url: answer.url }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    // JSON is kept as JSON, so that people can read and change it.
    ...(json === undefined ? { body: answer.body } : { json: json as NonNullable<Exchange['response']>['json'] & {} }),
  }
}

/** The value of a JSON text; undefined when it is invalid, or would not serialize to the same text. */
function readJson(text: string): unknown {
  const value = parseJson(text)
  return typeof value === 'object' && value !== null ? value : undefined
}

/** @throws ToolProblem when the file cannot be written */
export async function writeFixtures(folder: string, name: string, exchanges: readonly Exchange[]): Promise<string> {
  const file = fileOf(folder, name)
  // If it cannot be made, neither can the file, which says so.
  await mkdir(path.dirname(file), { recursive: true }).catch(() => {})
  await writePackage(file, `${JSON.stringify({ formatVersion: 1, exchanges }, null, 2)}\n`)
  return path.relative(folder, file)
}
