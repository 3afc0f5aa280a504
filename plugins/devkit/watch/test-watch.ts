import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '#core/foundation/errors.ts'
import { counted, printMessage, type ToolInput, ToolProblem } from '../command.ts'

/** What a run of the tests covers. */
export interface TestPart {
  /** Words of the test files; without any, all of them. Null for none. */
  words: readonly string[] | null
  /** The checks that every plugin must pass. */
  conformance: boolean
}

/** Interval for looking at the files: recursive watching of folders misses files that editors replace. */
const LOOK_EVERY_MS = 500
const FOLDERS = ['src', 'test', 'calls', 'fixtures']
const FILES = ['manifest.json', 'package.json', 'tsconfig.json', 'main.js']
/** More are no sources of a plugin; looking at as many takes a tenth of a second. */
const FILES_MAX = 5_000
/** Named of those that have changed. */
const NAMES_MAX = 3

/**
 * Runs the tests, and again what each change concerns, until the command is stopped.
 * @param given what the command line chose
 */
export async function watchTests(input: ToolInput, given: TestPart, run: (part: TestPart) => Promise<number>): Promise<number> {
  const { folder, stop, out } = input
  // Before the run: a file that changes meanwhile is a change.
  let before = await stampsOf(folder)
  await attempt(input, () => run(given))
  if (!stop.aborted) out.line('Waiting for changes. Press Ctrl-C to stop.')
  while (!stop.aborted) {
    await sleep(LOOK_EVERY_MS, undefined, { signal: stop }).catch(() => {})
    const now = await stampsOf(folder)
    const changed = changesBetween(before, now)
    // A file that is gone cannot run: its folder has changed.
    const part = partOf(
      changed.map((name) => (now.has(name) ? name : path.dirname(name))),
      given,
    )
    before = now
    if (changed.length === 0 || part === null || stop.aborted) continue
    const more = changed.length > NAMES_MAX ? ` and ${counted(changed.length - NAMES_MAX, 'more file')}` : ''
    out.line()
    printMessage(out, ['bold', '↻'], `${changed.slice(0, NAMES_MAX).join(', ')}${more}`)
    await attempt(input, () => run(part))
  }
  return 0
}

/** What the changed files concern, of what the command line chose; null for nothing. */
export function partOf(changed: readonly string[], given: TestPart): TestPart | null {
  const concerns = { tests: [] as string[], all: false, calls: false }
  for (const name of changed) {
    const [folder] = name.split(path.sep)
    if (folder === 'calls') concerns.calls = true
    else if (folder === 'test' && /\.test\.\w+$/.test(name)) concerns.tests.push(name)
    // Other files in that folder are parts of tests.
    else if (folder === 'test') concerns.tests.push('')
    else concerns.all = true
  }
  if (concerns.all) return given
  const { words, conformance } = given
  const isChosen = (name: string) => words !== null && (words.length === 0 || name === '' || words.some((word) => name.includes(word)))
  const tests = concerns.tests.filter(isChosen)
  if (tests.length === 0 && !(concerns.calls && conformance)) return null
  return {
    words: tests.length === 0 ? null : tests.includes('') ? words : tests,
    conformance: concerns.calls && conformance,
  }
}

/** A problem that the author can fix does not end the command. */
async function attempt({ out }: ToolInput, run: () => Promise<number>): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (!(error instanceof ToolProblem || error instanceof AppError)) throw error
    printMessage(out, ['red', '✖'], error.message)
  }
}

/** When each file was written last, and its size, by its name. */
async function stampsOf(folder: string): Promise<Map<string, string>> {
  const lists = await Promise.all(
    FOLDERS.map(async (name) =>
      (await readdir(path.join(folder, name), { recursive: true }).catch(() => [])).map((one) => path.join(name, one)),
    ),
  )
  const names = [...FILES, ...lists.flat().filter((name) => !name.includes('node_modules'))]
  if (names.length > FILES_MAX)
    throw new ToolProblem(`--watch looks at ${FOLDERS.join('/, ')}/, which have ${names.length} files; the limit is ${FILES_MAX}.`)
  const stamps = new Map<string, string>()
  for (const name of names) {
    const found = await stat(path.join(folder, name)).catch(() => null)
    if (found?.isFile()) stamps.set(name, `${found.mtimeMs} ${found.size}`)
  }
  return stamps
}

function changesBetween(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const names = new Set([...before.keys(), ...now.keys()])
  return [...names].filter((name) => before.get(name) !== now.get(name)).sort()
}
