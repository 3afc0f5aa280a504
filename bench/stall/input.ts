import type { RunningServer } from '#test/support/running-server.ts'

/** What is sent, and may be other in each run. */
export interface Sent {
  path: string
  headers: Record<string, string>
  body?: string | Buffer
}

/** One request that is measured. */
export interface Input extends Sent {
  route: string
  /** What is done, where a route has several inputs. */
  what: string
  method: string
  /** Done before each run, unmeasured: what the request needs to be taken, and what is other than in the run before. */
  prepare?: (server: RunningServer) => Promise<Partial<Sent> | undefined>
  /** Why it may be refused: whoever sends it means no good, or there is nothing here that it could be taken by. */
  mayBeRefused?: string
}

/** Of a body, or of none. */
export function jsonOf(value: unknown): Pick<Sent, 'headers' | 'body'> {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

/** A request that only prepares; what it is answered does not matter. */
export async function send(server: RunningServer, method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(server.url + path, {
    method,
    headers: { ...server.headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return answer.ok && text !== '' ? JSON.parse(text) : null
}

/** Sends a file as a form does. @throws Error where it is refused */
export async function sendFile<T>(server: RunningServer, path: string, file: Buffer): Promise<T> {
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(file)]), 'file')
  const answer = await fetch(server.url + path, { method: 'POST', headers: server.headers, body: form })
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}
