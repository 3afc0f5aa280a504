// Every file of a run as one test of tap, each in a plain process. test/run.ts has tap's own runner start this file alone: the hooks that it loads into
// what it starts (source maps, coverage, mocks) are of no use to code that runs as it stands, and cost each process, and each that it starts, a second.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Spawn } from 'tap'
import { FileResults } from './support/file-results.ts'

/** Two cores; some tests wait. Whoever measures is alone. */
const JOBS = process.env['TEST_LANE'] === 'cost' ? 1 : 3
/** Of one process. The longest takes 110 s on two quiet cores, and half as much again for each program beside it. */
const PROCESS_MS_MAX = 600_000

const root = path.resolve(import.meta.dirname, '..')
const entries: string[][] = JSON.parse(process.env['TEST_ENTRIES'] as string)
const HOOKS = /^(NODE_OPTIONS$|_TAPJS_|TEST_ENTRIES$|TEST_FAILED$)/
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !HOOKS.test(name)))
// Which tests of a file run is for the file to choose.
for (const name of ['TAP_GREP', 'TAP_INVERT', 'TAP_ONLY']) delete process.env[name]
const { default: t } = await import('tap')

/** Files that failed, by the process that they shared. */
const failed: string[][] = []
function noteFailed(subtest: Spawn, files: readonly string[]): void {
  const results = new FileResults(files)
  subtest.parser.on('assert', ({ name, ok, skip, todo }) => results.note(name, ok || Boolean(skip || todo)))
  const watch = (proc: Spawn['proc']) => proc?.on('close', (code) => void failed.push(results.listFailed(code !== 0)))
  // The first ones have started already.
  if (subtest.proc) watch(subtest.proc)
  else subtest.on('process', watch)
}

const started: Spawn[] = []
let ending: NodeJS.Signals | null = null
// Whoever ends the run ends its tests, those that would start now too.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
  process.on(signal, () => {
    ending = signal
    for (const { proc } of started) proc?.kill(signal)
  })

// For .ci/run, which repeats them: a line for each process. Not of a run that was ended, where some never ran.
process.once('exit', () => {
  const lines = failed.filter((files) => files.length > 0).map((files) => `${files.join(' ')}\n`)
  if (process.env['TEST_FAILED'] && ending === null) writeFileSync(process.env['TEST_FAILED'], lines.join(''))
})

t.setTimeout(0)
t.jobs = Math.min(JOBS, entries.length)
for (const [number, files] of entries.entries()) {
  const [first = ''] = files
  const program = [path.join('test', 'support', 'start.ts'), String(number)]
  // tap adds its hooks to NODE_OPTIONS of every Node that it starts.
  const { subtest } = t.spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, '--disable-warning=ExperimentalWarning', ...program], {
    name: files.length > 1 ? `${first} and ${files.length - 1} more` : first,
    ...{ at: null, stack: '', cwd: root },
    env: { ...environment, TEST_FILES: JSON.stringify(files) },
    buffered: entries.length > 1,
    timeout: PROCESS_MS_MAX,
  })
  if (subtest === null) continue
  started.push(subtest)
  noteFailed(subtest, files)
  subtest.on('process', () => {
    if (ending) subtest.proc?.kill(ending)
  })
}
