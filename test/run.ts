// npm test: all tests by tap on this very Node, arguments passed through, nothing left running afterwards.
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { createRequire } from 'node:module'
import net from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { arrangeFiles } from '#test/support/batches.ts'
import { KEEPER_SOCKET } from '#test/support/database.ts'

/** The keeper's PostgreSQL shuts down in well under a second. */
const KEEPER_PATIENCE_MS = 10_000

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const { resolve } = createRequire(import.meta.url)
const tap = path.join(path.dirname(resolve('tap/package.json')), 'dist', 'esm', 'run.mjs')

/** What a person has set for a server of theirs must not reach the servers of the tests. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^(CARREL_|DATABASE_URL|INIT_CWD$|npm_|PG[A-Z]+$)/
  const kept = Object.entries(process.env).filter(([name]) => !foreign.test(name))
  // tap starts its files with the first node on PATH.
  return { ...Object.fromEntries(kept), PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}` }
}

/** Ends the shared test cluster now rather than seconds later. */
function closeKeeper(): Promise<void> {
  return new Promise((done) => {
    const socket = net.connect(KEEPER_SOCKET)
    const timer = setTimeout(() => socket.destroy(), KEEPER_PATIENCE_MS)
    // The keeper's process hangs up by ending.
    socket.once('data', () => socket.write('close\n'))
    socket.once('error', () => done())
    socket.once('close', () => {
      clearTimeout(timer)
      done()
    })
  })
}

/** The same seed makes the same random values again. */
const seed = Number(process.env['TEST_SEED'] ?? randomInt(2 ** 31)) | 0
const given = process.argv.slice(2)
/** Files that were named run one by one. */
const files = given.every((word) => word.startsWith('-')) ? arrangeFiles(root) : []
const child = spawn(process.execPath, [tap, ...given, ...files], {
  cwd: root,
  stdio: 'inherit',
  env: { ...cleanEnvironment(), TEST_SEED: String(seed) },
})
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
process.on('disconnect', () => child.kill('SIGTERM'))
process.channel?.unref()
child.once('exit', async (code, signal) => {
  await closeKeeper()
  console.log(`# seed of random values: ${seed} (the same again: TEST_SEED=${seed} npm test)`)
  process.exit(signal ? 1 : (code ?? 1))
})
