// @ts-check
import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/**
 * Builds the SDK: JavaScript and types by the compiler; then replaces the modules that need a parser by bundles that contain it,
 * so that the SDK has no dependencies. The same sources give the same bytes.
 *
 *     node build.mjs [folder]      by default into dist/ beside this file
 */

const sdk = path.dirname(fileURLToPath(import.meta.url))
const root = path.dirname(sdk)
/** Modules that bundle third-party parsers. */
const BUNDLED = ['html', 'xml']
// Not bin/tsc: the module hooks that test runners load into every process cannot load files without an extension.
const TSC = path.join(root, 'node_modules', 'typescript', 'lib', 'tsc.js')

/** @param {string} out */
export async function buildSdk(out) {
  await rm(out, { recursive: true, force: true })
  const { status, stdout, error } = spawnSync(
    process.execPath,
    [TSC, '-p', path.join(sdk, 'tsconfig.json'), '--outDir', out, '--pretty', 'false'],
    {
      encoding: 'utf8',
      timeout: 120_000,
    },
  )
  if (status !== 0) throw new Error(`The SDK does not compile:\n${stdout}${error?.message ?? ''}`)

  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: BUNDLED.map((name) => path.join(sdk, `${name}.ts`)),
    outdir: out,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    // Authors bundle once more, and may minify; readable code can be reviewed.
    minifySyntax: true,
    legalComments: 'inline',
    metafile: true,
    logLevel: 'silent',
  })
  await writeFile(path.join(out, 'THIRD-PARTY-LICENSES.txt'), await licensesOf(Object.keys(metafile.inputs), 'html.js and xml.js'))

  // The compiler drops references to files that it does not emit.
  await copyFile(path.join(sdk, 'globals.d.ts'), path.join(out, 'globals.d.ts'))
  for (const name of ['index', ...BUNDLED, 'testing']) {
    const file = path.join(out, `${name}.d.ts`)
    await writeFile(file, `/// <reference path="./globals.d.ts" />\n${await readFile(file, 'utf8')}`)
  }
}

/**
 * The license texts that bundled packages require to be distributed with them.
 * @param {string[]} inputs files in the bundles, relative to the root
 * @param {string} bundles names of the bundles, for people
 */
export async function licensesOf(inputs, bundles) {
  const folders = new Set(inputs.map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? ''))
  folders.delete('')
  const texts = []
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(await readFile(path.join(root, folder, 'package.json'), 'utf8'))
    const file = (await readdir(path.join(root, folder))).find((one) => /^licen[cs]e(\.(md|txt))?$/i.test(one))
    if (file === undefined && typeof license !== 'string') throw new Error(`${name} has no license to distribute.`)
    const text = file === undefined ? `License: ${license}` : (await readFile(path.join(root, folder, file), 'utf8')).trim()
    texts.push(`${name} ${version} (${license})\n\n${text}\n`)
  }
  return `Parts of ${bundles} are third-party code:\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const out = path.resolve(process.argv[2] ?? path.join(sdk, 'dist'))
  await mkdir(out, { recursive: true })
  await buildSdk(out)
}
