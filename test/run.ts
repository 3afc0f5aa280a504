// Runs tests by tap on this very Node, in one of the lanes of test/support/lanes.ts; nothing is left running afterwards.
//   npm test, npm run test:quick, test:cost, test:full        a lane
//   npm test -- FILE… FOLDER… [options of tap]               these, in the size of the lane
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { globSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import net from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { KEEPER_SOCKET } from '#test/support/cluster-folder.ts'
import { describeLeftOut, filesOf, groupFiles, LANES, type Lane } from '#test/support/lanes.ts'

/** The keeper's PostgreSQL shuts down in well under a second. */
const KEEPER_PATIENCE_MS = 10_000

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const { resolve } = createRequire(import.meta.url)
const tap = path.join(path.dirname(resolve('tap/package.json')), 'dist', 'esm', 'run.mjs')

/** What a person has set for a server of theirs must not reach the servers of the tests. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^(CARREL_|DATABASE_URL|INIT_CWD$|npm_|PG[A-Z]+$)/
  const kept = Object.entries(process.env).filter(([name]) => !foreign.test(name))
  // Hundreds of servers are started, and few of them need the web interface. tap starts its files with the first node on PATH.
  return {
    ...Object.fromEntries(kept),
    CARREL_WEB_BUILD: 'false',
    PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`,
  }
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

/** The test files that a word of the command line names: a file, a folder or a pattern; none when it is an option of tap or the value of one. */
function findFiles(word: string): string[] {
  if (word.startsWith('-')) return []
  const place = path.resolve(root, word)
  const pattern = statSync(place, { throwIfNoEntry: false })?.isDirectory() ? path.join(place, '**', '*.test.ts') : place
  const files = globSync(pattern).map((file) => path.relative(root, file))
  if (files.length === 0 && /^test\/|\.test\.ts$/.test(word)) {
    console.error(`There is no test file ${word}`)
    process.exit(1)
  }
  return files.sort()
}

/** Which processes run which files. Named files and those of which some tests run alone run one by one. */
function listEntries(lane: Lane, words: readonly string[]): { entries: string[][]; options: string[] } {
  const named = words.map((word) => ({ word, files: findFiles(word) }))
  const files = [...new Set(named.flatMap((each) => each.files))]
  const options = named.filter((each) => each.files.length === 0).map(({ word }) => word)
  const isWhole = files.length === 0 && options.every((option) => /^-(-reporter|R)/.test(option))
  if (isWhole && (lane === 'quick' || lane === 'main')) console.log(`# ${describeLeftOut(lane, root)}`)
  if (isWhole && lane !== 'cost') return { entries: groupFiles(filesOf(lane, root)), options }
  return { entries: (files.length > 0 ? files : filesOf(lane, root)).map((file) => [file]), options }
}

/** tap then runs only tests with `only`, see `onlyCost`. */
const ONLY: Partial<Record<Lane, NodeJS.ProcessEnv>> = { cost: { TAP_ONLY: '1', TAP_FILTER_QUIETLY: '1' } }
/** The same seed makes the same random values again. */
const seed = Number(process.env['TEST_SEED'] ?? randomInt(2 ** 31)) | 0
const words = process.argv.slice(2)
const lane = LANES.find((name) => words[0] === `--lane=${name}`) ?? 'main'
const { entries, options } = listEntries(lane, words[0] === `--lane=${lane}` ? words.slice(1) : words)
const child = spawn(process.execPath, [tap, ...options, path.join('test', 'suite.ts')], {
  cwd: root,
  stdio: 'inherit',
  detached: true,
  env: { ...cleanEnvironment(), TEST_SEED: String(seed), TEST_LANE: lane, TEST_ENTRIES: JSON.stringify(entries), ...ONLY[lane] },
})
/** Tells the whole group of the runner: by itself it passes no signal on to a file that runs alone. */
function end(signal: NodeJS.Signals): void {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, signal)
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => end(signal))
process.on('disconnect', () => end('SIGTERM'))
process.channel?.unref()
child.once('exit', async (code, signal) => {
  await closeKeeper()
  console.log(`# seed of random values: ${seed} (the same again: TEST_SEED=${seed} npm test)`)
  process.exit(signal ? 1 : (code ?? 1))
})
