import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { chmod, copyFile, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Test } from 'tap'
import { buildSdk } from '../../plugin-sdk/build.mjs'

/** The SDK as plugin authors get it: built, packed and installed into their folder. */

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const SDK_FOLDER = path.join(ROOT, 'plugin-sdk')
// Not bin/tsc: the module hooks that tap loads into every process cannot load files without an extension.
export const TSC = path.join(ROOT, 'node_modules', 'typescript', 'lib', 'tsc.js')
/** The files of an author's folder before any installation. */
const PACKAGE = JSON.stringify({ name: 'plugin', private: true, type: 'module' })
/** On a machine that is busy with other tests, npm alone takes seconds. */
const PATIENCE_MS = 100_000

/** Runs a program to its end. */
export function run(
  command: string,
  given: readonly string[],
  cwd: string,
  more: Record<string, string> = { npm_config_offline: 'true', npm_config_update_notifier: 'false' },
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    // npm must not use the network, or the settings and the cache of this user.
    const env = {
      PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`,
      HOME: cwd,
      ...more,
    }
    const child = spawn(command, given, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: PATIENCE_MS, killSignal: 'SIGKILL' })
    const said = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        said[name] += text
      })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...said }))
  })
}

/** @throws Error with its output when it fails */
export async function succeeds(command: string, given: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run(command, given, cwd)
  if (code !== 0) throw new Error(`${command} ${given.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
  return stdout
}

export const compile = (cwd: string, ...given: string[]) => succeeds(process.execPath, [TSC, ...given], cwd)

/** Bundles with the command of the tutorial. */
export async function bundle(folder: string, entry = 'src/main.ts'): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}

let built: Promise<string> | undefined

/** The folder of the built SDK: the same sources give the same bytes, so all tests of this process share one. */
function findBuiltKit(): Promise<string> {
  built ??= buildOnce()
  return built
}

async function buildOnce(): Promise<string> {
  const home = await mkdtemp(path.join(tmpdir(), 'carrel-sdk-'))
  process.once('exit', () => rmSync(home, { recursive: true, force: true }))
  await buildSdk(path.join(home, 'dist'))
  return path.join(home, 'dist')
}

interface InstalledKit {
  /** A folder with the SDK in its `node_modules`. */
  folder: string
  /** The files of the tarball. */
  packed: string[]
  /** Another such folder, with the checkout beside it as `../carrel`; deleted when the test ends. */
  openFolder(t: Test): Promise<string>
}

/** The SDK as from a registry: built in a copy, packed, and installed into an empty folder. */
export async function installSdk(t: Test): Promise<InstalledKit> {
  const home = await mkdtemp(path.join(tmpdir(), 'carrel-sdk-'))
  t.teardown(() => rm(home, { recursive: true, force: true }))
  const copy = path.join(home, 'plugin-sdk')
  await cp(SDK_FOLDER, copy, { recursive: true, filter: (from) => !['dist', 'create', 'node_modules'].includes(path.basename(from)) })
  await cp(await findBuiltKit(), path.join(copy, 'dist'), { recursive: true })
  const report = JSON.parse(await succeeds('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', home], copy)) as {
    filename: string
    files: { path: string }[]
  }[]
  const [tarball] = Array.isArray(report) ? report : Object.values<{ filename: string; files: { path: string }[] }>(report)
  if (tarball === undefined) throw new Error('npm packed nothing')
  const folder = path.join(home, 'plugin')
  await mkdir(folder)
  await writeFile(path.join(folder, 'package.json'), PACKAGE)
  const quiet = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await succeeds('npm', ['install', ...quiet, path.join(home, path.basename(tarball.filename))], folder)
  return {
    folder,
    packed: tarball.files.map((file) => file.path).sort(),
    async openFolder(t) {
      const place = await mkdtemp(path.join(tmpdir(), 'carrel-sdk-'))
      t.teardown(() => rm(place, { recursive: true, force: true }))
      const own = path.join(place, 'plugin')
      await cp(folder, own, { recursive: true })
      await symlink(ROOT, path.join(place, 'carrel'))
      return own
    },
  }
}

/** A folder like that of {@link installSdk}, with the checkout beside it, but made without npm: one test of npm's result is enough. */
export async function placeSdk(t: Test): Promise<string> {
  const place = await mkdtemp(path.join(tmpdir(), 'carrel-sdk-'))
  t.teardown(() => rm(place, { recursive: true, force: true }))
  const folder = path.join(place, 'plugin')
  const installed = path.join(folder, 'node_modules', '@carrel', 'plugin-sdk')
  await cp(await findBuiltKit(), path.join(installed, 'dist'), { recursive: true })
  for (const name of ['package.json', 'manifest.schema.json']) await copyFile(path.join(SDK_FOLDER, name), path.join(installed, name))
  await writeFile(path.join(folder, 'package.json'), PACKAGE)
  await symlink(ROOT, path.join(place, 'carrel'))
  return folder
}

export async function writeFiles(folder: string, files: Iterable<[name: string, text: string]>): Promise<void> {
  for (const [name, text] of files) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
    await writeFile(path.join(folder, name), text)
  }
}

/** The packages of `npm install typescript @carrel/plugin-tool`, from the checkout: tests use no registry. */
export async function installPrograms(folder: string): Promise<void> {
  for (const [name, program] of [
    ['tsc', TSC],
    ['carrel-plugin', path.join(ROOT, 'plugins', 'devkit', 'carrel-plugin.mjs')],
  ] as const) {
    const file = path.join(folder, 'node_modules', '.bin', name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`)
    await chmod(file, 0o755)
  }
  // npx finds it by this name, and asks no registry.
  const about = JSON.stringify({ name: '@carrel/plugin-tool', version: '0.1.0', bin: { 'carrel-plugin': 'carrel-plugin.mjs' } })
  await writeFiles(folder, [['node_modules/@carrel/plugin-tool/package.json', about]])
}

/** The commands below a heading of a page. */
export async function commandsOf(page: string, heading: string): Promise<string[]> {
  const text = await readFile(path.join(ROOT, page), 'utf8')
  const [, section = ''] = text.split(`### ${heading}\n`)
  const [own = ''] = section.split(/^#{2,3} /m)
  return [...own.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, commands = '']) =>
    // A line that ends with a backslash continues on the next.
    commands
      .trim()
      .split(/(?<!\\)\n/)
      .map((command) => command.replace(/\\\n\s*/g, '')),
  )
}

/** The files in a page: blocks of code with a name. */
export async function filesOf(page: string): Promise<Map<string, string>> {
  const text = await readFile(path.join(ROOT, page), 'utf8')
  return new Map([...text.matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', code = '']) => [name, code]))
}
