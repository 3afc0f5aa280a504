import { readFileSync } from 'node:fs'
import t from 'tap'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const described = JSON.parse(read('api/docs/openapi.json'))

/** Names of all members that an answer may have, however deep. */
function membersOf(node: unknown, found = new Set<string>(), seen = new Set<string>()): Set<string> {
  if (node === null || typeof node !== 'object') return found
  const { $ref: reference, properties } = node as { $ref?: string; properties?: object }
  if (typeof reference === 'string' && !seen.has(reference)) {
    seen.add(reference)
    const at = reference.split('/').slice(1)
    membersOf(
      at.reduce((part, name) => part[name], described),
      found,
      seen,
    )
  }
  for (const name of Object.keys(properties ?? {})) found.add(name)
  for (const part of Object.values(node)) membersOf(part, found, seen)
  return found
}

t.test('the table of names has every answer with a name that others have given it, and no answer of ours has one', async (t) => {
  const rows = read('docs/plugins.md')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
  const listed = (member: string, path: string) =>
    rows
      .filter(([, name]) => name === `\`${member}\``)
      .flatMap(([, , where = '']) => [...where.matchAll(/`([^`]+)`( and below)?/g)])
      .some(([, root = '', below]) => root === path || (below !== undefined && path.startsWith(`${root}/`)))
  const paths = Object.entries(described.paths as Record<string, Record<string, { responses: unknown }>>)
  let count = 0
  for (const [path, operations] of paths)
    for (const [method, { responses }] of Object.entries(operations)) {
      const members = membersOf(responses)
      for (const member of ['pluginName', 'votes'].filter((name) => members.has(name))) {
        count += 1
        t.ok(listed(member, path), `${member} of ${method} ${path}`)
      }
    }
  t.ok(count > 10)
  t.same(
    [...membersOf(described.paths['/api/v1/series/{seriesId}/metadata/applications'])].filter((name) => /^plugin/.test(name)).toSorted(),
    [...['pluginDisplayName', 'pluginId', 'pluginKey']],
  )
})
