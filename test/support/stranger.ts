import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import type { Test } from 'tap'

/** A host that must not be reached. */
export interface Stranger {
  /** For the rules of the resolver: 'localhost:8080'. */
  host: string
  /** Without a name that must be looked up. */
  address: string
  /** The host that each connection asked for, also below TLS, or that it asked for nothing. */
  connections: string[]
}

/** Listens for connections and answers none. */
export async function openStranger(t: Test): Promise<Stranger> {
  const connections: string[] = []
  const server = createServer((socket) => {
    const at = connections.push('a connection without a request') - 1
    socket.once('data', (data) => (connections[at] = hostIn(data.toString('latin1'))))
    socket.on('error', () => {})
    t.teardown(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { host: `localhost:${port}`, address: `http://127.0.0.1:${port}`, connections }
}

/** By the name in a request, or in the first message of TLS. */
const hostIn = (data: string): string =>
  /[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:example|com|net|org)|127\.0\.0\.1/.exec(data)?.[0] ?? `${data.length} bytes`
