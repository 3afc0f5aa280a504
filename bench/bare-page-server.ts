/**
 * The minimum that a server does for a page: find the offset, read the bytes there into a buffer of a pool, send them, and give the buffer back when the
 * response has closed. Arguments: file, bytes per page, offsets as JSON.
 */
import { openSync, read } from 'node:fs'
import { createServer } from 'node:http'

const [path, pageBytes, offsetsJson] = process.argv.slice(2) as [string, string, string]
const offsets = JSON.parse(offsetsJson) as number[]
const length = Number(pageBytes)
const fd = openSync(path, 'r')
const pool: Buffer[] = []

const server = createServer((request, response) => {
  const offset = offsets[Number(request.url?.slice(1))] ?? 0
  const buffer = pool.pop() ?? Buffer.allocUnsafeSlow(length)
  read(fd, buffer, 0, length, offset, (error) => {
    if (error) throw error
    response.writeHead(200, { 'content-type': 'image/jpeg', 'content-length': length })
    response.once('close', () => pool.push(buffer))
    response.end(buffer)
  })
}).listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') console.log(address.port)
})
