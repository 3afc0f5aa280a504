/** A process that the server has started, from its own side. The server ends it whenever in doubt, and nothing here cleans up. */
import { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { createFrameReader, frameOf } from './frame.ts'

/**
 * Connects to the server, which is then `ready` for requests; ends this process when the server ends.
 * @returns sends a message; resolves when it has left this process
 */
export function connectToServer<From extends object>(
  onMessage: (message: unknown, body: Uint8Array<ArrayBuffer>) => void,
  bodyBytesMax: number,
): (message: From, body?: Uint8Array) => Promise<void> {
  // This thread handles no messages while it works; another one notices when the server ends.
  new Worker(new URL('./server-watch.mjs', import.meta.url))
  const server = new Socket({ fd: 3, readable: true, writable: true })
  server.on('data', createFrameReader(onMessage, bodyBytesMax))
  // Without a server there is nothing to do.
  server.on('close', () => process.kill(process.pid, 'SIGKILL'))
  server.on('error', () => {})
  const send = (message: object, body?: Uint8Array): Promise<void> => {
    const parts = frameOf(message, body)
    const last = parts.pop() as Buffer
    for (const part of parts) server.write(part)
    return new Promise((resolve) => server.write(last, () => resolve()))
  }
  void send({ kind: 'ready' })
  return send
}
