import { mkdtemp, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import * as esbuild from 'esbuild'
import { TESTING_HOST } from '../../plugin-sdk/testing.ts'
import { asProblem, otherPackages, sdkPlugin } from './bundling/bundle.ts'
import { fileReason, ToolProblem } from './command.ts'
import { describeProblem } from './plugin-session.ts'
import type { NamedTest, TestingTools } from './testing-host.ts'
import { typedTool } from './typed.ts'

/** The result of one test. */
export interface TestOutcome {
  /** A test file, or the group of a check. */
  group: string
  name: string
  state: 'passed' | 'failed' | 'skipped'
  /** Why it failed or was skipped. */
  message: string | null
  wallMs: number
  /** What the author should know of a test that passed, too. */
  warnings?: readonly string[]
}

/** A longer test is stuck. */
const TEST_MS_MAX = 60_000
const TESTING = '@carrel/plugin-sdk/testing'
const FOLDER = 'test'
const NAMES = /\.test\.(ts|js|mjs)$/
/** How tests are named here and with other tools. */
const LIKE_TESTS = /\.(?:test|spec)\.[cm]?([jt])sx?$/
/** Packages, and what other tools make of the sources. */
const SKIPPED = new Set(['node_modules', 'dist', 'build', 'out', 'coverage'])
/** More are no sources of a plugin; folders with the rest are left out. */
const ENTRIES_MAX = 5_000
/** Named of the files that do not run; more are of no use at a time. */
const MISPLACED_MAX = 20

/** Test files below `test/`, in order. */
export async function listTestFiles(folder: string): Promise<string[]> {
  const entries = await readdir(path.join(folder, FOLDER), { recursive: true }).catch(() => [])
  return entries
    .filter((name) => NAMES.test(name) && !name.includes('node_modules'))
    .map((name) => path.join(FOLDER, name))
    .sort()
}

/** Files that look like tests and do not run, because of their folder or their name: each fails. @param files those that run */
export async function findMisplacedTests(folder: string, files: readonly string[]): Promise<TestOutcome[]> {
  const misplaced: string[] = []
  // Folders that are found are appended.
  const folders = ['']
  let left = ENTRIES_MAX
  for (const within of folders) {
    const entries = await readdir(path.join(folder, within), { withFileTypes: true }).catch(() => [])
    // Another project has tests of its own.
    const isOther = within !== '' && entries.some(({ name }) => name === 'package.json' || name === 'manifest.json')
    if (isOther || entries.length > left) continue
    left -= entries.length
    for (const entry of entries) {
      const name = path.join(within, entry.name)
      if (entry.isDirectory() && !entry.name.startsWith('.') && !SKIPPED.has(entry.name)) folders.push(name)
      if (entry.isFile() && LIKE_TESTS.test(name) && !files.includes(name)) misplaced.push(name)
    }
  }
  return misplaced
    .sort()
    .slice(0, MISPLACED_MAX)
    .map((file): TestOutcome => {
      const inside = path.relative(FOLDER, file)
      const wanted = path.join(FOLDER, (inside.startsWith('..') ? path.basename(file) : inside).replace(LIKE_TESTS, '.test.$1s'))
      const example = files.includes(wanted) ? '' : `, such as to ${wanted}`
      const message = `It does not run: tests are in ${FOLDER}/, and their names end with .test.ts, .test.js or .test.mjs. Move or rename it${example}; if another tool runs it, give it another name.`
      return { group: file, name: 'the file runs', state: 'failed', message, wallMs: 0 }
    })
}

/**
 * Runs test files, and the tests in each, one after another.
 * @param stop ends the test that runs
 * @throws ToolProblem when one cannot be compiled, or the folder cannot be written
 */
export async function runTestFiles(
  folder: string,
  files: readonly string[],
  tools: TestingTools,
  onOutcome: (outcome: TestOutcome) => void,
  stop: AbortSignal,
): Promise<void> {
  const globals = globalThis as { [TESTING_HOST]?: TestingTools['host'] }
  // Beside the sources, so that packages that tests import are found.
  const built = await mkdtemp(path.join(folder, '.carrel-plugin-')).catch((cause: NodeJS.ErrnoException) => {
    const message = `${folder} cannot be written (${fileReason(cause)}); tests are compiled into a folder of their own there, beside the packages that they import. Allow your user to write to it.`
    throw new ToolProblem(message, { cause })
  })
  process.setSourceMapsEnabled(true)
  const rejections: unknown[] = []
  const noteRejection = (reason: unknown) => void rejections.push(reason)
  process.on('unhandledRejection', noteRejection)
  globals[TESTING_HOST] = tools.host
  /** Fails what was registered since a file has loaded: it would run as a test of the next one, or never. */
  const failLate = (group: string) => {
    for (const { name, registered } of tools.takeTests())
      onOutcome({ group, name, state: 'failed', message: describe(registered, folder), wallMs: 0 })
  }
  try {
    for (const [index, file] of files.entries()) {
      const outfile = path.join(built, `${index}.mjs`)
      await compile(folder, file, outfile)
      failLate(files[index - 1] ?? file)
      const at = performance.now()
      try {
        await import(pathToFileURL(outfile).href)
      } catch (error) {
        onOutcome({
          group: file,
          name: 'the file loads',
          state: 'failed',
          message: describe(error, folder),
          wallMs: performance.now() - at,
        })
        tools.takeTests()
        continue
      }
      const tests = tools.takeTests()
      if (tests.length === 0) {
        const message = `It has no tests. Import test from ${TESTING}, and call it.`
        onOutcome({ group: file, name: 'the file has tests', state: 'failed', message, wallMs: performance.now() - at })
      }
      for (const test of tests) {
        onOutcome(await runTest(test, { folder, file, tools, rejections, stop }))
        failLate(file)
      }
    }
  } finally {
    delete globals[TESTING_HOST]
    process.off('unhandledRejection', noteRejection)
    await rm(built, { recursive: true, force: true })
  }
}

interface TestPlace {
  folder: string
  file: string
  tools: TestingTools
  /** Of promises that nobody handled; those of this test are taken out. */
  rejections: unknown[]
  stop: AbortSignal
}

async function runTest({ name, run }: NamedTest, { folder, file, tools, rejections, stop }: TestPlace): Promise<TestOutcome> {
  const began = performance.now()
  const problem = await attempt(run, folder, stop)
  // Node reports a rejection that nobody handles after the other work of its turn.
  await nextTurn()
  const { missed, warnings } = tools.endTest()
  const [unhandled] = rejections.splice(0).map((reason) => `${UNHANDLED} ${describe(reason, folder)}`)
  const message = problem ?? (missed.length > 0 ? `${missed.join('; ')}.` : (unhandled ?? null))
  return { group: file, name, state: message === null ? 'passed' : 'failed', message, wallMs: performance.now() - began, warnings }
}

const UNHANDLED = 'Nobody waited for a promise that failed, so write await before it:'

async function compile(folder: string, file: string, outfile: string): Promise<void> {
  try {
    await esbuild.build({
      absWorkingDir: folder,
      entryPoints: [file],
      outfile,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node24',
      sourcemap: 'inline',
      logLevel: 'silent',
      plugins: [sdkPlugin, otherPackages],
    })
  } catch (error) {
    throw asProblem(error)
  }
}

async function attempt(run: () => Promise<void> | void, folder: string, stop: AbortSignal): Promise<string | null> {
  const ended = new AbortController()
  try {
    await Promise.race([
      Promise.resolve().then(run),
      sleep(TEST_MS_MAX, undefined, { signal: AbortSignal.any([ended.signal, stop]) }).then(() => {
        throw new Error(`The test did not end within ${TEST_MS_MAX / 1000} s.`)
      }),
    ])
    return null
  } catch (error) {
    return describe(error, folder)
  } finally {
    ended.abort()
  }
}

/** What this tool has in place of what other tools for tests have; empty for any other message. */
function adviceOn(message: string): string {
  if (/^(test|describe|it|suite|expect|assert|beforeEach|afterEach|before|after|jest|vi) is not defined$/.test(message))
    return `. Import test, openPlugin and assertions from ${TESTING}; it has nothing else`
  if (/^test\.\w+ is not a function$/.test(message)) return `. test has no members; to run one file: ${typedTool('test NAME')}`
  if (/\b(call|storage|restart) is not a function$/.test(message)) return '. openPlugin returns a promise: write await before it'
  return ''
}

/** The message, and the first line of the stack in the author's files. */
function describe(error: unknown, folder: string): string {
  if (!(error instanceof Error)) return `It threw ${String(error)}.`
  const code = (error as { code?: unknown }).code
  // The place in the plugin comes before the line of its test.
  const { source = null } = error as { source?: string | null }
  const text =
    typeof code === 'string' && !code.startsWith('ERR_') ? describeProblem({ code, message: error.message, source }) : error.message
  // The file that imports it is a copy in a folder of ours.
  const [, missing] = /^Cannot find package '(.+)' imported from /.exec(error.message) ?? []
  if (missing !== undefined)
    return `${missing} is not installed. Tests import test, openPlugin and assertions from ${TESTING}; for another package: npm install --save-dev ${missing}`
  const more = adviceOn(error.message)
  const line = (error.stack ?? '')
    .split('\n')
    .find((one) => /^\s+at /.test(one) && one.includes(`${folder}${path.sep}`) && !one.includes('node_modules'))
  const place = line === undefined ? undefined : /([^\s(]+:\d+:\d+)\)?$/.exec(line)?.[1]
  return place === undefined ? `${text}${more}` : `${text}${more}\nat ${path.relative(folder, place.replace(/^file:\/\//, ''))}`
}
