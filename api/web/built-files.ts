import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { etagOf } from '#api/http/conditional.ts'
import { Register } from '#core/foundation/register.ts'

/** A file of the built interface, in memory: all of them have about two megabytes with their compressed forms. */
export interface BuiltFile {
  bytes: Buffer
  brotli: Buffer | null
  gzip: Buffer | null
  mediaType: string
  etag: string
  /** Its name contains a hash of its content. */
  isImmutable: boolean
}

export interface BuiltInterface {
  /** By path of the request, for example `/assets/index-Cq8vYCMK.js`. */
  files: Register<BuiltFile>
  /** The document of every page. */
  index: string
  /** Whether a path is the address of a page. */
  isAddress(path: string): boolean
  /** The Content-Security-Policy of pages. */
  policy: string
}

const MEDIA_TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

/** Reads a build: what web/vite.config.ts writes. @throws if it is not complete */
export async function readBuiltInterface(folder: string): Promise<BuiltInterface> {
  const [index, facts, entries] = await Promise.all([
    readFile(path.join(folder, 'index.html'), 'utf8'),
    readFile(path.join(folder, 'server.json'), 'utf8'),
    readdir(folder, { recursive: true }),
  ])
  const { addresses, styles } = JSON.parse(facts) as { addresses: string[]; styles: string[] }
  const names = new Set(entries)
  const files = new Register<BuiltFile>()
  for (const name of entries) {
    const mediaType = MEDIA_TYPES[path.extname(name)]
    if (mediaType === undefined) continue
    const readForm = async (suffix: string) => (names.has(name + suffix) ? await readFile(path.join(folder, name + suffix)) : null)
    const bytes = await readFile(path.join(folder, name))
    const isImmutable = name.startsWith('assets')
    files.set(`/${name.split(path.sep).join('/')}`, {
      bytes,
      brotli: await readForm('.br'),
      gzip: await readForm('.gz'),
      mediaType,
      etag: etagOf(bytes),
      isImmutable,
    })
  }
  const patterns = addresses.map((address) => address.split('/'))
  const isAddress = (path: string) => {
    const parts = path.split('/')
    return patterns.some((pattern) => matches(pattern, parts))
  }
  return { files, index, isAddress, policy: policyOf(styles) }
}

/** @param pattern the parts of an address such as `/books/:bookId/read` */
const matches = (pattern: readonly string[], parts: readonly string[]): boolean =>
  pattern.length === parts.length && pattern.every((part, index) => (part.startsWith(':') ? parts[index] !== '' : part === parts[index]))

/** @param styles hashes of the style elements that packages add */
const policyOf = (styles: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    ["style-src 'self'", ...styles].join(' '),
    // Covers are drawn from blobs while they are chosen, and small pictures of styles are data.
    "img-src 'self' blob: data:",
    "font-src 'self'",
    "connect-src 'self'",
    // Chapters of books, which have a policy of their own.
    "frame-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
