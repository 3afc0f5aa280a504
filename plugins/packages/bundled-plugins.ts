import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { refuse } from '#core/foundation/errors.ts'
import { packPlugin } from '#plugins/packages/plugin-package.ts'
import { isReservedId } from '#plugins/packages/similar-ids.ts'

/** A plugin that comes with the server: a package like any other, which runs after an administrator has granted its permissions. */
interface BundledPlugin {
  /** Its short id: `open-library`. */
  id: string
  /** The id in its manifest: `carrel.open-library`. */
  key: string
  name: string
  version: string
  summary: string
  /** The package. The same server gives the same bytes. */
  bytes: Buffer
}

const FOLDER = new URL('../bundled/', import.meta.url)
const FILES = ['manifest.json', 'main.js', 'README.md'] as const

/** All of them, by id. */
export async function bundledPlugins(): Promise<BundledPlugin[]> {
  const entries = await readdir(FOLDER, { withFileTypes: true })
  const ids = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  return await Promise.all(ids.sort().map(openBundled))
}

/** @throws conflict when the package has an id of the server's own plugins, or one that looks like it, and is not what the server brings */
export async function checkReservedId(id: string, sha256: string): Promise<void> {
  if (!isReservedId(id)) return
  const own = (await bundledPlugins()).find(({ key }) => key === id)
  if (own !== undefined && createHash('sha256').update(own.bytes).digest('hex') === sha256) return
  refuse(
    'conflict',
    own === undefined
      ? `${id} looks like an id below carrel., which only plugins have that come with the server. Its author must give it another id.`
      : `${id} comes with this server, and this package is another one (SHA-256 ${sha256}). Install the server's own: it changes only with the server.`,
  )
}

/** Finds a plugin by either id. @throws not_found, with a list of the ids */
export async function getBundledPlugin(id: string): Promise<BundledPlugin> {
  const all = await bundledPlugins()
  return (
    all.find((plugin) => plugin.id === id || plugin.key === id) ??
    refuse('not_found', `This server has no bundled plugin ${id.slice(0, 64)}. Bundled plugins: ${all.map((one) => one.id).join(', ')}.`)
  )
}

async function openBundled(id: string): Promise<BundledPlugin> {
  const files = new Map<string, Buffer>()
  for (const name of FILES) {
    const file = new URL(`${id}/${name}`, FOLDER)
    if (existsSync(file)) files.set(name, await readFile(file))
  }
  files.set('LICENSE', await readFile(new URL('../../LICENSE', FOLDER)))
  const { id: key, name, version, summary } = JSON.parse(String(files.get('manifest.json'))) as Omit<BundledPlugin, 'key' | 'bytes'>
  return { id, key, name, version, summary, bytes: packPlugin(files) }
}
