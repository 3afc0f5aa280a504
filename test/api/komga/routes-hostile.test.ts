import t from 'tap'
import { openKomgaServer, setSetting } from '#test/support/komga-server.ts'

interface Refused {
  status: number
  error: string
  message: string
  path: string
  violations: { fieldName: string; message: string }[]
}

const NOBODY = '00000000-0000-4000-8000-000000000000'

t.setTimeout(60_000)
t.test('bad input is answered in the dialect', async (t) => {
  const komga = await openKomgaServer(t)
  const { ask } = komga
  await setSetting(komga, 'compatibilityApi.enabled', 'true')

  await t.test('wrong prefixes have nothing', async (t) => {
    for (const prefix of ['nothing', 'Komga', 'komga%2f', 'komga;x', '%6bomg', 'komga..', 'a'.repeat(3_000)]) {
      const answer = await ask<Refused>('GET', `/${prefix}/api/v1/libraries`)
      t.match([answer.status, answer.json.error], [404, 'not_found'], prefix.slice(0, 20))
      t.equal(answer.headers.get('set-cookie'), null)
    }
  })

  await t.test('pages and sizes beyond reason are those that Spring makes of them', async (t) => {
    for (const [query, expected] of [
      ['page=-1', { number: 0, first: true, numberOfElements: 6 }],
      ['page=-2147483647&size=-5', { number: 0, size: 20 }],
      ['size=100000', { size: 1000, totalPages: 1 }],
      ['size=0', { size: 20 }],
      ['page=&size=', { number: 0, size: 20 }],
      ['page=2147483647&size=1000', { content: [], empty: true, last: true }],
      ['unpaged=true&page=7', { number: 0, numberOfElements: 6 }],
      ['sort=nothing,up&sort=&sort=,,,&sort=name;DROP', { totalElements: 6 }],
      ['sort=name,sideways', { totalElements: 6 }],
    ] as const)
      for (const path of ['books', 'series'])
        t.match(
          (await ask('GET', `/komga/api/v1/${path}?${query}`)).json,
          path === 'books' ? expected : { content: Array },
          `${path}?${query}`,
        )
    for (const query of ['page=x', 'page=1.5', 'page=99999999999', 'unpaged=perhaps'])
      t.match((await ask('GET', `/komga/api/v1/books?${query}`)).json, { violations: [{ fieldName: /page|size|unpaged/ }] }, query)
  })

  await t.test('conditions that nobody knows are refused by their member', async (t) => {
    const deep = (levels: number): object => (levels === 0 ? { title: { operator: 'is', value: 'x' } } : { allOf: [deep(levels - 1)] })
    for (const condition of [
      { nothing: { operator: 'is', value: 1 } },
      { title: { operator: 'sounds like', value: 'x' } },
      { title: { operator: 'is', value: { $gt: '' } } },
      { title: { operator: 7 } },
      { readStatus: { operator: 'is', value: 'SKIMMED' } },
      { releaseDate: { operator: 'after', dateTime: 'soon' } },
      { releaseDate: { operator: 'isInTheLast', duration: 'P1Y' } },
      { libraryId: { operator: 'is', value: 7 } },
      { author: { operator: 'is', value: {} } },
      { allOf: {} },
      { __proto__: null, constructor: { operator: 'is', value: 'x' } },
      deep(12),
      { anyOf: Array.from({ length: 300 }, () => deep(0)) },
      [],
      'title',
    ]) {
      for (const path of ['books/list', 'series/list', 'series/list/alphabetical-groups']) {
        const { status, json } = await ask<Refused>('POST', `/komga/api/v1/${path}`, { body: { condition } })
        t.equal(status, 400, `${path} ${JSON.stringify(condition).slice(0, 80)}`)
        t.match(json, json.violations ? { violations: [{ message: /./ }] } : { status: 400, error: 'Bad Request', message: /./, path: /./ })
      }
    }
    for (const query of ['read_status=SKIMMED', 'media_status=FINE', 'released_after=soon'])
      t.match((await ask('GET', `/komga/api/v1/books?${query}`)).status, 400, query)
  })

  await t.test('what is not there, or is no id, answers alike everywhere', async (t) => {
    const ofBook = [
      '',
      '/next',
      '/previous',
      '/pages',
      '/pages/1',
      '/pages/1/raw',
      '/pages/1/thumbnail',
      '/thumbnail',
      '/thumbnails',
      '/file',
      '/manifest',
    ]
    const paths = [
      ...[...ofBook, '/positions', '/progression', '/resource/a', '/readlists'].map((path) => `books/ID${path}`),
      ...['', '/books', '/thumbnail', '/thumbnails', '/file', '/collections'].map((path) => `series/ID${path}`),
      ...['', '/thumbnail'].map((path) => `libraries/ID${path}`),
      ...['', '/series', '/thumbnail', '/thumbnails'].map((path) => `collections/ID${path}`),
      ...['', '/books', '/thumbnail', '/thumbnails', '/read-progress/tachiyomi', '/books/ID/next'].map((path) => `readlists/ID${path}`),
    ]
    for (const path of paths) {
      const { status, json } = await ask<Refused>('GET', `/komga/api/v1/${path.replaceAll('ID', NOBODY)}`)
      t.match([status, json], [404, { status: 404, error: 'Not Found', message: /./ }], path)
      const wrong = await ask<Refused>('GET', `/komga/api/v1/${path.replaceAll('ID', 'x')}`)
      t.match([wrong.status, wrong.json], [404, { status: 404, error: 'Not Found', message: /./ }], path)
    }
    for (const [method, path, body] of [
      ['PATCH', `books/${NOBODY}/read-progress`, { page: 1 }],
      ['DELETE', `books/${NOBODY}/read-progress`, undefined],
      ['PATCH', `books/${NOBODY}/metadata`, {}],
      ['PATCH', `series/${NOBODY}/metadata`, { title: 'x' }],
      ['PUT', `books/${NOBODY}/thumbnails/${NOBODY}/selected`, undefined],
      ['DELETE', `series/${NOBODY}/thumbnails/${NOBODY}`, undefined],
      ['PUT', `collections/${NOBODY}/thumbnails/${NOBODY}/selected`, undefined],
      ['DELETE', `readlists/${NOBODY}/thumbnails/${NOBODY}`, undefined],
      ['PATCH', `collections/${NOBODY}`, { name: 'x' }],
      ['DELETE', `readlists/${NOBODY}`, undefined],
    ] as const)
      t.match((await ask(method, `/komga/api/v1/${path}`, { body })).json, { status: 404 }, `${method} ${path}`)
  })

  await t.test('bodies that are none', async (t) => {
    const send = async (body: string, type: string) =>
      (
        await fetch(`${komga.server.url}/komga/api/v1/books/list`, {
          method: 'POST',
          headers: { authorization: komga.basic, 'content-type': type },
          body,
        })
      ).status
    t.equal(await send('{', 'application/json'), 400)
    t.equal(await send('null', 'application/json'), 400)
    t.equal(await send('{}', 'text/plain'), 415)
    t.equal(await send(JSON.stringify({ fullTextSearch: 'x'.repeat(2_000_000) }), 'application/json'), 413)
    t.match((await ask('POST', '/komga/api/v1/books/list', { body: { fullTextSearch: 7 } })).json, {
      violations: [{ fieldName: 'fullTextSearch' }],
    })
  })
})
