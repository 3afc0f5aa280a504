import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../../..', import.meta.url))
/** Where routes of every kind are put together. */
const ALL = new Set(['api/routes.ts', 'api/komga/routes.ts', 'api/server.ts', 'api/compose.ts', 'api/compose-plugins.ts'])
/** A module that calls more than this does too much. */
const NAMED_MAX = 6

t.test('modules of routes and views name the few services that they call', async (t) => {
  const files = globSync('api/{rest,opds,komga,koreader,events,views,docs}/**/*.ts', { cwd: root }).filter((file) => !ALL.has(file))
  t.ok(files.length > 90)
  let naming = 0
  for (const file of files) {
    const text = readFileSync(`${root}/${file}`, 'utf8')
    t.notMatch(text, /import .*\bServices\b.*http\/services/, `${file} takes the whole bag; name what it calls: Needs<'database'>`)
    for (const [, names = ''] of text.matchAll(/Needs<([^>]*)>/g)) {
      naming += 1
      t.ok(names.split('|').length <= NAMED_MAX, `${file} names ${names}`)
    }
  }
  t.ok(naming > 60)
})
