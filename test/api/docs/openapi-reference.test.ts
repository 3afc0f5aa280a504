import { readFileSync } from 'node:fs'
import t from 'tap'
import { describeRoutes, type OpenApi } from '#api/docs/openapi.ts'
import { routes } from '#api/routes.ts'
import { findInterfaceReference, readReference } from '#test/support/interface-reference.ts'
import { listDifferences } from '#test/support/reference-differences.ts'

const described: OpenApi = JSON.parse(JSON.stringify(describeRoutes(routes)))
const page = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8')

t.test('docs/api.md lists every shape that differs from the interface reference, with the reason', async (t) => {
  const [, table = ''] = page.split(/<!-- \/?shapes -->/)
  const rows = table.split('\n').filter((line) => line.startsWith('| `'))
  const listed = rows.map((row) => row.split(' | ').map((cell) => cell.replaceAll(/^\| `|`$| \|$/g, '')))
  for (const [name, , why] of listed) t.ok(why && why.length > 5, `${name} has its reason`)
  t.same(
    listed.map(([name, what]) => `${name} ${what}`).toSorted(),
    [...listDifferences(findInterfaceReference(), described)].map((difference) => difference.join(' ')).toSorted(),
  )
})

t.test('a difference to the reference is found', async (t) => {
  const text = [
    '| GET | /api/v1/gone |  |  | 200 |',
    '| GET | /api/v1/genres | page?: string; color?: string |  | 200 ThingDto |',
    '| POST | /api/v1/genres/cleanup |  | ThingDto | 200 TaxonomyCleanupResponse |',
    '| PUT | /api/v1/series/{id}/genres |  | WordDto | 200 NamesDto |',
    '- `ThingDto`: `{ name: string; page: string }`',
    '- `TaxonomyCleanupResponse`: `{ deletedCount: string; deletedNames: string[] }`',
    '- `WordDto`: `{ genres: int32 }`',
    '- `NamesDto`: `{ genres: ({ name: "a" })[] }`',
  ].join('\n')
  t.same(Object.fromEntries(listDifferences(readReference(text), described)), {
    'GET /api/v1/gone': 'is not there',
    'GET /api/v1/genres ?page': 'cannot be string',
    'GET /api/v1/genres ?color': 'is not there',
    'ThingDto.name': 'is not there',
    'ThingDto.page': 'may be integer',
    'POST /api/v1/genres/cleanup': 'request is no JSON',
    'TaxonomyCleanupResponse.deletedCount': 'may be integer',
    'WordDto.genres': 'cannot be integer',
  })
})
