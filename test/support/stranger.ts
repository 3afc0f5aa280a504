import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import type { Test } from 'tap'

/** A host that must not be reached. */
export interface Stranger {
  /** For the rules of the resolver: 'localhost:8080'. */
  host: string
  /** Without a name that must be looked up. */
  address: string
  /** The first line of each connection, or how many bytes it sent: also a connection without a request is one. */
  connections: string[]
}

/** Listens for connections and answers none. */
export async function openStranger(t: Test): Promise<Stranger> {
  const connections: string[] = []
  const server = createServer((socket) => {
    const at = connections.push('a connection without a request') - 1
    socket.once('data', (data) => (connections[at] = data.toString('latin1').split('\r\n', 2).join(' ').slice(0, 200)))
    socket.on('error', () => {})
    t.teardown(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { host: `localhost:${port}`, address: `http://127.0.0.1:${port}`, connections }
}
