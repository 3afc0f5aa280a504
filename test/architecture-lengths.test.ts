import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readSources, sourcePaths } from '#test/support/architecture.ts'
import { findTooLong } from '#test/support/lengths.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
t.test('no function is longer than a screen, no class longer than a few', async (t) => {
  // Migrations are tables, and tests and benches read from top to bottom.
  const paths = sourcePaths(root).filter((path) => !/^(test|bench|migrations)\//.test(path))
  t.ok(paths.length > 500, `${paths.length} files`)
  t.same(readSources(root, paths).flatMap(findTooLong), [])
})

t.test('long ones are found wherever they stand', async (t) => {
  const lines = (count: number) => 'f()\n'.repeat(count)
  const found = (text: string) => findTooLong({ path: 'core/a.ts', text }).length
  t.equal(found(`function a(x: number): void {\n${lines(58)}}`), 0)
  t.equal(found(`function a(x: number): void {\n${lines(59)}}`), 1)
  t.equal(found(`const a = <T>(x: T) => {\n${lines(59)}}`), 1)
  t.equal(found(`class A {\n  private readonly x: string = ''\n  a() {\n${lines(59)}}\n}`), 1)
  t.equal(found(`class A {\n${'  a() {}\n'.repeat(249)}}`), 1)
  t.equal(found(`const a = {\n${'  a: 1,\n'.repeat(90)}}`), 0, 'a table')
  t.equal(found(`function a() {\n  return () => {\n${lines(59)}}\n}`), 2, 'a nested one and what holds it')
})
