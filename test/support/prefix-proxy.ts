import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** A reverse proxy that knows nothing of the server: it takes its path away from requests and passes the rest on. @returns its address with the path */
export async function openPrefixProxy(t: Test, server: string, prefix: string): Promise<string> {
  const { port } = new URL(server)
  const proxy = http.createServer((request, response) => {
    if (!request.url?.startsWith(`${prefix}/`)) {
      response.writeHead(404).end()
      return
    }
    const passed = http.request(
      { host: '127.0.0.1', port, method: request.method, path: request.url.slice(prefix.length), headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
    passed.on('error', () => response.destroy())
    response.on('close', () => passed.destroy())
    request.pipe(passed)
  })
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}`
}
