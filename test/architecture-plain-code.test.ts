import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readSources, sourcePaths } from '#test/support/architecture.ts'
import { findForcedCasts, findIdleOpeners, findSharedNames, findSpreadLiterals, findTwins } from '#test/support/plain-code.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The folders of the product, which keep these rules. */
const FOLDERS = /^(api|core|plugin-sdk|plugins|workers)\//
/** Names that several files of one program export, and why both are right. */
const SHARED_NAMES: Readonly<Record<string, string>> = {}

const sources = readSources(
  root,
  sourcePaths(root).filter((path) => FOLDERS.test(path) && !path.endsWith('.d.ts')),
)

t.test('no literal is spread only to keep its members on one line', async (t) => {
  t.ok(sources.length > 200, 'the walk finds the code')
  t.same(sources.flatMap(findSpreadLiterals), [])
})

t.test('what is called open… opens something that must be closed', async (t) => {
  t.same(sources.flatMap(findIdleOpeners), [])
})

t.test('no interface stands beside the one class that implements it', async (t) => {
  t.same(sources.flatMap(findTwins), [])
})

t.test('a cast that the compiler cannot check says why it is right', async (t) => {
  t.same(sources.flatMap(findForcedCasts), [])
})

t.test('no two files of one program export the same name', async (t) => {
  t.same(findSharedNames(sources, SHARED_NAMES), [])
})

t.test('the checks of plain code bite', async (t) => {
  const file = (text: string, path = 'core/a.ts') => ({ path, text })
  const spreads = (text: string) => findSpreadLiterals(file(text)).length
  t.equal(spreads('const a = { ...{ b: 1, c: 2 }, d: 3 }'), 1)
  t.equal(spreads('const a = [...[1, 2], 3]\nf(...[a])'), 2)
  t.equal(spreads('const a = { ...b, ...(c && { d: 1 }) }\nconst e = [...[1].map(String), ...f]'), 0)
  const openers = (text: string) => findIdleOpeners(file(text)).length
  t.equal(openers('export function openA(b: B): A {\n  return new A(b)\n}'), 1)
  t.equal(openers('export const openA = (b: B): A => new A(b)'), 1)
  t.equal(openers('export function openA(): A {\n  const a = new A()\n  a.start()\n  return a\n}\nconst newA = () => new A()'), 0)
  const twins = (text: string) => findTwins(file(text)).length
  t.equal(twins('export interface A<T> {\n  b(): T\n}\nclass RealA<T> implements A<T> {\n}'), 1)
  t.equal(twins("import type { A } from './a.ts'\nclass RealA implements A {\n}"), 0)
  const casts = (text: string) => findForcedCasts(file(text)).length
  t.equal(casts('const a = b as unknown as C\nf(d as never)'), 2)
  t.equal(casts('// The schema has checked it.\nconst a = b as never\n/** Counts as unknown. */'), 0)
  const one = file('export const one = 1\nexport type one = 1')
  t.same(findSharedNames([one, file('export function one() {}', 'core/b.ts')], {}), ['one: core/a.ts, core/b.ts'])
  t.same(findSharedNames([one, file('const one = 1', 'core/b.ts')], {}), [])
  t.same(findSharedNames([one, file('export class one {}', 'core/b.ts')], { one: 'they are the same' }), [])
  const shared = (...paths: string[]) =>
    findSharedNames(
      paths.map((path) => file('export const one = 1', path)),
      {},
    )
  const programs = [
    'plugin-sdk/a.ts',
    'plugins/bundled/a/a.ts',
    'plugins/bundled/b/a.ts',
    'plugins/runtime/guest/a.ts',
    'plugins/templates/guest/a.ts',
  ]
  t.same(shared('core/a.ts', ...programs), [], 'each program has its own names')
  for (const path of programs) t.same(shared(path, path.replace('a.ts', 'c.ts')), [`one: ${path}, ${path.replace('a.ts', 'c.ts')}`])
  t.same(shared('core/a.ts', 'plugins/templates/a.ts'), ['one: core/a.ts, plugins/templates/a.ts'], 'the server is one program')
})
