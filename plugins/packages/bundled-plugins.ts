import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { refuse } from '#core/foundation/errors.ts'
import { packPlugin } from '#plugins/packages/plugin-package.ts'

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
  return await Promise.all(ids.sort().map(readBundled))
}

/** Finds a plugin by either id. @throws not_found, with a list of the ids */
export async function getBundledPlugin(id: string): Promise<BundledPlugin> {
  const all = await bundledPlugins()
  return (
    all.find((plugin) => plugin.id === id || plugin.key === id) ??
    refuse('not_found', `This server has no bundled plugin ${id.slice(0, 64)}. Bundled plugins: ${all.map((one) => one.id).join(', ')}.`)
  )
}

async function readBundled(id: string): Promise<BundledPlugin> {
  const files = new Map<string, Buffer>()
  for (const name of FILES) {
    const file = new URL(`${id}/${name}`, FOLDER)
    if (existsSync(file)) files.set(name, await readFile(file))
  }
  files.set('LICENSE', await readFile(new URL('../../LICENSE', FOLDER)))
  const { id: key, name, version, summary } = JSON.parse(String(files.get('manifest.json'))) as Omit<BundledPlugin, 'key' | 'bytes'>
  return { id, key, name, version, summary, bytes: packPlugin(files) }
}
