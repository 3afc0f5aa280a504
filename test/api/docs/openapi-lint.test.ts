import { createConfig, lintFromString } from '@redocly/openapi-core'
import t from 'tap'
import { describeRoutes } from '#api/docs/openapi.ts'
import { TAGS } from '#api/docs/openapi-tags.ts'
import { routes } from '#api/routes.ts'

/** Rules of the linter that do not fit, with why. */
const OTHERWISE = {
  // `/books/errors` beside `/books/{bookId}`: addresses without parameters come first, here as in OpenAPI (3.1, Path Templating).
  'no-ambiguous-paths': 'off',
  // What is refused is alike everywhere: every operation has it as `default`, which tells the statuses. Said for each status it is a quarter of the document.
  'operation-4xx-response': 'off',
} as const

const lint = async (document: object) => {
  const config = await createConfig({ extends: ['recommended'], rules: OTHERWISE })
  const problems = await lintFromString({ source: JSON.stringify(document), config })
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer})`)
}

t.test('a public linter finds nothing to say about the document', async (t) => {
  t.same(await lint(describeRoutes(routes)), [])
})

t.test('the linter finds a fault that is put into the document', async (t) => {
  const { components, ...rest } = describeRoutes(routes.filter((route) => route.name === 'getBook'))
  const { Book: _, ...schemas } = components.schemas
  t.match((await lint({ ...rest, components: { ...components, schemas } })).join('\n'), /no-unresolved-refs.*Book/)
  t.match((await lint({ ...rest, components, servers: [] })).join('\n'), /no-empty-servers/)
})

t.test('every tag says what it is about', async (t) => {
  t.same(
    [...new Set(routes.map(({ tag }) => tag))].filter((tag) => TAGS[tag] === undefined),
    [],
    'it has a line in api/docs/openapi-tags.ts',
  )
})
