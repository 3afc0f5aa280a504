import { mkdtemp, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import * as esbuild from 'esbuild'
import { TESTING_HOST } from '../../plugin-sdk/testing.ts'
import { asProblem, otherPackages, sdkPlugin } from './bundling/bundle.ts'
import { fileReason, ToolProblem } from './command.ts'
import { describeProblem } from './plugin-session.ts'
import type { TestingTools } from './testing-host.ts'

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

/** Test files below `test/`, in order. */
export async function listTestFiles(folder: string): Promise<string[]> {
  const entries = await readdir(path.join(folder, FOLDER), { recursive: true }).catch(() => [])
  return entries
    .filter((name) => NAMES.test(name) && !name.includes('node_modules'))
    .map((name) => path.join(FOLDER, name))
    .sort()
}

/** Runs test files, and the tests in each, one after another. @throws ToolProblem when one cannot be compiled, or the folder cannot be written */
export async function runTestFiles(
  folder: string,
  files: readonly string[],
  tools: TestingTools,
  onOutcome: (outcome: TestOutcome) => void,
): Promise<void> {
  const globals = globalThis as { [TESTING_HOST]?: TestingTools['host'] }
  // Beside the sources, so that packages that tests import are found.
  const built = await mkdtemp(path.join(folder, '.carrel-plugin-')).catch((cause: NodeJS.ErrnoException) => {
    const message = `${folder} cannot be written (${fileReason(cause)}); tests are compiled into a folder of their own there, beside the packages that they import. Allow your user to write to it.`
    throw new ToolProblem(message, { cause })
  })
  process.setSourceMapsEnabled(true)
  globals[TESTING_HOST] = tools.host
  try {
    for (const [index, file] of files.entries()) {
      const outfile = path.join(built, `${index}.mjs`)
      await compile(folder, file, outfile)
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
      for (const { name, run } of tests) {
        const began = performance.now()
        const problem = await attempt(run, folder)
        const { missed, warnings } = tools.endTest()
        const message = problem ?? (missed.length > 0 ? `${missed.join('; ')}.` : null)
        onOutcome({
          group: file,
          name,
          state: message === null ? 'passed' : 'failed',
          message,
          wallMs: performance.now() - began,
          warnings,
        })
      }
    }
  } finally {
    delete globals[TESTING_HOST]
    await rm(built, { recursive: true, force: true })
  }
}

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

async function attempt(run: () => Promise<void> | void, folder: string): Promise<string | null> {
  const ended = new AbortController()
  try {
    await Promise.race([
      Promise.resolve().then(run),
      sleep(TEST_MS_MAX, undefined, { signal: ended.signal }).then(() => {
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
  const line = (error.stack ?? '')
    .split('\n')
    .find((one) => /^\s+at /.test(one) && one.includes(`${folder}${path.sep}`) && !one.includes('node_modules'))
  const place = line === undefined ? undefined : /([^\s(]+:\d+:\d+)\)?$/.exec(line)?.[1]
  return place === undefined ? text : `${text}\nat ${path.relative(folder, place.replace(/^file:\/\//, ''))}`
}
