// @ts-check
import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSdk } from '../../../plugin-sdk/build.mjs'
import { buildTool } from './build.mjs'

/**
 * Makes the tarballs of the three packages for authors of plugins: the SDK, the tool and the project generator. Builds in copies; the checkout
 * stays unchanged.
 *
 *     node pack.mjs [folder]      by default into .cache/packages of the checkout
 */

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..', '..')
const NOT_COPIED = ['dist', 'create', 'node_modules']
const PACKAGES = [
  { folder: 'plugin-sdk', build: (/** @type {string} */ copy) => buildSdk(path.join(copy, 'dist')) },
  { folder: 'plugins/devkit/package', build: buildTool },
  { folder: 'plugin-sdk/create', build: null },
]

/**
 * @param {string} out folder of the tarballs; created when it does not exist
 * @returns {Promise<string[]>} the tarballs: SDK, tool, create
 */
export async function packPackages(out) {
  await mkdir(out, { recursive: true })
  const stage = await mkdtemp(path.join(tmpdir(), 'carrel-packages-'))
  try {
    const tarballs = []
    for (const { folder, build } of PACKAGES) {
      const from = path.join(root, folder)
      const copy = path.join(stage, path.basename(folder))
      await cp(from, copy, { recursive: true, filter: (file) => file === from || !NOT_COPIED.includes(path.basename(file)) })
      if (build !== null) await build(copy)
      const { name, version } = JSON.parse(await readFile(path.join(copy, 'package.json'), 'utf8'))
      // The prepack scripts have run already.
      await npm(['pack', '--silent', '--ignore-scripts', '--pack-destination', out], copy)
      tarballs.push(path.join(out, `${name.slice(1).replace('/', '-')}-${version}.tgz`))
    }
    return tarballs
  } finally {
    await rm(stage, { recursive: true, force: true })
  }
}

/** @param {string[]} words @param {string} cwd @returns {Promise<void>} */
function npm(words, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', words, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
    child.once('error', reject)
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`npm ${words.join(' ')} ended with ${code}.`))))
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  for (const tarball of await packPackages(path.resolve(process.argv[2] ?? path.join(root, '.cache', 'packages'))))
    process.stdout.write(`${path.relative(process.cwd(), tarball)}\n`)
