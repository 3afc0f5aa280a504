import http from 'node:http'
import net from 'node:net'
import t from 'tap'
import { describeConnectionProblem } from '#plugins/network/connection-problem.ts'

/** The error of a request to a service that sends these bytes. */
async function errorOf(bytes: string): Promise<unknown> {
  const service = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(bytes))
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  const { port } = service.address() as net.AddressInfo
  try {
    return await new Promise((resolve) => {
      http.get({ host: '127.0.0.1', port, agent: false }, resolve).on('error', resolve)
    })
  } finally {
    service.close()
  }
}

t.test('an invalid response is not reported as an unreachable service', async (t) => {
  const told = async (bytes: string) => describeConnectionProblem('localhost', await errorOf(bytes))
  t.equal(await told('garbage\r\n\r\n'), 'localhost sent something that is not a valid HTTP response.')
  t.equal(await told(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`), 'localhost sent larger headers than are accepted.')
  t.match(await told(''), /closed the connection/)
  t.equal(describeConnectionProblem('localhost', Object.assign(new Error(), { code: 'ECONNREFUSED' })), 'localhost is unreachable.')
})
