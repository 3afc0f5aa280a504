import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/**
 * Starting a process and loading the server takes a second of a core, and most files need little more than that. So the whole suite runs files of
 * one room together: a file in the cache has them run one after the other, each as it runs by itself, but in the same process.
 */
const ROOMS = ['test/core/', 'test/api/http/', 'test/api/rest/catalog/', 'test/plugins/', 'test/workers/']
/** What needs a process to itself: it stops PostgreSQL, starts and counts processes, burns what it can get, bounds the most memory that it ever had, or takes as long as a batch. */
const ALONE = [
  'test/core/database/embedded-postgres.test.ts',
  'test/plugins/runtime/',
  'test/plugins/packages/',
  'test/plugins/devkit/',
  'test/workers/corpus.test.ts',
  'test/workers/pool/pool.test.ts',
]
/** So that no batch takes much longer than the longest single file. */
const FILES_MAX = 6
/** Of a file that does not say how long it takes; as in .taprc. */
const FILE_MS_MAX = 300_000

/** Arranges all test files for the runner. Answers paths from the root: of files, and of batches in the cache. */
export function arrangeFiles(root: string): string[] {
  const files = globSync('test/**/*.test.ts', { cwd: root }).sort()
  const folder = path.join('.cache', 'batches')
  rmSync(path.join(root, folder), { recursive: true, force: true })
  mkdirSync(path.join(root, folder), { recursive: true })
  const isAlone = (file: string) => !ROOMS.some((room) => file.startsWith(room)) || ALONE.some((one) => file.startsWith(one))
  const batches = ROOMS.flatMap((room) => {
    const members = files.filter((file) => file.startsWith(room) && !isAlone(file))
    // Of even size: thirteen are five, five and three rather than six, six and one.
    const size = Math.ceil(members.length / Math.ceil(members.length / FILES_MAX))
    return Array.from({ length: Math.ceil(members.length / size) }, (_, index) => {
      const name = path.join(folder, `${room.replace('test/', '').replaceAll('/', '-')}${index + 1}.test.ts`)
      writeFileSync(path.join(root, name), batchOf(members.slice(index * size, (index + 1) * size)))
      return name
    })
  })
  // tap brings them into an order of its own.
  return [...batches, ...files.filter(isAlone)]
}

// The tests of a file stand below its name. Loading the next one is a test as well, that comes after them: tap ends as soon as there is none.
const batchOf = (files: readonly string[]): string => `import t from 'tap'

const files = ${JSON.stringify(files, null, 2)}

const load = (at) =>
  t.test(files[at], async () => {
    t.setTimeout(${FILE_MS_MAX})
    await import('../../' + files[at])
    if (at + 1 < files.length) load(at + 1)
  })
load(0)
`
