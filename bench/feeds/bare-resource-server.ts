/** The minimum that a server does for a file in an EPUB: find its position, read it, decompress it, send it. Arguments: file, positions as JSON. */
import { open } from 'node:fs/promises'
import { createServer } from 'node:http'
import { inflateRawSync } from 'node:zlib'

const [path, placesJson] = process.argv.slice(2) as [string, string]
const places = JSON.parse(placesJson) as { offset: number; compressedBytes: number; method: number; mediaType: string }[]
const file = await open(path)

const server = createServer(async (request, response) => {
  const place = places[Number(request.url?.slice(1))] ?? places[0]!
  const { buffer } = await file.read(Buffer.allocUnsafe(place.compressedBytes), 0, place.compressedBytes, place.offset)
  const bytes = place.method === 0 ? buffer : inflateRawSync(buffer)
  response.writeHead(200, { 'content-type': place.mediaType, 'content-length': bytes.length })
  response.end(bytes)
}).listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') console.log(address.port)
})
