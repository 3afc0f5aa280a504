import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readSources, sourcePaths } from '#test/support/architecture.ts'
import { findForeignEndings, findShortTitles, findUnexplainedPauses, findUnmarkedCosts } from '#test/support/test-rules.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const files = readSources(
  root,
  sourcePaths(root).filter((path) => path.startsWith('test/')),
)
const tests = files.filter(({ path }) => path.endsWith('.test.ts'))
/** Burns CPU time so that there is some, and compares none. */
const BURNING = 'test/plugins/runtime/runner/call-budgets.test.ts'

t.test('a test that measures CPU time or the heap runs only in the lane of costs', async (t) => {
  t.ok(tests.length > 300, `${tests.length} files`)
  t.same(tests.filter(({ path }) => path !== BURNING).flatMap(findUnmarkedCosts), [])
})

t.test('a measuring test without its option is found, whatever it measures by', async (t) => {
  const found = (text: string) => findUnmarkedCosts({ path: 'test/a.test.ts', text }).length
  // Not written out: the rule reads this file too.
  const begin = ['t.test', "('It is fast', "].join('')
  const imported = "import { threadCpuMs, watchTurns } from '#test/support/cpu-time.ts'\n"
  t.equal(found(`${imported}${begin}async () => {\n  threadCpuMs()\n})\n`), 1)
  t.equal(found(`${imported}${begin}onlyCost, async () => {\n  threadCpuMs()\n})\n`), 0)
  t.equal(found(`${imported}${begin}async () => {\n  soon()\n})\n\nfunction soon() {\n  watchTurns()\n}\n`), 1, 'by a function of the file')
  t.equal(found(`${begin}async () => {\n  process.cpuUsage()\n})\n`), 1)
  t.equal(found(`${begin}async () => {\n  process.memoryUsage().rss\n})\n`), 0, 'all memory has generous bounds')
})

t.test('a long pause says beside it why it is so long', async (t) => {
  t.same(files.flatMap(findUnexplainedPauses), [])
  const found = (...lines: string[]) => findUnexplainedPauses({ path: 'test/a.ts', text: lines.join('\n') }).length
  const long = ['await sleep', '(1_500)'].join('')
  t.equal(found('', long), 1)
  t.equal(found('', ['setTimeout', '(resolve, 200)'].join('')), 1)
  t.equal(found('// Longer than the limit.', long), 0)
  t.equal(found('', 'await sleep(20)'), 0)
  t.equal(found('', `while (!done) ${long}`), 0, 'between two looks')
})

/** Has a PostgreSQL of its own. */
const ALONE = 'test/faults-own-database.test.ts'

t.test('a test ends connections to its own database only', async (t) => {
  t.same(files.filter(({ path }) => path !== ALONE).flatMap(findForeignEndings), [])
  const found = (where: string) =>
    findForeignEndings({ path: 'test/a.test.ts', text: ['`SELECT pg_', 'terminate_backend(pid) FROM pg_locks', where, '`'].join('') })
      .length
  t.equal(found(` WHERE locktype = 'advisory'`), 1)
  t.equal(found(` WHERE datname = current_database()`), 0)
})

/** They hold tests of others as texts. */
const QUOTING = [
  ...['test/plugin-sdk/testing.test.ts', 'test/plugins/devkit/credentials-file.test.ts', 'test/plugins/devkit/allow-local.test.ts'],
  ...['test/plugins/devkit/test-command.test.ts', 'test/support/error-domain.test.ts'],
]

t.test('the title of a test can be read alone', async (t) => {
  t.same(tests.filter(({ path }) => !QUOTING.includes(path)).flatMap(findShortTitles), [])
  const found = (title: string) =>
    findShortTitles({ path: 'test/a.test.ts', text: ["t.test('", title, "', async () => {})"].join('') }).length
  t.equal(found('limits'), 1)
  t.equal(found('the limits of a body are told'), 0)
})
