import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { findCycles, findMisplaced, findViolations, ORDER, readSources, SOURCE_FOLDERS, sourcePaths } from '#test/support/architecture.ts'
import { findUnboundedKeys } from '#test/support/registers.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const TOP_LEVEL = new Set([
  ...SOURCE_FOLDERS,
  ...['web', 'docs', '.ci', '.git', 'node_modules', 'data', '.cache', '.tap'],
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'biome.json', '.taprc', '.editorconfig', '.gitignore', '.gitattributes'],
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'LICENSE', 'Dockerfile', '.dockerignore', 'compose.yaml'],
])

t.test('the code keeps its rules', async (t) => {
  const paths = sourcePaths(root)
  t.ok(paths.length > 20, 'the walk finds the code')
  const violations = findViolations(readSources(root, paths))
  t.same(violations, [], 'no rule of layout, naming or imports is broken')
})

t.test('no files import one another in a ring', async (t) => {
  const sources = readSources(root, sourcePaths(root))
  t.same(findCycles(sources), [], 'types included')
  const ring = [
    { path: 'core/catalog/a.ts', text: `import { b } from '#core/catalog/b.ts'` },
    { path: 'core/catalog/b.ts', text: `import type { A } from './a.ts'` },
  ]
  t.same(findCycles(ring), [['core/catalog/a.ts', 'core/catalog/b.ts', 'core/catalog/a.ts']])
})

t.test('a folder can be looked over, and what only one folder uses lies there', async (t) => {
  t.same(findMisplaced(readSources(root, sourcePaths(root))), [])
  const text = `import { x } from '#core/foundation/x.ts'`
  const user = (path: string) => ({ path, text })
  t.match(findMisplaced([user('core/scan/a.ts'), user('core/scan/b.ts'), user('test/core/tasks/c.ts')]), [/only core\/scan uses it/])
  t.same(findMisplaced([user('core/scan/a.ts'), user('core/tasks/c.ts')]), [])
  t.match(findMisplaced(Array.from({ length: 46 }, (_, at) => ({ path: `core/scan/${at}.ts`, text: '' }))), [/46 files/])
})

t.test('no cache and no register keeps keys as long as a client makes them', async (t) => {
  t.same(readSources(root, sourcePaths(root)).flatMap(findUnboundedKeys), [])
  const found = (text: string) => findUnboundedKeys({ path: 'core/catalog/book.ts', text }).length
  t.equal(found('const known = new Map<string, number>()'), 1)
  t.equal(found('class A {\n  readonly #known = new Set<string>()\n}'), 1)
  t.equal(found('export function openA() {\n  const known = new Map<string, A>()\n  return {}\n}'), 1)
  t.equal(found('function add(a: A) {\n  const all = of.get(a) ?? new Map<string, A>()\n}'), 1)
  t.equal(found('function sum(a: A) {\n  const counts = new Map<string, number>()\n}\nconst b = new Map<number, B>()'), 0)
})

t.test('the top level stays as it is', async (t) => {
  const strangers = readdirSync(root).filter((name) => !TOP_LEVEL.has(name))
  t.same(strangers, [], 'nothing new stands at the top level')
})

t.test('docs/architecture.md has the folders in the order that is enforced', async (t) => {
  const page = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8')
  for (const [folder, order] of Object.entries(ORDER)) {
    const present = order.filter((name) => name !== '' && existsSync(join(root, folder, name)))
    const rows = [...page.matchAll(new RegExp(`^\\| \`${folder}/([a-z-]+)/\``, 'gm'))].map(([, name]) => name)
    t.same(rows, present, folder)
  }
})

t.test('every test mirrors a source file', async (t) => {
  const sources = sourcePaths(root)
  const inBrowsers = globSync('web/src/**/*.{ts,tsx}', { cwd: root })
  const topics = new Set(
    [...sources.filter((path) => !path.startsWith('test/')), ...inBrowsers].map((path) => path.replace(/\.(tsx?|mjs|js)$/, '')),
  )
  // Suites that cross the whole house rather than one file of it.
  const crossing = /^test\/(architecture|end-to-end|bad-input|crash|faults|restricted-user)(-[a-z-]+)?\.test\.ts$/
  const orphans = sources
    .filter((path) => path.endsWith('.test.ts') && !crossing.test(path))
    .filter((path) => {
      const topic = path.slice('test/'.length, -'.test.ts'.length)
      if (sources.includes(`test/${topic}.ts`)) return false
      return !topics.has(topic) && ![...topics].some((source) => source.startsWith(`${topic}/`) || topic.startsWith(`${source}-`))
    })
  t.same(
    orphans,
    ['test/api/lifecycle.test.ts', 'test/workers/corpus.test.ts'].filter((path) => orphans.includes(path)),
  )
})

t.test('what answers are compared with lies in the repository', async (t) => {
  const outside = readSources(root, sourcePaths(root))
    .filter(({ path, text }) => path !== 'test/architecture.test.ts' && /shared\/(contract|spec)\b/.test(text))
    .map(({ path }) => path)
  t.same(outside, [], 'tests say the same on every machine')
  for (const name of ['schemas.json', 'interface-reference.md', 'opds']) t.ok(existsSync(join(root, 'test/contract', name)), name)
})

t.test('broken rules of layout, naming and imports are found', async (t) => {
  const cases: [path: string, text: string, complaint: RegExp][] = [
    ['core/catalog/book.ts', `import { x } from '#api/main.ts'`, /core\/ may import nothing of ours/],
    ['core/scan/scans.ts', `import { x } from '#core/conditions/condition.ts'`, /only the program of an isolate/],
    ['core/catalog/book.ts', `import { x } from '../../workers/zip.ts'`, /core\/ may import nothing of ours/],
    ['core/catalog/book.ts', `import knex from 'knex'`, /only .* may/],
    ['api/rest/catalog/books.ts', `import { openPool } from '#workers/pool/pool.ts'`, /api\/ may import core, plugins/],
    ['workers/formats/zip/zip.ts', `import sharp from 'sharp'`, /only .* may/],
    ['workers/formats/zip/zip.ts', `const s = await import('sharp')`, /only .* may/],
    ['plugin-sdk/index.ts', `export * from '#core/foundation/errors.ts'`, /plugin-sdk\/ may import nothing of ours/],
    ['core/catalog/book-helper.ts', '', /the name says nothing/],
    ['core/foundation/text-utils.ts', '', /the name says nothing/],
    ['core/catalog/book.ts', 'const home = process.env.HOME', /reads process\.env/],
    ['core/catalog/book.ts', '\n'.repeat(500), /the limit is 400/],
    ['core/catalog/book.js', '\n'.repeat(500), /the limit is 400/],
    ['core/catalog/book.js', 'const one = 1', /begins without \/\/ @ts-check/],
    ['core/catalog/record.ts', `await trx('books').delete()`, /SQL belongs into/],
    ['api/rest/catalog/books.ts', 'await database.raw(`SELECT 1`)', /SQL belongs into/],
  ]
  for (const [path, text, complaint] of cases)
    t.match(findViolations([{ path, text }]).join('; '), complaint, `${path}: ${text.trim().slice(0, 50)}`)

  const fine: [path: string, text: string][] = [
    ['core/analysis/book-store.ts', `import knex from 'knex'`],
    ['core/catalog/record.ts', `import type { Knex } from 'knex'`],
    ['api/main.ts', `import { openPool } from '#workers/pool/pool.ts'`],
    ['workers/images/image.ts', `import sharp from 'sharp'`],
    ['api/rest/catalog/books.ts', `import { x } from '#core/catalog/book.ts'\nimport { readFile } from 'node:fs/promises'`],
  ]
  for (const [path, text] of fine) t.same(findViolations([{ path, text }]), [], `${path} may`)
})
