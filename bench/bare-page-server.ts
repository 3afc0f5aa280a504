/** The minimum that a server does for a page: find the offset, read the bytes there, send them. Arguments: file, bytes per page, offsets as JSON. */
import { open } from 'node:fs/promises'
import { createServer } from 'node:http'

const [path, pageBytes, offsetsJson] = process.argv.slice(2) as [string, string, string]
const offsets = JSON.parse(offsetsJson) as number[]
const length = Number(pageBytes)
const file = await open(path)

const server = createServer(async (request, response) => {
  const offset = offsets[Number(request.url?.slice(1))] ?? 0
  const { buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, offset)
  response.writeHead(200, { 'content-type': 'image/jpeg', 'content-length': length })
  response.end(buffer)
}).listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') console.log(address.port)
})
