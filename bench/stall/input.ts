import type { RunningServer } from '#test/support/running-server.ts'

/** The parts of a request that may differ between runs. */
export interface Sent {
  path: string
  headers: Record<string, string>
  body?: string | Buffer
}

/** One request that is measured. */
export interface Input extends Sent {
  route: string
  /** Distinguishes the inputs of one route. */
  what: string
  method: string
  /** Runs before each request, unmeasured: creates what the request needs; returns the parts of the request that differ from the last run. */
  prepare?: (server: RunningServer) => Promise<Partial<Sent> | undefined>
  /** Why the server may refuse it: it is an attack, or this library has no record for it. */
  mayBeRefused?: string
}

/** Headers and body for JSON. */
export function jsonOf(value: unknown): Pick<Sent, 'headers' | 'body'> {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

/** Sends a request that only prepares another; returns null if it fails. */
export async function send(server: RunningServer, method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(server.url + path, {
    method,
    headers: { ...server.headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return answer.ok && text !== '' ? JSON.parse(text) : null
}

/** Uploads a file as a form. @throws Error when the server refuses it */
export async function sendFile<T>(server: RunningServer, path: string, file: Buffer): Promise<T> {
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(file)]), 'file')
  const answer = await fetch(server.url + path, { method: 'POST', headers: server.headers, body: form })
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}
