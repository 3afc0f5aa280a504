import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import Type from 'typebox'
import { etagOf } from '#api/http/conditional.ts'
import { streamOf } from '#api/http/endpoint.ts'
import type { StreamReply } from '#api/http/reply.ts'

const compress = promisify(gzip)
/** What `npm run openapi` writes. A test compares it with the routes; describing them takes half a second, without a pause. */
const FILE = new URL('openapi.json', import.meta.url)

let reply: Promise<StreamReply> | undefined

/** The route of the document, which also describes itself. */
export const openApiRoute = streamOf<object>()({
  name: 'getOpenApi',
  path: '/api/openapi.json',
  summary: 'Get this API as an OpenAPI 3.1 document',
  tag: 'info',
  allow: { who: 'public' },
  mediaTypes: ['application/json'],
  reply: Type.Record(Type.String(), Type.Unknown(), { title: 'OpenApi' }),
  run: () => {
    reply ??= readOnce().catch((error) => {
      reply = undefined
      throw error
    })
    return reply
  },
})

/** The route is public, so repeated requests must cost nothing; the bytes are sent as they are, since parsing them would block all other requests. */
async function readOnce(): Promise<StreamReply> {
  const bytes = await readFile(FILE)
  return {
    kind: 'bytes',
    bytes,
    gzipped: await compress(bytes, { level: constants.Z_BEST_COMPRESSION }),
    mediaType: 'application/json; charset=utf-8',
    etag: etagOf(bytes),
    cacheControl: 'no-cache',
  }
}
