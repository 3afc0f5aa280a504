import t from 'tap'
import { routes } from '#api/routes.ts'
import { openShelves } from '#test/support/shelves.ts'

interface Shape {
  type?: string
  format?: string
  pattern?: string
  enum?: unknown[]
  items?: Shape
  anyOf?: Shape[]
  properties?: Record<string, Shape>
}

const NAMES = /^(name|title|label|titleSort|sortName|subtitle|publisher|imprint|comment)$/

/** Written by apps, not by people: a place in a book as its chapter calls it, and links whose label readLinks checks. */
const OTHERS = /(progression|annotationId) \/(device\/name|locator\/title)$|\/metadata \/links\/0\/label$/

/** The members of a request body that are called like a name, with the schema of their text. */
function namesIn(shape: Shape, path = ''): [path: string, text: Shape][] {
  const below = Object.entries(shape.properties ?? {}).flatMap(([name, member]) => {
    const own = NAMES.test(name) ? [member, ...(member.anyOf ?? [])].filter(({ type }) => type === 'string') : []
    return [...own.map((text): [string, Shape] => [`${path}/${name}`, text]), ...namesIn(member, `${path}/${name}`)]
  })
  const choices = (shape.anyOf ?? []).flatMap((choice) => namesIn(choice, path))
  return [...below, ...choices, ...(shape.items ? namesIn(shape.items, `${path}/0`) : [])]
}

t.test('every name in a request has the format of names', async (t) => {
  const other = routes.flatMap((route) => {
    const body = route.kind === 'endpoint' ? (route.body as Shape | undefined) : undefined
    if (!body) return []
    return namesIn(body)
      .filter(([, text]) => text.format !== 'name' && text.pattern === undefined && text.enum === undefined)
      .map(([path]) => `${route.method} ${route.path} ${path}`)
      .filter((place) => !OTHERS.test(place))
  })
  t.same(other, [])
})

const BAD = ['a\nb', 'a\u001b[31mb', '\u200b', 'a\u202eb', 'a\u2028b', '\u3164']

t.test('names with control characters, or with invisible characters alone, are refused', async (t) => {
  const { ask, batman, one } = await openShelves(t)
  const requests = (name: string): [method: string, path: string, body: unknown][] => [
    ['POST', '/api/v1/collections', { name }],
    ['POST', '/api/v1/read-lists', { name }],
    ['POST', '/api/v1/admin/sharing-tags', { name }],
    ['POST', '/api/v1/api-keys', { name }],
    ['POST', `/api/v1/series/${batman}/tags`, { name }],
    ['PUT', `/api/v1/series/${batman}/genres`, { genres: [name] }],
    ['POST', `/api/v1/books/${one}/tags`, { name }],
    ['POST', '/api/v1/books/bulk/tags', { bookIds: [one], add: [name] }],
    ['POST', `/api/v1/series/${batman}/alternate-titles`, { label: 'Japanese', title: name }],
    ['PATCH', `/api/v1/series/${batman}`, { title: name }],
    ['PATCH', `/api/v1/books/${one}`, { title: name }],
    ['PATCH', `/api/v1/series/${batman}/metadata`, { titleSort: name }],
    ['PATCH', `/api/v1/books/${one}/metadata`, { publisher: name }],
    ['PATCH', `/api/v1/books/${one}/metadata`, { authors: [{ name, role: 'writer' }] }],
    ['PATCH', `/api/v1/books/${one}/metadata`, { writer: name }],
  ]
  for (const name of BAD) {
    for (const [method, path, body] of requests(name)) {
      const { status, json } = await ask<{ message: string }>(method, path, body)
      t.equal(status, 422, `${method} ${path} ${encodeURI(name)} in ${Object.keys(body as object)}`)
      t.match(json.message, /must be one line with a visible character, without control characters/)
    }
  }
  t.equal((await ask('POST', '/api/v1/collections', { name: 'Ünïcode 🐉 \u200fא' })).status, 201)
})

t.test('other texts keep their lines', async (t) => {
  const { ask, batman } = await openShelves(t)
  const summary = 'one\n\ttwo'
  t.match(await ask('PATCH', `/api/v1/series/${batman}/metadata`, { summary }), { status: 200, json: { summary } })
})
