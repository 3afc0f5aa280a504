// Says which tests of an earlier revision are in no lane any more: node_modules/.bin/node test/lost-names.ts REVISION
// Names are read from the sources: what a lane leaves out has its name there all the same. A test that is renamed counts as lost until somebody has looked.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { filesOf } from '#test/support/lanes.ts'

const root = path.resolve(import.meta.dirname, '..')
const OUTPUT_BYTES_MAX = 64 * 1024 ** 2
/** `t.test('name'`, on one line or two, with a template for each of several. */
const NAME = /\btest\(\s*(['"`])((?:\\.|(?!\1).)+)\1/gs

const git = (...words: string[]) => execFileSync('git', words, { cwd: root, encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX })
const namesIn = (text: string) => [...text.matchAll(NAME)].map(([, , name]) => name as string)

const [revision] = process.argv.slice(2)
if (revision === undefined) {
  console.error('Which revision? For example: node_modules/.bin/node test/lost-names.ts HEAD~1')
  process.exit(1)
}
const before = git('ls-tree', '-r', '--name-only', revision, 'test')
  .split('\n')
  .filter((file) => file.endsWith('.test.ts'))
const now = new Set(filesOf('full', root))
const lost = before.filter((file) => !now.has(file))
let count = 0
for (const file of before.filter((each) => now.has(each))) {
  const names = new Set(namesIn(readFileSync(path.join(root, file), 'utf8')))
  for (const name of namesIn(git('show', `${revision}:${file}`))) {
    count += 1
    if (!names.has(name)) lost.push(`${file}: ${name}`)
  }
}
for (const one of lost) console.log(`lost: ${one}`)
console.log(`${before.length} files and ${count} names of tests in ${revision}: ${lost.length} lost`)
process.exit(lost.length === 0 ? 0 : 1)
