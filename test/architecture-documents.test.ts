import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('..', import.meta.url))
const DOCUMENTS = globSync(['*.md', 'docs/*.md', 'plugin-sdk/*.md'], { cwd: root })
const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')
/** A test file or a pattern of several, between backquotes. */
const TEST = /`(test\/[^`\s]+\.test\.ts)`/g

t.test('each test that a document names exists', (t) => {
  let count = 0
  for (const document of DOCUMENTS)
    for (const [, name = ''] of read(document).matchAll(TEST)) {
      count += 1
      if (globSync(name, { cwd: root }).length === 0) t.fail(`${document} names ${name}, which does not exist`)
    }
  t.ok(count > 30, `${count} names`)
  t.end()
})

t.test('each guarantee about plugins names its tests', (t) => {
  const [, guarantees = ''] = /^## Guarantees\n([\s\S]*?)^## /m.exec(read('docs/plugin-security.md')) ?? []
  const rows = guarantees.split('\n').filter((line) => line.startsWith('| **'))
  t.equal(rows.length, 8)
  for (const row of rows) t.match(row.split(' | ').at(-1), /`test\/\S+\.test\.ts`/, row.slice(0, 60))
  t.end()
})
