// @ts-check
import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/**
 * Builds the kit: JavaScript and types by the compiler, and then, in place of what the compiler made of them, the modules that have a parser in them,
 * with it. So whoever installs the kit installs nothing else. The same sources give the same bytes.
 *
 *     node build.mjs [folder]      into dist/ beside this file unless said otherwise
 */

const kit = path.dirname(fileURLToPath(import.meta.url))
const root = path.dirname(kit)
/** Modules that bring parsers of others along. */
const BUNDLED = ['html', 'xml']
// Not bin/tsc: what test runners load into every process cannot load files without an ending.
const TSC = path.join(root, 'node_modules', 'typescript', 'lib', 'tsc.js')

/** @param {string} out */
export async function buildKit(out) {
  await rm(out, { recursive: true, force: true })
  const { status, stdout, error } = spawnSync(
    process.execPath,
    [TSC, '-p', path.join(kit, 'tsconfig.json'), '--outDir', out, '--pretty', 'false'],
    {
      encoding: 'utf8',
      timeout: 120_000,
    },
  )
  if (status !== 0) throw new Error(`The kit does not compile:\n${stdout}${error?.message ?? ''}`)

  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: BUNDLED.map((name) => path.join(kit, `${name}.ts`)),
    outdir: out,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    // Authors bundle once more, and minify if they like; what is readable can be looked through before it is trusted.
    minifySyntax: true,
    legalComments: 'inline',
    metafile: true,
    logLevel: 'silent',
  })
  await writeFile(path.join(out, 'THIRD-PARTY-LICENSES.txt'), await licensesOf(Object.keys(metafile.inputs), 'html.js and xml.js'))

  // The compiler drops references to files that it does not emit.
  await copyFile(path.join(kit, 'globals.d.ts'), path.join(out, 'globals.d.ts'))
  for (const name of ['index', ...BUNDLED, 'testing']) {
    const file = path.join(out, `${name}.d.ts`)
    await writeFile(file, `/// <reference path="./globals.d.ts" />\n${await readFile(file, 'utf8')}`)
  }
}

/**
 * What the licenses of bundled packages ask to be given along with them.
 * @param {string[]} inputs files that went into the bundles, relative to the root
 * @param {string} bundles what they went into, for people
 */
export async function licensesOf(inputs, bundles) {
  const folders = new Set(inputs.map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? ''))
  folders.delete('')
  const texts = []
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(await readFile(path.join(root, folder, 'package.json'), 'utf8'))
    const file = (await readdir(path.join(root, folder))).find((one) => /^licen[cs]e(\.(md|txt))?$/i.test(one))
    if (file === undefined && typeof license !== 'string') throw new Error(`${name} has no license that could be given along.`)
    const text = file === undefined ? `License: ${license}` : (await readFile(path.join(root, folder, file), 'utf8')).trim()
    texts.push(`${name} ${version} (${license})\n\n${text}\n`)
  }
  return `Parts of ${bundles} are work of others:\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const out = path.resolve(process.argv[2] ?? path.join(kit, 'dist'))
  await mkdir(out, { recursive: true })
  await buildKit(out)
}
