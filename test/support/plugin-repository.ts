import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { Test } from 'tap'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { readPackage } from '#plugins/packages/plugin-package.ts'
import { type Download, downloadThrough } from '#plugins/repositories/download.ts'
import { pluginEntry, versionEntry } from '#plugins/repositories/index-entry.ts'
import { type IndexPlugin, type RepositoryIndex, signIndex } from '#plugins/repositories/index-file.ts'
import { type Loopback, openLoopback } from '#test/support/plugins.ts'

export type UnsignedIndex = Omit<RepositoryIndex, 'keys'>

export const REPOSITORY_URL = 'https://plugins.example.org/carrel/'
const DAY_MS = 86_400_000
export const daysFromNow = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString()

export const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey

/** An index that was issued a minute ago and lists nothing, with these members replaced. */
export const indexOf = (change: Partial<UnsignedIndex> = {}): UnsignedIndex => ({
  schema: 1,
  name: 'Plugins of example.org',
  url: REPOSITORY_URL,
  sequence: 1,
  issuedAt: new Date(Date.now() - 60_000).toISOString(),
  expires: daysFromNow(30),
  plugins: [],
  revoked: [],
  ...change,
})

/** The entry of a plugin with one or more packages, the newest first, each in its own file below `packages/`. */
export function entryOf(packages: readonly Buffer[], change: Partial<IndexPlugin['versions'][number]> = {}): IndexPlugin {
  const read = packages.map((bytes) => ({ ...readPackage(bytes), size: bytes.length }))
  const newest = read[0]
  if (newest === undefined) throw new Error('An entry needs at least one package.')
  const plugin = pluginEntry(newest.manifest)
  const releasedAt = '2026-11-01T00:00:00Z'
  return {
    ...plugin,
    versions: read.map((one) => ({
      ...versionEntry(one, { url: `packages/${one.manifest.version}.plugin`, size: one.size, releasedAt }, plugin),
      ...change,
    })),
  }
}

/** A text with a valid signature, whatever its content, as from a careless or hostile publisher. */
export function signAnything(text: string | Buffer, key: KeyObject): { bytes: Buffer; signature: Buffer } {
  const bytes = Buffer.from(text)
  return { bytes, signature: Buffer.from(sign(null, bytes, key).toString('base64')) }
}

/** The files of a repository by path on its host. */
export function filesOf(index: UnsignedIndex, key: KeyObject, packages: Record<string, Buffer> = {}): Record<string, Buffer> {
  const { bytes, signature } = signIndex(index, key)
  const files: Record<string, Buffer> = { '/carrel/index.json': bytes, '/carrel/index.json.sig': signature }
  for (const [version, data] of Object.entries(packages)) files[`/carrel/packages/${version}.plugin`] = data
  return files
}

export const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** By path: the current content, or a listener that answers instead. */
export type Files = Record<string, Buffer | RequestListener>

export interface RepositoryServer {
  way: Loopback
  files: Files
  download: Download
}

/** A host of static files, each of which a test can change. */
export async function openRepositoryServer(
  t: Test,
  files: Files = {},
  deadlinesMs?: { index: number; package: number },
): Promise<RepositoryServer> {
  const served = { files }
  const way = await openLoopback(t, (request, response) => {
    const file = served.files[request.url ?? '']
    if (typeof file === 'function') return file(request, response)
    response.statusCode = file === undefined ? 404 : 200
    response.end(file)
  })
  const options = { userAgent: 'Carrel (repositories)', ...(deadlinesMs && { deadlinesMs }) }
  // A separate egress for each request, because an egress sends a host at most five requests a second, and tests need more.
  const download: Download = (url, wanted) => downloadThrough(new HttpsEgress(way), options)(url, wanted)
  return Object.assign(served, { way, download })
}
