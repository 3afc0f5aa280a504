import { readFileSync } from 'node:fs'
import t from 'tap'
import { routes } from '#api/routes.ts'
import { findInterfaceReference, nameOfRoute } from '#test/support/interface-reference.ts'

const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')

/** What a route answers when all is well. */
function statusesOf(route: (typeof routes)[number]): string {
  if (route.kind === 'stream') return '200'
  return [route.status ?? 200, ...(route.mayCreate ? [201] : [])].join(', ')
}

t.test('docs/api.md lists every route that answers another status than the interface reference says', async (t) => {
  const { statuses } = findInterfaceReference()
  const differing = routes.flatMap((route) => {
    const name = nameOfRoute(route.method, route.path)
    const theirs = statuses.get(name)
    const ours = statusesOf(route)
    return theirs === undefined || theirs === ours ? [] : [`| \`${name}\` | ${theirs} | ${ours} |`]
  })
  const [, table = ''] = page.split(/<!-- \/?statuses -->/)
  const listed = table.split('\n').filter((line) => line.startsWith('| `'))
  t.same(listed.toSorted(), differing.toSorted())
  t.ok(differing.length > 10, 'the reference was read')
})
