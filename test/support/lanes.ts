import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/**
 * What a run asserts.
 * - `quick`: rules and the database: no sandbox, no server process, nothing end to end. The files of QUICK.
 * - `main`: every file but those of FULL_ONLY. A test that takes its size from `test/support/lane-size.ts` is smaller here, and says so.
 * - `cost`: the tests that compare times or CPU times, which the lanes above leave out.
 * - `full`: everything.
 */
export const LANES = ['quick', 'main', 'cost', 'full'] as const
export type Lane = (typeof LANES)[number]

/** A path of one of these, as a whole or as a beginning, is in the lane. */
const QUICK = [
  'test/architecture',
  'test/migrations/',
  'test/core/',
  'test/workers/metadata/',
  'test/web/',
  'test/workers/formats/comic/',
  'test/plugins/logs/',
  'test/plugins/network/rules.test.ts',
  'test/plugins/network/address.test.ts',
  'test/plugin-sdk/text.test.ts',
  'test/plugin-sdk/html.test.ts',
  'test/plugin-sdk/xml.test.ts',
]
/** But these: they run plugins, pools or whole scans, stop PostgreSQL, or start processes. */
const QUICK_WITHOUT = [
  'test/core/database/',
  'test/core/foundation/open-inside',
  'test/core/foundation/regular-jobs.test.ts',
  'test/api/cli/watchdog.test.ts',
  'test/core/analysis/',
  'test/core/embedded/',
  'test/core/scan/',
  'test/core/matching/',
  'test/core/reading/',
  'test/core/recommendations/',
  'test/core/tasks/',
]
/**
 * What kills or breaks a running server again and again and waits for it to heal, walks over thousands of documents, types every command of a page, or
 * tells a whole story again whose rules quicker tests assert one by one.
 */
const FULL_ONLY = [
  'test/api/cli/api-key.test.ts',
  'test/api/cli/library.test.ts',
  'test/api/cli/plugin-docs.test.ts',
  'test/api/cli/plugin-state.test.ts',
  'test/api/compile-cache.test.ts',
  'test/api/lifecycle.test.ts',
  'test/api/rest/plugins/recommendations-docs.test.ts',
  'test/api/routes-apps.test.ts',
  'test/crash.test.ts',
  'test/end-to-end-corpus.test.ts',
  'test/end-to-end-feeds.test.ts',
  'test/end-to-end-flow-files.test.ts',
  'test/end-to-end-recommendations.test.ts',
  'test/end-to-end-web-avif.test.ts',
  'test/end-to-end-web-restart.test.ts',
  'test/faults',
  'test/plugin-sdk/index-local.test.ts',
  'test/plugin-sdk/index-tutorial.test.ts',
  'test/plugins/devkit/package.test.ts',
]

/** Test files of one folder run together in a process: to start one and to load the server takes two seconds of a core. */
const SHARED = [
  'test/api/opds/',
  'test/api/rest/',
  'test/api/http/',
  'test/api/komga/',
  'test/core/',
  'test/plugins/host/',
  'test/plugins/bundled/',
  'test/plugin-sdk/',
  'test/plugins/',
  'test/workers/',
  'test/api/',
  'test/migrations/',
  'test/web/',
]
/** But these: they stop PostgreSQL, start and count processes, burn what they can get, bound the most memory that they ever had, or take long. */
const ALONE = [
  'test/api/cli/',
  'test/api/docs/openapi-lint.test.ts',
  'test/api/events/',
  'test/api/garbage.test.ts',
  'test/api/launch.test.ts',
  'test/api/lifecycle.test.ts',
  'test/api/main.test.ts',
  'test/api/routes-answers.test.ts',
  'test/api/server.test.ts',
  'test/core/embedded/embedded-postgres.test.ts',
  'test/plugins/devkit/inspector.test.ts',
  'test/plugins/devkit/main.test.ts',
  'test/plugins/devkit/package.test.ts',
  'test/plugins/devkit/side-load.test.ts',
  'test/plugins/packages/zip.test.ts',
  'test/plugins/packages/plugin-package.test.ts',
  'test/plugins/runtime/confinement.test.ts',
  'test/plugins/runtime/runner-process.test.ts',
  'test/plugins/runtime/runner/inspection.test.ts',
  'test/plugins/runtime/supervisor',
  'test/workers/corpus.test.ts',
  'test/workers/pool/pool.test.ts',
]
/** So that no process takes much longer than the longest single file. */
const FILES_MAX = 16
/** Of a path such as test/bad-input.test.ts or test/api/main.test.ts: what crosses the whole server lies there. */
const WHOLE_DEPTH = 3

const begins = (file: string, beginnings: readonly string[]): boolean => beginnings.some((beginning) => file.startsWith(beginning))

/** Paths from the root of the repository. */
export function filesOf(lane: Lane, root: string): string[] {
  const files = globSync('test/**/*.test.ts', { cwd: root }).sort()
  if (lane === 'quick') return files.filter((file) => begins(file, QUICK) && !begins(file, QUICK_WITHOUT))
  if (lane === 'cost') return files.filter((file) => readFileSync(path.join(root, file), 'utf8').includes(' onlyCost'))
  return lane === 'main' ? files.filter((file) => !begins(file, FULL_ONLY)) : files
}

/** What the lane leaves out of all files, for people to read. */
export function describeLeftOut(lane: 'quick' | 'main', root: string): string {
  const all = filesOf('full', root)
  const kept = new Set(filesOf(lane, root))
  const left = all.filter((file) => !kept.has(file))
  const named = lane === 'main' ? `: ${left.join(', ')}` : ''
  return `left to ${lane === 'main' ? 'npm run test:full' : 'npm test and npm run test:full'}: ${left.length} of ${all.length} files${named}`
}

/**
 * Which files share a process. What takes longest comes first, so that at the end of a run no core waits for the other: files that cross the whole server,
 * then groups, then files that have a process to themselves.
 */
export function groupFiles(files: readonly string[]): string[][] {
  const isAlone = (file: string) => !begins(file, SHARED) || begins(file, ALONE)
  const depth = (file: string) => file.split(path.sep).length
  const alone = files.filter(isAlone).sort((one, other) => depth(one) - depth(other))
  const together = files.filter((file) => !isAlone(file))
  // A file is of the first folder that it lies in.
  const folderOf = (file: string) => SHARED.find((folder) => file.startsWith(folder))
  const groups = SHARED.flatMap((folder) => {
    const members = together.filter((file) => folderOf(file) === folder)
    // Of even size: thirteen are five, five and three rather than six, six and one.
    const size = Math.ceil(members.length / Math.ceil(members.length / FILES_MAX))
    return Array.from({ length: Math.ceil(members.length / size) || 0 }, (_, at) => members.slice(at * size, (at + 1) * size))
  })
  const long = alone.filter((file) => depth(file) <= WHOLE_DEPTH)
  return [...long.map((file) => [file]), ...groups, ...alone.slice(long.length).map((file) => [file])]
}
