// @ts-check
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/**
 * Builds the scripts that the server runs in isolates: the prelude, the globals of plugins, and the program for templates. The outputs are committed,
 * because servers have no bundler; a test compares them with their sources.
 *
 *     node plugins/runtime/guest/build.mjs
 */

const FOLDER = path.dirname(fileURLToPath(import.meta.url))
const BANNER =
  '// biome-ignore-all lint: built from its sources\n// biome-ignore-all format: built from its sources\n// biome-ignore-all assist: built from its sources'

const LICENSE = readFileSync(createRequire(import.meta.url).resolve('whatwg-url/LICENSE.txt'), 'utf8')

/** Their entries and outputs. The value of a script with a `start` is that function; the others run at once. */
export const SCRIPTS = [
  { entry: 'prelude.ts', output: '../runner/bundled/prelude/main.js', start: 'start' },
  { entry: 'web/main.ts', output: '../runner/bundled/web/main.js', start: 'installWeb' },
  { entry: '../../templates/guest/main.ts', output: '../../templates/guest/bundled/render/main.js', start: null },
].map((script) => ({ ...script, output: path.join(FOLDER, script.output) }))

/** What whatwg-url gets in place of its own imports: our UTF-8 and host names, and parameters without the wrappers of a browser. */
const STAND_INS = new Map([
  ['tr46', `export * from './host-name.ts'`],
  [
    './encoding',
    `import * as text from './text.ts'
     export const utf8Encode = (given) => new text.TextEncoder().encode(given)
     export const utf8DecodeWithoutBOM = (bytes) => new text.TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)`,
  ],
  [
    './URLSearchParams',
    `import { implementation } from 'whatwg-url/lib/URLSearchParams-impl.js'
     export const createImpl = (scope, given, options) => new implementation(scope, given, options)`,
  ],
])

/** @type {import('esbuild').Plugin} */
const standIns = {
  name: 'stand-ins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /./ }, ({ path: name, importer }) =>
      importer.includes('whatwg-url') && STAND_INS.has(name) ? { path: name, namespace: 'stand-in' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'stand-in' }, ({ path: name }) => ({
      contents: STAND_INS.get(name) ?? '',
      loader: 'ts',
      resolveDir: path.join(FOLDER, 'web'),
    }))
  },
}

/** @param {{ entry: string, start: string | null }} script */
export async function buildScript({ entry, start }) {
  const { outputFiles } = await build({
    absWorkingDir: FOLDER,
    entryPoints: [entry],
    bundle: true,
    format: start === null ? 'iife' : 'cjs',
    target: 'es2024',
    platform: 'neutral',
    charset: 'utf8',
    banner: {
      js: `${BANNER}${entry.startsWith('web/') ? `\n/* Contains whatwg-url.\n\n${LICENSE}*/` : ''}${start === null ? '' : '\n;(function (module) {'}`,
    },
    footer: { js: start === null ? '' : `return module.exports.${start}\n})({})` },
    plugins: [standIns],
    write: false,
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  for (const script of SCRIPTS) {
    await mkdir(path.dirname(script.output), { recursive: true })
    await writeFile(script.output, await buildScript(script))
  }
