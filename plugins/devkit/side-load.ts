import { createHash } from 'node:crypto'
import { isObject, parseJson } from '#core/foundation/plain-object.ts'
import { redirectProblem } from '#core/foundation/redirect-problem.ts'
import { withConfirmingFlags } from '#plugins/packages/identity.ts'
import { ToolProblem } from './command.ts'
import type { GivenCredentials } from './credentials-file.ts'

/** A running server on which builds are installed. */
export interface SideLoad {
  url: string
  /** API key of an administrator. */
  token: string
  /** What the author confirms there, see PackageOrigin. */
  trustKey?: string | undefined
  moveFrom?: string | undefined
}

/** The server answered with an error. */
export class ServerRefusal extends ToolProblem {
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** The server did not answer, or is starting or ending. */
export class ServerAway extends ToolProblem {}

/** Answers of a server that ends, and of a proxy before it. */
const AWAY = [502, 503, 504]
/** The server checks the package and starts it once; on a busy machine that takes a while. */
const DEADLINE_MS = 60_000
const KEY_NEEDED = 'Give --token the API key of an administrator: only administrators install plugins.'

/**
 * The version of a development build: above the one in the manifest, so that a server accepts it as an update, and below the next, so that the
 * release can replace it.
 */
export function tryVersion(version: string, now: Date): string {
  const [core = '', ...pre] = version.split('-')
  const build = `dev.${now.getTime()}`
  if (pre.length > 0) return `${version}.${build}`
  const [major, minor, patch] = core.split('.')
  return `${major}.${minor}.${Number(patch) + 1}-${build}`
}

/** Comes before anything is printed about the server. @throws ToolProblem when the key is not that of an administrator, or the server cannot be reached */
export async function checkAdministrator(server: SideLoad, stop: AbortSignal): Promise<void> {
  await askServer(server, '/api/v1/admin/plugins', { method: 'GET', member: 'plugins' }, stop)
}

/** What waits for the person's consent on the server. */
export interface Waiting {
  id: string
  sha256: string
  waitsFor: string[]
}

/**
 * Installs a package and consents to exactly its bytes: the author is an administrator of the test server.
 * @param mayConsent is called only when the server waits for consent; throws when the person does not give it
 * @returns why it needed consent
 * @throws ToolProblem with the server's error
 */
export async function sideLoad(
  server: SideLoad,
  bytes: Buffer,
  stop: AbortSignal,
  mayConsent: (waiting: Waiting) => Promise<void> = async () => {},
): Promise<string[]> {
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(bytes)]), 'plugin.plugin')
  const installed = await askServer<{ plugin: { id: string; name: string }; waitsFor: string[] }>(
    server,
    `/api/v1/admin/plugins${confirmed(server)}`,
    { method: 'POST', body: form, member: 'plugin' },
    stop,
  )
  const { plugin, waitsFor } = installed
  if (waitsFor.length === 0) return []
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  await mayConsent({ id: plugin.name, sha256, waitsFor })
  await askServer(
    server,
    `/api/v1/admin/plugins/${encodeURIComponent(plugin.id)}/consent`,
    { method: 'POST', body: JSON.stringify({ sha256 }), headers: { 'content-type': 'application/json' } },
    stop,
  )
  return waitsFor
}

function confirmed({ trustKey, moveFrom }: SideLoad): string {
  const query = new URLSearchParams({ ...(trustKey !== undefined && { trustKey }), ...(moveFrom !== undefined && { moveFrom }) }).toString()
  return query === '' ? '' : `?${query}`
}

/** Gives a plugin there its configuration and credentials. @throws ToolProblem with the server's error */
export async function setUp(
  server: SideLoad,
  id: string,
  given: { config?: Record<string, unknown> | undefined; credentials?: GivenCredentials | undefined },
  stop: AbortSignal,
): Promise<void> {
  const body = JSON.stringify(given)
  if (body === '{}') return
  const headers = { 'content-type': 'application/json' }
  await askServer(server, `/api/v1/admin/plugins/${encodeURIComponent(id)}`, { method: 'PATCH', body, headers }, stop)
}

interface ServerRequest {
  method: 'GET' | 'POST' | 'PATCH'
  body?: FormData | string
  headers?: Record<string, string>
  /** One that the answer always has: another program at that address may answer JSON, too. */
  member?: string
}

/**
 * Sends a request to the API of a server.
 * @throws ToolProblem with the server's error, as {@link ServerRefusal}, as {@link ServerAway} when it cannot be reached, and when something else answers
 */
export async function askServer<Answer>(
  { url, token }: SideLoad,
  path: string,
  { member, ...request }: ServerRequest,
  stop: AbortSignal,
): Promise<Answer> {
  const address = new URL(path, url)
  const { origin } = address
  let response: Response
  try {
    response = await fetch(address, {
      ...request,
      headers: { ...request.headers, 'x-api-key': token },
      signal: AbortSignal.any([stop, AbortSignal.timeout(DEADLINE_MS)]),
      // The key is for this server, not for the target of a redirect.
      redirect: 'manual',
    })
  } catch (error) {
    const { cause, message } = error as { cause?: { code?: string; message?: string }; message: string }
    throw new ServerAway(`${origin} could not be reached (${cause?.code ?? cause?.message ?? message}).`, { cause: error })
  }
  const { status, ok } = response
  if (status >= 300 && status < 400) throw new ToolProblem(redirectProblem(address, response.headers.get('location')))
  const text = await response.text().catch((error: unknown) => {
    throw new ServerAway(`${origin} ended in the middle of an answer.`, { cause: error })
  })
  const answer = parseJson(text)
  const message = messageIn(answer)
  if (AWAY.includes(status)) throw new ServerAway(`${origin} answered ${status}: ${message ?? otherAnswer(text)}`)
  if (ok && hasMember(answer, member)) return answer as Answer
  if (ok || message === null)
    throw new ToolProblem(
      `${origin} is no Carrel server: it answered ${ok ? '' : `${status}: `}${otherAnswer(text)}. Check the address, and what is between.`,
    )
  const next = status === 401 || status === 403 ? ` ${KEY_NEEDED}` : ''
  throw new ServerRefusal(`${origin} answered ${status}: ${withFlags(message)}${next}`, status)
}

/** The server names parameters of the request, which are flags here. */
const withFlags = (message: string): string =>
  withConfirmingFlags(message.replace('ask its author for a signed one.', 'sign your builds: --key-file KEY.pem.'))

const hasMember = (answer: unknown, member: string | undefined): boolean => isObject(answer) && (member === undefined || member in answer)

/** That of an error of a Carrel server; null in any other answer. */
function messageIn(answer: unknown): string | null {
  const message = isObject(answer) ? answer['message'] : null
  return typeof message === 'string' ? message : null
}

/** What came in place of an answer of a Carrel server. */
function otherAnswer(text: string): string {
  if (text.trim() === '') return 'nothing'
  if (/^\s*</.test(text)) return 'HTML'
  return parseJson(text) === undefined ? text.slice(0, 300) : 'other JSON'
}
