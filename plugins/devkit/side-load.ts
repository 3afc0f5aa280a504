import { createHash } from 'node:crypto'
import { ToolProblem } from './command.ts'

/** A running server on which builds are installed. */
export interface SideLoad {
  url: string
  /** API key of an administrator. */
  token: string
}

/** The server checks the package and starts it once; on a busy machine that takes a while. */
const DEADLINE_MS = 60_000

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

/**
 * Installs a package and consents to exactly its bytes: the author is an administrator of the test server.
 * @returns why it needed consent
 * @throws ToolProblem with the server's error
 */
export async function sideLoad(server: SideLoad, bytes: Buffer, stop: AbortSignal): Promise<string[]> {
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(bytes)]), 'plugin.plugin')
  const installed = await ask<{ plugin: { id: string }; waitsFor: string[] }>(server, '/api/v1/admin/plugins', { body: form }, stop)
  if (installed.waitsFor.length > 0)
    await ask(
      server,
      `/api/v1/admin/plugins/${encodeURIComponent(installed.plugin.id)}/consent`,
      {
        body: JSON.stringify({ sha256: createHash('sha256').update(bytes).digest('hex') }),
        headers: { 'content-type': 'application/json' },
      },
      stop,
    )
  return installed.waitsFor
}

async function ask<Answer>(
  { url, token }: SideLoad,
  path: string,
  init: { body: FormData | string; headers?: Record<string, string> },
  stop: AbortSignal,
): Promise<Answer> {
  const address = new URL(path, url)
  let response: Response
  try {
    response = await fetch(address, {
      method: 'POST',
      body: init.body,
      headers: { ...init.headers, 'x-api-key': token },
      signal: AbortSignal.any([stop, AbortSignal.timeout(DEADLINE_MS)]),
      // The key is for this server, not for the target of a redirect.
      redirect: 'error',
    })
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } }
    throw new ToolProblem(`${address.origin} could not be reached${cause?.code === undefined ? '' : ` (${cause.code})`}.`, { cause: error })
  }
  const text = await response.text()
  if (response.ok) return JSON.parse(text) as Answer
  throw new ToolProblem(`${address.origin} answered ${response.status}: ${messageIn(text)}`)
}

function messageIn(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    return typeof message === 'string' ? message : text.slice(0, 300)
  } catch {
    return text.slice(0, 300)
  }
}
