import { globSync } from 'node:fs'
import path from 'node:path'

/**
 * What a run asserts.
 * - `quick`: rules and the database: no sandbox, no server process, nothing end to end. The files of QUICK.
 * - `main`: every file but those of FULL_ONLY. A test that takes its size from `test/support/lane-size.ts` is smaller here, and says so.
 * - `full`: everything.
 */
export const LANES = ['quick', 'main', 'full'] as const
export type Lane = (typeof LANES)[number]

/** A path of one of these, as a whole or as a beginning, is in the lane. */
const QUICK = [
  'test/architecture',
  'test/migrations/',
  'test/core/',
  'test/workers/metadata/',
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
  'test/core/foundation/watchdog.test.ts',
  'test/core/ingest/',
  'test/core/matching/',
  'test/core/reading/',
  'test/core/recommendations/',
  'test/core/tasks/',
]
/** What kills or breaks a running server again and again and waits for it to heal, and walks over thousands of documents. */
const FULL_ONLY = [
  'test/api/compile-cache.test.ts',
  'test/api/lifecycle.test.ts',
  'test/crash.test.ts',
  'test/end-to-end-feeds.test.ts',
  'test/faults',
]

/** Test files of one folder run together in a process: to start one and to load the server takes a second and a half of a core. */
const SHARED = [
  'test/core/',
  'test/api/docs/',
  'test/api/http/',
  'test/api/komga/',
  'test/api/opds/',
  'test/api/rest/account/',
  'test/api/rest/admin/',
  'test/api/rest/catalog/',
  'test/api/rest/plugins/',
  'test/api/rest/reading/',
  'test/migrations/',
  'test/plugin-sdk/',
  'test/plugins/',
  'test/workers/',
]
/** But these: they stop PostgreSQL, start and count processes, burn what they can get, bound the most memory that they ever had, or take long. */
const ALONE = [
  'test/api/docs/openapi-lint.test.ts',
  'test/api/komga/routes',
  'test/api/opds/r',
  'test/core/database/embedded-postgres.test.ts',
  'test/plugins/runtime/',
  'test/plugins/packages/',
  'test/plugins/devkit/',
  'test/workers/corpus.test.ts',
  'test/workers/pool/pool.test.ts',
]
/** So that no process takes much longer than the longest single file. */
const FILES_MAX = 6

const begins = (file: string, beginnings: readonly string[]): boolean => beginnings.some((beginning) => file.startsWith(beginning))

/** Paths from the root of the repository. */
export function filesOf(lane: Lane, root: string): string[] {
  const files = globSync('test/**/*.test.ts', { cwd: root }).sort()
  if (lane === 'quick') return files.filter((file) => begins(file, QUICK) && !begins(file, QUICK_WITHOUT))
  return lane === 'main' ? files.filter((file) => !begins(file, FULL_ONLY)) : files
}

/** What the lane leaves out of all files, for people to read; empty where that is nothing. */
export function describeLeftOut(lane: Lane, root: string): string {
  if (lane === 'full') return ''
  const all = filesOf('full', root)
  const kept = new Set(filesOf(lane, root))
  const left = all.filter((file) => !kept.has(file))
  const named = lane === 'main' ? `: ${left.join(', ')}` : ''
  return `left to ${lane === 'main' ? 'npm run test:full' : 'npm test and npm run test:full'}: ${left.length} of ${all.length} files${named}`
}

/** Which files share a process. Files that have one to themselves come first, those that cross the whole server before all others: they take longest. */
export function groupFiles(files: readonly string[]): string[][] {
  const isAlone = (file: string) => !begins(file, SHARED) || begins(file, ALONE)
  const depth = (file: string) => file.split(path.sep).length
  const alone = files.filter(isAlone).sort((one, other) => depth(one) - depth(other))
  const groups = SHARED.flatMap((folder) => {
    const members = files.filter((file) => file.startsWith(folder) && !isAlone(file))
    // Of even size: thirteen are five, five and three rather than six, six and one.
    const size = Math.ceil(members.length / Math.ceil(members.length / FILES_MAX))
    return Array.from({ length: Math.ceil(members.length / size) || 0 }, (_, at) => members.slice(at * size, (at + 1) * size))
  })
  return [...alone.map((file) => [file]), ...groups]
}
