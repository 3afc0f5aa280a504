import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t from 'tap'
import { describeRoutes, isDescribed } from '#api/docs/openapi.ts'
import { EXAMPLE_FOLDER, EXAMPLE_IDS, EXAMPLES, type Example } from '#api/docs/openapi-examples.ts'
import { describedPath } from '#api/http/route-path.ts'
import { routes } from '#api/routes.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

const described = JSON.parse(JSON.stringify(describeRoutes(routes)))
const ajv = new Ajv2020({ strict: false, validateSchema: false, code: { optimize: false } })
addFormats.default(ajv)
ajv.addSchema({ $id: 'api', ...described })

interface Operation {
  parameters?: { name?: string; in?: string; $ref?: string; example?: unknown }[]
  requestBody?: { content: Record<string, { example?: unknown }> }
  responses: Record<string, { content?: Record<string, { example?: unknown }> }>
}

const operations = new Map(
  routes.filter(isDescribed).map((route) => {
    const path = describedPath(route.path)
    return [route.name, { path, method: route.method, operation: described.paths[path][route.method.toLowerCase()] as Operation }]
  }),
)
const pointer = (...parts: string[]) =>
  `api#/${parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`

interface Part {
  $ref?: string
  name?: string
  example?: unknown
  content?: Record<string, { example?: unknown }>
}

/** A part of the document that stands there itself, or is a component of it. */
function resolved(place: readonly string[]): { place: string[]; part: Part } {
  const part = place.reduce((node, name) => node?.[name], described) as Part | undefined
  if (part?.$ref === undefined) return { place: [...place], part: part ?? {} }
  return resolved(part.$ref.split('/').slice(1))
}

/** What is wrong with a value by the schema that the document has for an answer or a request. */
function complaintsOf(name: string, place: readonly string[], value: unknown): string[] {
  const { path, method } = operations.get(name)!
  const found = resolved(['paths', path, method.toLowerCase(), ...place])
  const validate = ajv.compile({ $ref: pointer(...found.place, 'content', 'application/json', 'schema') })
  validate(value)
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

/** The members of a value and of what is in it; of a list those of its first entry. */
function membersOf(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.length > 0 ? membersOf(value[0], `${at}/0`) : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [`${at}/${name}`, ...membersOf(member, `${at}/${name}`)])
}

t.test('examples stand in the document, and have the shapes that it describes', async (t) => {
  for (const [name, example] of Object.entries(EXAMPLES)) {
    const found = operations.get(name)
    if (!found) {
      t.fail(`there is no operation ${name}`)
      continue
    }
    const { operation } = found
    const at = ['paths', found.path, found.method.toLowerCase()]
    const parameters = (operation.parameters ?? []).map((_, index) => resolved([...at, 'parameters', String(index)]).part)
    for (const [parameter, value] of Object.entries(example.parameters ?? {})) {
      t.equal(parameters.find((one) => one.name === parameter)?.example, value, `${name}: ${parameter}`)
    }
    if (example.body !== undefined) {
      t.same(operation.requestBody?.content['application/json']?.example, example.body, name)
      t.same(complaintsOf(name, ['requestBody'], example.body), [], `${name}: the body`)
    }
    if (example.answer === undefined) continue
    t.same(resolved([...at, 'responses', String(example.status)]).part.content?.['application/json']?.example, example.answer, name)
    t.same(complaintsOf(name, ['responses', String(example.status)], example.answer), [], `${name}: the answer`)
  }
})

t.test('each of them is sent to a server, which answers what the document says', async (t) => {
  const { url, adminToken, database, folder } = await openComposedServer(t)
  const library = await addLibrary(database, { name: 'Books', path: folder })
  const series = await addSeries(database, { library_id: library, title: 'Saga' })
  const book = await addBook(database, { library_id: library, series_id: series, title: 'Saga 1', page_count: 44 })
  await addBook(database, { library_id: library, series_id: series, title: 'Saga 2', page_count: 44 })
  const real: Record<string, string> = {
    [EXAMPLE_IDS.library]: library,
    [EXAMPLE_IDS.series]: series,
    [EXAMPLE_IDS.book]: book,
    [EXAMPLE_FOLDER]: t.testdir({ Comics: {} }),
  }
  const withReal = (text: string) => Object.entries(real).reduce((known, [example, id]) => known.replaceAll(example, id), text)

  const send = async (name: string, { parameters = {}, body }: Example) => {
    const { path, method } = operations.get(name)!
    const isInPath = (parameter: string) => path.includes(`{${parameter}}`)
    const query = new URLSearchParams()
    for (const [key, value] of Object.entries(parameters)) if (!isInPath(key)) query.set(key, String(value))
    const address = path.replace(/\{(\w+)\}/g, (_, parameter: string) => encodeURIComponent(String(parameters[parameter])))
    const answer = await fetch(withReal(`${url}${address}${query.size > 0 ? `?${query}` : ''}`), {
      method,
      headers: { authorization: `Bearer ${adminToken}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: withReal(JSON.stringify(body)) }),
    })
    return { status: answer.status, json: (await answer.json()) as unknown }
  }
  for (const [name, example] of Object.entries(EXAMPLES)) {
    const { status, json } = await send(name, example)
    t.equal(status, example.status, name)
    t.same(complaintsOf(name, ['responses', String(status)], json), [], `${name}: the answer of the server`)
    if (example.answer === undefined) continue
    const answered = new Set(membersOf(json))
    const missing = membersOf(example.answer).filter((member) => !answered.has(member))
    t.same(missing, [], `${name}: the example has no member that the server does not answer`)
  }
})
