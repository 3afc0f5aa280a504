import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { DOCS_PAGE, DOCS_POLICY, DOCS_START } from '#api/docs/page.ts'
import { etagOf } from '#api/http/conditional.ts'
import type { StreamReply } from '#api/http/endpoint.ts'

const compress = promisify(gzip)

interface DocsFile {
  /** Below `/api/docs`; empty for the page itself. */
  name: string
  mediaType: string
  read: () => Promise<Buffer>
}

/** A file of the package, wherever that is installed. */
const ofPackage = (name: string) => () => readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)))

/** All that the documentation is made of; of the package only what the page asks for. */
export const DOCS_FILES: readonly DocsFile[] = [
  { name: '', mediaType: 'text/html; charset=utf-8', read: async () => Buffer.from(DOCS_PAGE) },
  { name: 'start.js', mediaType: 'text/javascript; charset=utf-8', read: async () => Buffer.from(DOCS_START) },
  { name: 'swagger-ui.css', mediaType: 'text/css; charset=utf-8', read: ofPackage('swagger-ui.css') },
  { name: 'swagger-ui-bundle.js', mediaType: 'text/javascript; charset=utf-8', read: ofPackage('swagger-ui-bundle.js') },
]

const replies = new Map<string, Promise<StreamReply>>()

/** A file as it is sent. It is read and compressed when somebody asks for it for the first time, and kept: all of them are two megabytes. */
export function findDocsFile(file: DocsFile): Promise<StreamReply> {
  const known = replies.get(file.name)
  if (known) return known
  const reply = readReply(file)
  replies.set(file.name, reply)
  // The next who asks may have more luck.
  reply.catch(() => replies.delete(file.name))
  return reply
}

async function readReply({ mediaType, read }: DocsFile): Promise<StreamReply> {
  const bytes = await read()
  return {
    kind: 'bytes',
    bytes,
    gzipped: await compress(bytes),
    mediaType,
    etag: etagOf(bytes),
    // Switched off it is gone for everybody, also for who has been here before.
    cacheControl: 'no-cache',
    headers: { 'Content-Security-Policy': DOCS_POLICY },
  }
}
