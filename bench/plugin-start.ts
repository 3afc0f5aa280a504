/**
 * What a stranger waits for who makes a plugin: the commands of plugin-sdk/README.md as printed, from an empty folder to green tests, and in its tutorial
 * to a running plugin on a server, to a second version with one host more and back; and how much `npm install` of a new plugin takes on the disk.
 * Packages come from a registry on this machine. `npm run bench:plugin-start`
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { lstat, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { machineLoad } from '#bench/side-by-side.ts'
import { verdict } from '#bench/verdict.ts'
import { openRegistry } from '#test/support/npm-registry.ts'
import { startServer } from '#test/support/running-server.ts'
import { commandsOf, filesOf, ROOT, run, writeFiles } from '#test/support/sdk-install.ts'
import { packPackages } from '../plugins/devkit/package/pack.mjs'

const GREEN_S_MAX = 15
const RUNS_S_MAX = 60
const UPDATE_S_MAX = 30
const INSTALLED_MB_MAX = 100

const README = 'plugin-sdk/README.md'
const home = mkdtempSync(path.join(tmpdir(), 'carrel-bench-plugin-start-'))
/** Of the plugin that `create` makes, and of that of the tutorial. */
const created = path.join(home, 'my-plugin')
const folder = path.join(home, 'library-books')
/** So that commands are typed as printed, and fail when the server refuses. */
writeFileSync(path.join(home, '.curlrc'), 'silent\nshow-error\nfail-with-body\n')
const atEnd: (() => unknown)[] = [() => rmSync(home, { recursive: true, force: true })]
const PACKED = ['esbuild', `@esbuild/${process.platform}-${process.arch}`]
const TYPESCRIPT = ['typescript', `@typescript/typescript-${process.platform}-${process.arch}`]

/** Total MB of all files; hard links count once. */
async function megabytesOf(place: string): Promise<number> {
  const found = await Promise.all((await readdir(place, { recursive: true })).map((name) => lstat(path.join(place, name))))
  return [...new Map(found.map(({ ino, size }) => [ino, size])).values()].reduce((sum, size) => sum + size, 0) / 1024 / 1024
}

/** Types commands as an author, in a shell whose npm knows only the given registry. */
class Author {
  readonly #environment: Record<string, string>

  constructor(registry: string) {
    this.#environment = {
      HOME: home,
      npm_config_registry: registry,
      npm_config_update_notifier: 'false',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_yes: 'true',
    }
  }

  know(variables: Record<string, string>): void {
    Object.assign(this.#environment, variables)
  }

  /** @returns what it prints, and the seconds that it takes. @throws Error when it fails */
  async type(cwd: string, command: string): Promise<{ said: string; seconds: number }> {
    const began = performance.now()
    const { code, stdout, stderr } = await run('bash', ['-c', command], cwd, this.#environment)
    const seconds = (performance.now() - began) / 1_000
    console.log(`${seconds.toFixed(1).padStart(6)} s  ${command}`)
    if (code !== 0) throw new Error(`${command} ended with ${code}:\n${stdout}${stderr}`)
    return { said: stdout, seconds }
  }

  /** A command of curl. */
  async ask(command: string): Promise<{ answer: Answered; seconds: number }> {
    const { said, seconds } = await this.type(folder, command)
    return { answer: JSON.parse(said) as Answered, seconds }
  }
}

interface Answered {
  plugin: { state: string; version: string }
}

const secondsOf = (steps: readonly { seconds: number }[]): number => steps.reduce((sum, { seconds }) => sum + seconds, 0)

function expectRunning({ plugin: { state, version } }: Answered, expected: string): void {
  if (state !== 'enabled' || version !== expected) throw new Error(`${version} is ${state}; ${expected} should run`)
}

/** From an empty folder to green tests. */
async function begin(author: Author): Promise<void> {
  const page = await readFile(path.join(ROOT, README), 'utf8')
  const [, block = ''] = /published in npm's registry, run:\n\n```sh\n([\s\S]*?)^```$/m.exec(page) ?? []
  const [create = '', , install = '', test = '', pack = ''] = block.trim().split('\n')
  const begun = await author.type(home, create)
  await author.type(created, install)
  const tested = await author.type(created, test)
  if (!/✔ \d+ passed/.test(tested.said)) throw new Error(`The tests are not green:\n${tested.said}`)
  await author.type(created, pack)
  verdict('empty folder to green tests without npm install, s', secondsOf([begun, tested]), { atMost: GREEN_S_MAX })
  verdict('node_modules of a new plugin, MB', await megabytesOf(path.join(created, 'node_modules')), { atMost: INSTALLED_MB_MAX })
}

/** The tutorial, from its empty folder to the running plugin. */
async function follow(author: Author): Promise<void> {
  const [make = '', ...rest] = await commandsOf(README, '1. A folder')
  await author.type(home, make)
  for (const command of rest) await author.type(folder, command)
  await writeFiles(folder, await filesOf(README))
  for (const command of await commandsOf(README, '5. Test it')) await author.type(folder, command)
  const steps = []
  for (const command of await commandsOf(README, '6. Pack it')) steps.push(await author.type(folder, command))
  const [upload = '', consent = ''] = await commandsOf(README, '7. Install and call it')
  steps.push(await author.ask(upload))
  const running = await author.ask(consent)
  expectRunning(running.answer, '1.0.0')
  verdict('green tests to a running plugin, s', secondsOf([...steps, running]), { atMost: RUNS_S_MAX })
}

/** A signed version, one with another host, and back. */
async function update(author: Author): Promise<void> {
  const page = await readFile(path.join(ROOT, README), 'utf8')
  const steps = await commandsOf(README, '9. Release an update')
  if (steps.length !== 12) throw new Error(`Section 9 of the README has ${steps.length} commands; this benchmark knows 12.`)
  for (const command of steps.slice(0, 5)) await author.type(folder, command)
  const [, , , , , publish = '', trust = '', write = '', release = '', upload = '', agree = '', back = ''] = steps
  for (const command of [publish, trust]) await author.ask(command)

  const [, host = ''] = /^Add a host to `permissions\.network` in the manifest:\n\n```json\n(.*)\n```$/m.exec(page) ?? []
  const file = path.join(folder, 'manifest.json')
  const { permissions = {}, ...own } = JSON.parse(await readFile(file, 'utf8')) as { permissions?: { network?: object[] } }
  const network = [...(permissions.network ?? []), JSON.parse(host)]
  await writeFile(file, JSON.stringify({ ...own, permissions: { ...permissions, network } }, null, 2))
  const written = [await author.type(folder, write), await author.type(folder, release)]
  const second = await author.ask(upload)
  const agreed = await author.ask(agree)
  expectRunning(agreed.answer, '1.1.0')
  const gone = await author.ask(back)
  expectRunning(gone.answer, '1.0.1')
  const all = secondsOf([...written, second, agreed, gone])
  verdict('second version with one host more, consent and rollback, s', all, { atMost: UPDATE_S_MAX })
}

try {
  console.log(machineLoad())
  const server = await startServer({ dataFolder: path.join(home, 'data') })
  atEnd.unshift(() => server.stop())
  const { key } = await server.post<{ key: string }>('/api/v1/api-keys', {
    name: 'author',
    permissions: ['plugins-manage', 'system-admin'],
  })
  const tarballs = await packPackages(path.join(home, 'tarballs'))
  const teardown = (work: () => unknown) => void atEnd.unshift(work)
  const author = new Author(await openRegistry({ teardown }, path.join(home, 'others'), tarballs, [...PACKED, ...TYPESCRIPT]))
  author.know({ KEY: key, URL: server.url })
  await begin(author)
  await follow(author)
  await update(author)
} finally {
  for (const work of atEnd) await work()
}
