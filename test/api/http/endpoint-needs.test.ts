import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { reachable, readSources, sourcePaths } from '#test/support/architecture.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
/** Where routes of every kind are put together. */
const ALL = new Set(['api/routes.ts', 'api/komga/routes.ts', 'api/server.ts', 'api/compose.ts', 'api/compose-plugins.ts'])
/** A module that calls more than this does too much. */
const NAMED_MAX = 7

const AREA = String.raw`(?:Pick<\w+Services, [^>]+>|\b\w+Services\b(?!\[))`
const NEEDS = new RegExp(`${AREA}(?:\\s*&\\s*${AREA})*`, 'g')

/** The members of each interface in api/areas. */
const areas = new Map(
  globSync('api/areas/*.ts', { cwd: root }).map((file) => {
    const [, name = '', members = ''] = /export interface (\w+) \{\n([\s\S]*?)\n\}/.exec(readFileSync(`${root}/${file}`, 'utf8')) ?? []
    return [name, [...members.matchAll(/^ {2}(\w+):/gm)].map(([, member]) => member)]
  }),
)

t.test('modules of routes and views name the few services that they call', async (t) => {
  t.ok(areas.size >= 8 && [...areas.values()].every((members) => members.length > 0), 'the walk finds the areas')
  const files = globSync('api/{rest,opds,komga,koreader,events,views,docs}/**/*.ts', { cwd: root }).filter((file) => !ALL.has(file))
  t.ok(files.length > 90)
  let naming = 0
  for (const file of files) {
    const text = readFileSync(`${root}/${file}`, 'utf8')
    t.notMatch(
      text,
      /import .*\bServices\b.*http\/services/,
      `${file} takes the whole bag; name what it calls: Pick<DataServices, 'database'>`,
    )
    for (const [needs] of text.replaceAll(/^import .*$/gm, '').matchAll(NEEDS)) {
      const picked = [...needs.matchAll(/'\w+'/g)].length
      const whole = [...needs.replaceAll(/Pick<[^>]*>/g, '').matchAll(/\w+/g)].map(([name]) => areas.get(name)?.length ?? 0)
      naming += 1
      t.ok(picked + whole.reduce((sum, count) => sum + count, 0) <= NAMED_MAX, `${file} names ${needs}`)
    }
  }
  t.ok(naming > 60)
})

/** The files by whose types the smallest route is checked: itself, those of routes in general, and the caller. */
const SMALLEST_MAX = 12

t.test('the smallest route is typed against few files', async (t) => {
  const reached = reachable(readSources(root, sourcePaths(root)), 'api/rest/admin/info.ts')
  t.ok(reached.includes('api/http/endpoint.ts'), 'the walk follows imports of types')
  t.ok(reached.length <= SMALLEST_MAX, `it reaches ${reached.length} files: ${reached.join(', ')}`)
})
