import t from 'tap'
import { komgaRoutes } from '#api/komga/routes.ts'
import { openKomgaServer, setSetting } from '#test/support/komga-server.ts'

interface Listed {
  content: { id: string; seriesId: string; libraryId: string }[]
  totalElements: number
}
interface Refused {
  violations: { fieldName: string; message: string }[]
}

const NOBODY = '00000000-0000-4000-8000-000000000000'
/** An id of Komga. */
const STRANGE = '0B2XKQW3T1ABC'

const totalOf = (json: Listed | unknown[]): number => (Array.isArray(json) ? json.length : json.totalElements)

/** The query parameters that are texts, of all lists of the API; routes with other parameters in their path are no lists. */
function listParameters(named: Readonly<Record<string, string>>) {
  return komgaRoutes.flatMap(({ kind, method, path, query }) => {
    const { properties = {} } = (query ?? {}) as { properties?: Record<string, { type?: string }> }
    const address = path.replace(/:(\w+)/g, (whole, name: string) => named[name] ?? whole)
    if (kind !== 'endpoint' || method !== 'GET' || address.includes(':')) return []
    return Object.entries(properties)
      .filter(([, { type }]) => type === 'string' || type === 'array')
      .map(([name, { type }]) => ({ address, name, isList: type === 'array' }))
  })
}

// Several hundred requests.
t.setTimeout(300_000)
t.test('filters of lists take any text as an id, and their errors name the parameter', async (t) => {
  const komga = await openKomgaServer(t)
  const { ask, server } = komga
  await setSetting(komga, 'compatibilityApi.enabled', 'true')
  const get = <T>(path: string) => ask<T>('GET', path, { headers: server.headers })
  const post = <T>(path: string, body: object) => ask<T>('POST', `/komga/api/v1/${path}`, { headers: server.headers, body })
  const [book] = (await get<Listed>('/komga/api/v1/books?search=Issue')).json.content as [Listed['content'][0]]
  const { seriesId, libraryId } = book
  const collectionId = (await post<{ id: string }>('collections', { name: 'Best', ordered: false, seriesIds: [seriesId] })).json.id
  const readListId = (await post<{ id: string }>('readlists', { name: 'Next', ordered: true, bookIds: [book.id] })).json.id
  const parameters = listParameters({ prefix: 'komga', bookId: book.id, seriesId, libraryId, collectionId, readListId })

  await t.test('an id that is no id of this server matches nothing, in every id parameter of every list', async (t) => {
    const known: Record<string, string> = {
      ...{ library_id: libraryId, series_id: seriesId },
      ...{ collection_id: collectionId, readlist_id: readListId },
    }
    const found = new Set<string>()
    for (const { address, name, isList } of parameters.filter((one) => /(^|_)ids?$/.test(one.name))) {
      const at = (value: string) => get<Listed | unknown[]>(`${address}?${name}=${encodeURIComponent(value)}`)
      const id = known[name]
      if (id === undefined) {
        t.fail(`${address} has the parameter ${name}, for which this test needs an id`)
        continue
      }
      const nothing = await at(NOBODY)
      t.same([nothing.status, totalOf(nothing.json)], [200, 0], `${address}?${name} with an unknown id`)
      const strange = await at(STRANGE)
      t.same([strange.status, strange.bytes.toString()], [200, nothing.bytes.toString()], `${address}?${name} with an id of Komga`)
      const own = await at(id)
      if (totalOf(own.json) > 0) found.add(name)
      if (isList) t.equal((await at(`${STRANGE},${id}`)).bytes.toString(), own.bytes.toString(), `${address}?${name} with one known id`)
    }
    t.same([...found].sort(), Object.keys(known).sort(), 'known ids find something')
  })

  await t.test('in every condition by an id a text that is no id of this server is nothing, and isNot is everything', async (t) => {
    for (const list of ['books/list', 'series/list']) {
      const refused = await post<Refused>(list, { condition: { nothing: {} } })
      const fields: string[] = refused.json.violations[0]?.message.match(/\b\w+Id\b/g) ?? []
      t.ok(fields.includes('libraryId') && fields.length > 1, `${list}: ${fields}`)
      const count = async (condition: object) => (await post<Listed>(list, { condition })).json.totalElements
      const all = await count({})
      t.ok(all > 0, `${list} has entries`)
      for (const field of fields) {
        for (const value of [NOBODY, STRANGE, '{x}', '']) {
          t.equal(await count({ [field]: { operator: 'is', value } }), 0, `${list}: ${field} is ${value}`)
          t.equal(await count({ [field]: { operator: 'isNot', value } }), all, `${list}: ${field} is not ${value}`)
        }
        const wrong = await post<Refused>(list, { condition: { [field]: { operator: 'is', value: 7 } } })
        t.match([wrong.status, wrong.json], [400, { violations: [{ fieldName: `condition.${field}.value`, message: 'must be a text' }] }])
      }
      const anyOf = [STRANGE, libraryId].map((value) => ({ libraryId: { operator: 'is', value } }))
      t.equal(await count({ anyOf }), all, `${list}: of several ids the known ones count`)
    }
  })

  await t.test('an error of a query parameter names that parameter, in every list', async (t) => {
    // No expression, keyword or number; too long a value; too many values for a condition.
    const values = ['soon(,TITLE', 'x'.repeat(501), 'x,'.repeat(250)]
    const refused = new Set<string>()
    for (const { address, name } of parameters)
      for (const value of values) {
        const { status, json } = await get<Refused>(`${address}?${name}=${encodeURIComponent(value)}`)
        const what = `${address}?${name}=${value.slice(0, 12)}`
        if (status === 200) continue
        refused.add(name)
        const fieldName = new RegExp(`^${name}(\\.\\d+)?$`)
        t.match([status, json], [400, { violations: [{ fieldName, message: /./ }] }], what)
      }
    for (const name of ['age_rating', 'author', 'genre', 'released_after', 'search', 'search_regex', 'status', 'tag'])
      t.ok(refused.has(name), `${name} was refused`)
    const released = await get('/komga/api/v1/books?released_after=2024')
    t.match(released.json, { violations: [{ fieldName: 'released_after', message: /must be a day such as/ }] })
    t.equal((await get(`/komga/api/v1/series?search=${encodeURIComponent('📚'.repeat(400))}`)).status, 200, 'characters count')
  })
})
