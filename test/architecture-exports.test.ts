import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readSources, type SourceFile, sourcePaths } from '#test/support/architecture.ts'
import { findUnusedExports } from '#test/support/exports.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Read by a program and not by an import: jobs that the pool calls by name, what a build reads, and a type that only makes the compiler compare two others. */
const USED_BY_NAME =
  /^workers\/pool\/thread\.ts: |^plugins\/host\/results\.ts: SdkAnswers$|^plugins\/runtime\/guest\/(prelude\.ts: start|web\/main\.ts: installWeb|web\/host-name\.ts: toASCII)$/

t.test('every export is imported by another file', async (t) => {
  const sources = readSources(root, sourcePaths(root))
  t.same(
    findUnusedExports(sources).filter((name) => /^(api|core|plugins|workers)\//.test(name) && !USED_BY_NAME.test(name)),
    [],
  )
})

t.test('an export without an import is found', async (t) => {
  const found = (text: string, other = '') =>
    findUnusedExports([{ path: 'core/a.ts', text }, { path: 'core/b.ts', text: other } satisfies SourceFile])
  t.same(found('export const one = 1\nexport type Two = 2\nconst three = 3\n'), ['core/a.ts: one', 'core/a.ts: Two'])
  t.same(found('export const one = 1\nexport interface Two {}\n', "import { one as first, type Two } from '#core/a.ts'\n"), [])
  t.same(found('export function one() {}\n', "import * as a from './a.ts'\na.one()\n"), [])
  t.same(found('export async function one() {}\n', "const { one } = await import('./a.ts')\n"), [])
  t.same(found('export class One {}\n', "/** @type {import('./a.ts').One} */\n"), [])
  t.same(found('export const one = 1\n', "export { one } from './a.ts'\n"), ['core/b.ts: one'])
})
