// @ts-check
import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/**
 * Builds `main.js` of every folder here from its `main.ts`. The output is committed, because servers have no bundler; a test compares it with
 * its source.
 *
 *     node plugins/bundled/build.mjs
 */

export const BUNDLED_FOLDER = path.dirname(fileURLToPath(import.meta.url))

/** Folders with a plugin, sorted. */
export async function listBundled() {
  const entries = await readdir(BUNDLED_FOLDER, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory() && existsSync(path.join(BUNDLED_FOLDER, entry.name, 'main.ts')))
    .map(({ name }) => name)
    .sort()
}

/** @param {string} name of a folder */
export async function buildBundled(name) {
  const { outputFiles } = await build({
    absWorkingDir: BUNDLED_FOLDER,
    entryPoints: [`${name}/main.ts`],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    charset: 'utf8',
    // Not minified, so that administrators can read what runs on their server.
    banner: {
      js: '// biome-ignore-all lint: built from main.ts\n// biome-ignore-all format: built from main.ts\n// biome-ignore-all assist: built from main.ts',
    },
    write: false,
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const name of await listBundled()) await writeFile(path.join(BUNDLED_FOLDER, name, 'main.js'), await buildBundled(name))
}
