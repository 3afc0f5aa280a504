import { Agent, request } from 'node:http'
import { performance } from 'node:perf_hooks'

// One connection, and no decompression: an HTTP client that does more would take as long as the server.
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

/** Sends a request, a POST if it has a body, and reads its answer. @returns the milliseconds that it took, and the answer */
export async function timeRequest(url: string, headers: Record<string, string>, body?: object): Promise<{ ms: number; text: string }> {
  const content = body && JSON.stringify(body)
  const at = performance.now()
  const text = await new Promise<string>((resolve, reject) => {
    const type = content === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }
    const sent = request(url, { agent, method: content === undefined ? 'GET' : 'POST', headers: { ...headers, ...type } }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${url}: ${answer.statusCode}`))
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks).toString()))
    })
    sent.on('error', reject).end(content)
  })
  return { ms: performance.now() - at, text }
}

export function closeRequests(): void {
  agent.destroy()
}
