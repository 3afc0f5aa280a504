import { readFile } from 'node:fs/promises'
import Type from 'typebox'
import { findDocsFile } from '#api/docs/files.ts'
import { streamOf } from '#api/http/endpoint.ts'

/** What `npm run openapi` writes. A test compares it with the routes; describing them takes half a second, without a pause. */
const DOCUMENT = {
  name: 'openapi.json',
  mediaType: 'application/json; charset=utf-8',
  read: () => readFile(new URL('openapi.json', import.meta.url)),
  headers: {},
}

/** The route of the document, which also describes itself. It sends the bytes as they are, since parsing them would block all other requests. */
export const openApiRoute = streamOf<object>()({
  name: 'getOpenApi',
  path: '/api/openapi.json',
  summary: 'Get this API as an OpenAPI 3.1 document',
  tag: 'info',
  allow: { who: 'public' },
  mediaTypes: ['application/json'],
  reply: Type.Record(Type.String(), Type.Unknown(), { title: 'OpenApi' }),
  run: () => findDocsFile(DOCUMENT),
})
