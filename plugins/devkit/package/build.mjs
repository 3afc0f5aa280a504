// @ts-check
import { copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { licensesOf } from '../../../plugin-sdk/build.mjs'

/**
 * Builds the tool as a package: one JavaScript file, because Node strips no types below node_modules, the program of the sandbox, the page of `dev`,
 * and the sandbox's addon, prebuilt for each system. The same sources give the same bytes.
 *
 *     node build.mjs [folder]      by default into the folder of this file
 */

const here = path.dirname(fileURLToPath(import.meta.url))
const tool = path.dirname(here)
const root = path.resolve(tool, '..', '..')
const { resolve } = createRequire(import.meta.url)

/** The files of the bundled packages that run; their sources and other programs are several times as large. */
const BUNDLED = /** @type {Record<string, string[]>} */ ({
  'isolated-vm': ['LICENSE', 'isolated-vm.js', 'prebuilds'],
  'node-gyp-build': ['LICENSE', 'index.js', 'node-gyp-build.js'],
})

/** @param {string} folder receives dist/ and node_modules/ */
export async function buildTool(folder) {
  const { dependencies } = JSON.parse(await readFile(path.join(here, 'package.json'), 'utf8'))
  const out = path.join(folder, 'dist')
  await rm(out, { recursive: true, force: true })
  await mkdir(out, { recursive: true })
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [path.join(tool, 'main.ts')],
    outfile: path.join(out, 'main.js'),
    bundle: true,
    format: 'esm',
    target: 'node24',
    platform: 'node',
    external: Object.keys(dependencies),
    // CommonJS packages load Node's modules with require, which ES modules lack.
    banner: { js: `import { createRequire as openRequire } from 'node:module';\nconst require = openRequire(import.meta.url);` },
    legalComments: 'inline',
    metafile: true,
    logLevel: 'silent',
  })
  await writeFile(path.join(out, 'THIRD-PARTY-LICENSES.txt'), await licensesOf(Object.keys(metafile.inputs), 'main.js'))
  await copyFile(path.join(tool, 'dev-page.html'), path.join(out, 'dev-page.html'))
  const runner = path.join(root, 'plugins', 'runtime', 'runner')
  await cp(runner, path.join(out, 'runner'), { recursive: true })
  // With the framing of messages, which it shares with other processes of the server.
  await build({
    entryPoints: [path.join(runner, 'runner.mjs')],
    outfile: path.join(out, 'runner', 'runner.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: ['./sandbox.mjs'],
    logLevel: 'silent',
  })
  for (const [name, files] of Object.entries(BUNDLED))
    await bundlePackage({ name, version: dependencies[name], files, to: path.join(folder, 'node_modules', name) })
}

/**
 * Copies the files of a package that run. Without its install script: on a Node for which the addon is not built, npm would compile for minutes, and
 * the error would not say that another Node is needed.
 * @param {{ name: string, version: string, files: string[], to: string }} wanted
 */
async function bundlePackage({ name, version, files, to }) {
  const file = resolve(`${name}/package.json`)
  const {
    scripts: _scripts,
    gypfile: _gypfile,
    devDependencies: _devDependencies,
    bin: _bin,
    ...about
  } = JSON.parse(await readFile(file, 'utf8'))
  if (about.version !== version) throw new Error(`${name} ${about.version} is installed, but the package of the tool requires ${version}.`)
  await rm(to, { recursive: true, force: true })
  await mkdir(to, { recursive: true })
  await writeFile(path.join(to, 'package.json'), `${JSON.stringify(about, null, 2)}\n`)
  for (const one of files) await cp(path.join(path.dirname(file), one), path.join(to, one), { recursive: true })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await buildTool(path.resolve(process.argv[2] ?? here))
