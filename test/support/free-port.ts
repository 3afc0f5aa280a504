import { once } from 'node:events'
import net from 'node:net'

/** Below the ephemeral ports of outgoing connections, so that no other process takes it before it is used, or while its server is down. */
const [PORT_MIN, PORT_MAX] = [20_000, 30_000]

/** A port of this machine on which nothing listens at the moment. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN))
    const server = net.createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
