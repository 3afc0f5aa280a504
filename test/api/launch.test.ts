import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import t from 'tap'
import { STALLED_EXIT_CODE } from '#api/exit-codes.mjs'
import { restartPauseMs } from '#api/restart-pause.mjs'
import { onlyFull } from '#test/support/lane-size.ts'

// npm takes a second or two for each of its calls.
t.setTimeout(240_000)

const launcher = fileURLToPath(new URL('../../api/launch.mjs', import.meta.url))

/** Prints what it was given, then runs until a signal ends it; "quick" ends at once, "blocked" blocks its event loop until its watchdog ends it. */
const PROGRAM = `
import { existsSync, writeFileSync } from 'node:fs'
// Before the line that the test waits for.
process.on('SIGTERM', () => { console.log('SIGTERM'); process.exit(7) })
console.log(JSON.stringify({ args: process.argv.slice(2), cwd: process.cwd(), pid: process.pid, threads: process.env.UV_THREADPOOL_SIZE,
  cache: process.env.NODE_COMPILE_CACHE, dep: existsSync(new URL('../node_modules/dep', import.meta.url)), dev: existsSync(new URL('../node_modules/dev-dep', import.meta.url)) }))
if (process.argv.includes('stall')) {
  const file = process.argv.at(-1)
  if (file === 'stall' || !existsSync(file)) {
    if (file !== 'stall') writeFileSync(file, '')
    // As the watchdog does; other programs end by themselves with the same code.
    if (process.argv[1].endsWith('main.ts')) {
      process.kill(process.pid, 'SIGVTALRM')
      // The launcher ends it.
      await new Promise((resolve) => setTimeout(resolve, 20000))
    }
    process.exit(75)
  }
  process.exit(4)
}
if (process.argv.includes('blocked')) {
  for (const until = Date.now() + 1500; Date.now() < until; );
  process.kill(process.pid, 'SIGVTALRM')
  // The launcher ends it.
  await new Promise((resolve) => setTimeout(resolve, 20000))
}
if (process.argv.includes('quick')) process.exit(Number(process.argv.at(-1)) || 0)
process.on('disconnect', () => { console.log('alone'); process.exit(0) })
// It never runs by itself for so long.
setTimeout(() => process.exit(99), 20000)
`

/** A small repository: a launcher, a program and two packages that come from files beside it, so that npm needs no network. */
async function makeRepository(): Promise<string> {
  const room = await mkdtemp(path.join(os.tmpdir(), 'carrel launch test-'))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  const root = path.join(room, 'repository')
  await mkdir(path.join(root, 'api'), { recursive: true })
  for (const name of ['launch.mjs', 'compile-cache.mjs', 'node-tuning.mjs', 'exit-codes.mjs', 'restart-pause.mjs', 'stop-database.mjs'])
    await copyFile(path.join(path.dirname(launcher), name), path.join(root, 'api', name))
  await writeFile(path.join(root, 'api', 'program.mjs'), PROGRAM)
  await writeFile(path.join(root, 'api', 'main.ts'), PROGRAM.replace('args:', 'main: true, args:'))
  const packages = ['dep', 'dev-dep']
  for (const name of packages) {
    await mkdir(path.join(room, name))
    await writeFile(path.join(room, name, 'package.json'), JSON.stringify({ name, version: '1.0.0' }))
  }
  const npm = (cwd: string, ...words: string[]) => execFileSync('npm', words, { cwd, env: npmEnvironment(), stdio: 'pipe' })
  npm(room, 'pack', '--silent', '--pack-destination', root, ...packages.map((name) => `./${name}`))
  const dependencies = { dependencies: { dep: 'file:dep-1.0.0.tgz' }, devDependencies: { 'dev-dep': 'file:dev-dep-1.0.0.tgz' } }
  await writeFile(
    path.join(root, 'package.json'),
    JSON.stringify({ name: 'small', version: '1.0.0', private: true, type: 'module', ...dependencies }),
  )
  npm(root, 'install', '--package-lock-only', '--silent', '--no-audit')
  return root
}

/** The same repository elsewhere, as yet without packages. */
async function cloneRepository(t: Test): Promise<string> {
  const room = await mkdtemp(path.join(os.tmpdir(), 'carrel launch test-'))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  const root = path.join(room, 'repository')
  await cp(repository, root, { recursive: true, filter: (source) => !/^(node_modules|\.cache)$/.test(path.basename(source)) })
  return root
}

function npmEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_ENV|INIT_CWD|NODE_COMPILE_CACHE|UV_THREADPOOL_SIZE|NODE_OPTIONS|TAP)/i.test(name),
  )
  return Object.fromEntries(kept)
}

interface Launched {
  child: ChildProcess
  ended: Promise<{ code: number | null; signal: string | null; out: string; err: string }>
  out(): string
  /** Waits until the program or the launcher has printed a line that matches. */
  said(pattern: RegExp): Promise<void>
}

function launch(root: string, args: string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): Launched {
  const child = spawn(process.execPath, [path.join(root, 'api', 'launch.mjs'), ...args], {
    cwd: options.cwd ?? root,
    env: { ...npmEnvironment(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout!.on('data', (chunk) => {
    out += chunk
  })
  child.stderr!.on('data', (chunk) => {
    err += chunk
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, out, err }))
  return {
    child,
    ended,
    out: () => out,
    async said(pattern) {
      for (let tries = 0; !pattern.test(out + err); tries++) {
        if (tries > 6_000 || child.exitCode !== null) throw new Error(`It never said ${pattern}: ${out} ${err}`)
        await sleep(20)
      }
    },
  }
}

// Each call of npm takes a second or two. The first test installs its packages, and each after it leaves them there.
const repository = await makeRepository()

t.test('installs, runs, and does not install again', onlyFull, async (t) => {
  const root = repository
  const elsewhere = path.dirname(root)
  const first = await launch(root, ['api/program.mjs', '--library', 'a b', 'quick', '3'], { cwd: elsewhere }).ended
  t.equal(first.code, 3, 'the exit code is the program’s')
  t.equal(first.err.match(/^Installing /gm)?.length, 1, 'one line says that it installs')
  const said = JSON.parse(first.out)
  t.same(said.args, ['--library', 'a b', 'quick', '3'])
  t.equal(said.cwd, elsewhere, 'the user’s folder stays')
  t.ok(said.dep && said.dev)
  t.equal(Number(said.threads), os.availableParallelism() + 16)
  t.equal(said.cache, path.join(root, '.cache', 'compile'))

  const second = await launch(root, ['api/program.mjs', 'quick', '0']).ended
  t.equal(second.err, '')
  t.equal(second.code, 0)
  const noProgram = await launch(root, ['quick', '0']).ended
  t.match(JSON.parse(noProgram.out), { main: true, args: ['quick', '0'] }, 'without a program it is the server')

  // Installed by hand: npm's own record says that all is there.
  await rm(path.join(root, 'node_modules', '.carrel-installed.json'))
  t.equal((await launch(root, ['--dev', 'api/program.mjs', 'quick', '0']).ended).err, '')

  // Something else than the lock file says is installed.
  const record = path.join(root, 'node_modules', '.package-lock.json')
  await writeFile(record, (await readFile(record, 'utf8')).replaceAll('1.0.0', '0.9.0'))
  t.match((await launch(root, ['api/program.mjs', 'quick', '0']).ended).err, /^Installing/)
})

t.test('what is needed for development is installed only when asked, and then always', onlyFull, async (t) => {
  const root = await cloneRepository(t)
  const env = { NODE_ENV: 'production' }
  const plain = await launch(root, ['api/program.mjs', 'quick', '0'], { env }).ended
  t.match(JSON.parse(plain.out), { dep: true, dev: false })
  t.equal((await launch(root, ['api/program.mjs', 'quick', '0'], { env }).ended).err, '', 'which is complete')
  const dev = await launch(root, ['--dev', 'api/program.mjs', 'quick', '0'], { env }).ended
  t.match(dev.err, /^Installing/)
  t.match(JSON.parse(dev.out), { dep: true, dev: true })
})

t.test('many launches at once, after one that died installing', async (t) => {
  const root = await cloneRepository(t)
  await mkdir(path.join(root, '.cache'))
  // A process number that no process has.
  await writeFile(path.join(root, '.cache', 'install.lock'), '4194304999')
  const ends = await Promise.all(Array.from({ length: 4 }, () => launch(root, ['api/program.mjs', 'quick', '0']).ended))
  t.same(
    ends.map((end) => end.code),
    [0, 0, 0, 0],
  )
  t.equal(ends.filter((end) => /^Installing/m.test(end.err)).length, 1, 'one of them installs')
  t.equal(await stat(path.join(root, '.cache', 'install.lock')).catch(() => null), null)
})

t.test('signals go to the program, which decides', async (t) => {
  const root = repository
  const running = launch(root, ['api/program.mjs'])
  await running.said(/args/)
  running.child.kill('SIGTERM')
  const end = await running.ended
  t.match(end.out, /SIGTERM/)
  t.equal(end.code, 7)

  const killed = launch(root, ['api/program.mjs'])
  await killed.said(/args/)
  killed.child.kill('SIGKILL')
  t.match((await killed.ended).out, /alone/, 'it notices that its launcher was killed')

  const program = launch(root, ['api/program.mjs'])
  await program.said(/args/)
  process.kill(JSON.parse(program.out()).pid, 'SIGKILL')
  t.equal((await program.ended).signal, 'SIGKILL', 'and ends as it ended')
})

t.test('the server alone is started anew, and only when it stood still', async (t) => {
  const root = repository
  const mark = path.join(await mkdtemp(path.join(root, 'mark-')), 'stood-still')
  const server = await launch(root, ['api/main.ts', 'stall', mark]).ended
  t.equal(server.code, 4, 'the code of the last run')
  t.equal(server.out.match(/"main":true/g)?.length, 2)
  t.match(server.err, /was blocked[\s\S]*restarts in 1 s/)
  const other = await launch(root, ['api/program.mjs', 'stall']).ended
  t.equal(other.code, STALLED_EXIT_CODE, 'another program is what it is')

  const again = launch(root, ['api/main.ts', 'stall'])
  await again.said(/restarts in 2 s/)
  again.child.kill('SIGTERM')
  t.equal((await again.ended).signal, 'SIGTERM', 'a signal in the pause ends it')

  const blocked = launch(root, ['api/main.ts', 'blocked'])
  await blocked.said(/args/)
  blocked.child.kill('SIGTERM')
  t.equal((await blocked.ended).signal, 'SIGTERM', 'and so does one that it could not follow')

  const killed = launch(root, ['api/main.ts'])
  await killed.said(/args/)
  process.kill(JSON.parse(killed.out()).pid, 'SIGKILL')
  t.match(await killed.ended, { signal: 'SIGKILL', err: '' })
})

t.test('the pause before it is started anew grows, up to a minute, until it has run well', async (t) => {
  const pauses: number[] = []
  for (let run = 0; run < 8; run++) pauses.push(restartPauseMs(pauses.at(-1) ?? 0, 30_000))
  t.same(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  t.equal(restartPauseMs(60_000, 3_600_000), 1_000)
})

t.test('a pinned Node is preferred, and done without when it cannot run', async (t) => {
  const root = repository
  const bin = path.join(root, 'node_modules', '.bin')
  await mkdir(bin, { recursive: true })
  await writeFile(path.join(bin, 'node'), `#!/bin/sh\necho pinned >&2\nexec "${process.execPath}" "$@"\n`)
  await chmod(path.join(bin, 'node'), 0o755)
  t.match((await launch(root, ['api/program.mjs', 'quick', '0']).ended).err, /pinned/)
  // As a binary for another C library shows itself: its interpreter is missing.
  await writeFile(path.join(bin, 'node'), '#!/nowhere/ld-musl\n')
  const without = await launch(root, ['api/program.mjs', 'quick', '5']).ended
  t.equal(without.code, 5)
  t.equal(without.err, '')
})

t.test('what cannot work is said', async (t) => {
  const root = repository
  const absent = await launch(root, ['api/absent.ts']).ended
  t.equal(absent.code, 1)
  t.match(absent.err, /no program api\/absent\.ts/)
  await rm(path.join(root, 'dep-1.0.0.tgz'))
  await rm(path.join(root, 'node_modules'), { recursive: true })
  const broken = await launch(root, ['api/program.mjs', 'quick'], { env: { npm_config_cache: path.join(root, 'cache') } }).ended
  t.equal(broken.code, 1)
  t.match(broken.err, /npm ci failed/)
  await rm(path.join(root, 'package-lock.json'))
  t.match((await launch(root, ['api/program.mjs', 'quick']).ended).err, /package-lock\.json is missing/)
})
