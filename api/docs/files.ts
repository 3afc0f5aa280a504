import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { DOCS_PAGE, DOCS_POLICY, DOCS_START } from '#api/docs/page.ts'
import { etagOf } from '#api/http/conditional.ts'
import type { StreamReply } from '#api/http/reply.ts'
import { Register } from '#core/foundation/register.ts'

const compress = promisify(gzip)

interface DocsFile {
  /** Of the documentation: the path below `/api/docs`, empty for the page itself. */
  name: string
  mediaType: string
  read: () => Promise<Buffer>
  /** Default: the policy of the page. */
  headers?: Record<string, string>
}

/** Reads a file of the swagger-ui package. */
const ofPackage = (name: string) => () => readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)))

/** All files of the documentation; from the package only those that the page loads. */
export const DOCS_FILES: readonly DocsFile[] = [
  { name: '', mediaType: 'text/html; charset=utf-8', read: async () => Buffer.from(DOCS_PAGE) },
  { name: 'start.js', mediaType: 'text/javascript; charset=utf-8', read: async () => Buffer.from(DOCS_START) },
  { name: 'swagger-ui.css', mediaType: 'text/css; charset=utf-8', read: ofPackage('swagger-ui.css') },
  { name: 'swagger-ui-bundle.js', mediaType: 'text/javascript; charset=utf-8', read: ofPackage('swagger-ui-bundle.js') },
]

const replies = new Register<Promise<StreamReply>>()

/** Returns a file ready to send. Its route is public, so it is read and compressed at the first request and then kept; all of them have three megabytes. */
export function findDocsFile(file: DocsFile): Promise<StreamReply> {
  const known = replies.get(file.name)
  if (known) return known
  const reply = readReply(file)
  replies.set(file.name, reply)
  // The next request tries again.
  reply.catch(() => replies.delete(file.name))
  return reply
}

async function readReply({ mediaType, read, headers = { 'Content-Security-Policy': DOCS_POLICY } }: DocsFile): Promise<StreamReply> {
  const bytes = await read()
  return {
    kind: 'bytes',
    bytes,
    gzipped: await compress(bytes, { level: constants.Z_BEST_COMPRESSION }),
    mediaType,
    etag: etagOf(bytes),
    // Not cached: when an administrator disables the pages, they must be gone in every browser.
    cacheControl: 'no-cache',
    headers,
  }
}
