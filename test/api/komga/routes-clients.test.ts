import t from 'tap'
import { findOutsideCorpus } from '#test/support/corpus.ts'
import { APPS, type App, type EntityIds } from '#test/support/komga-clients.ts'
import { BOOK, PAGE, PUBLICATION, pageOf, SERIES } from '#test/support/komga-decoders.ts'
import { type Decoder, decoderErrors, type KomgaServer, openKomgaServer, setSetting } from '#test/support/komga-server.ts'
import { onlyFull } from '#test/support/lane-size.ts'

interface Listed {
  content: { id: string; seriesId: string; media: { mediaProfile: string; status: string } }[]
  totalElements: number
}

t.setTimeout(600_000)

const decode = (needs: Decoder | [Decoder], json: unknown): string[] => {
  if (!Array.isArray(needs)) return decoderErrors(needs, json)
  return Array.isArray(json) ? json.flatMap((one, index) => decoderErrors(needs[0], one, `/${index}`)) : ['the response is not a list']
}

/** What an app shows with each request, after it has signed in as it does. */
async function proofOf({ ask, basic }: KomgaServer, by: App['by']): Promise<Record<string, string>> {
  if (by === 'basic') return { authorization: basic }
  if (by === 'key') {
    const { json } = await ask<{ key: string }>('POST', '/komga/api/v2/users/me/api-keys', { body: { comment: 'replay' } })
    return { 'x-api-key': json.key }
  }
  const first = await ask('GET', '/komga/api/v2/users/me', { headers: { authorization: basic, 'x-auth-token': '' } })
  if (by === 'token') return { 'x-auth-token': first.headers.get('x-auth-token') as string }
  return { cookie: (first.headers.getSetCookie()[0] ?? '').split(';')[0] as string }
}

async function sceneOf({ ask }: KomgaServer): Promise<EntityIds> {
  const find = async (search: string) =>
    (await ask<Listed>('GET', `/komga/api/v1/books?search=${encodeURIComponent(search)}`)).json.content[0] as Listed['content'][0]
  const [book, next, epub] = [await find('Issue 1'), await find('Issue 2'), await find('Emma')]
  const make = async (path: string, body: object) => (await ask<{ id: string }>('POST', `/komga/api/v1/${path}`, { body })).json.id
  const positions = await ask<{ positions: { href: string }[] }>('GET', `/komga/api/v1/books/${epub.id}/positions`)
  return {
    library: (await ask<{ id: string }[]>('GET', '/komga/api/v1/libraries')).json[0]?.id as string,
    ...{ series: book.seriesId, book: book.id, next: next.id, epub: epub.id, chapter: positions.json.positions[0]?.href as string },
    collection: await make('collections', { name: 'Best', ordered: false, seriesIds: [book.seriesId] }),
    readList: await make('readlists', { name: 'Next', summary: '', ordered: true, bookIds: [book.id, next.id] }),
  }
}

t.test('the requests of every app are answered with what its decoder needs', { timeout: 300_000 }, async (t) => {
  const komga = await openKomgaServer(t)
  await setSetting(komga, 'compatibilityApi.enabled', 'true')
  const scene = await sceneOf(komga)
  for (const app of APPS) {
    await t.test(app.name, async (t) => {
      const proof = await proofOf(komga, app.by)
      for (const { method = 'GET', path, body, headers, status = 200, needs } of app.requests(scene)) {
        const answer = await komga.ask(method, `/komga/api/${path}`, { headers: { ...proof, ...app.headers, ...headers }, body })
        const what = `${method} ${path}`
        t.equal(answer.status, status, status === answer.status ? what : `${what}: ${answer.bytes.toString().slice(0, 500)}`)
        if (needs) t.same(decode(needs, answer.json).slice(0, 5), [], `${what} decodes`)
      }
    })
  }
})

const corpus = findOutsideCorpus()
t.test('a library of real books is decoded whole', { timeout: 600_000, skip: corpus === null || onlyFull.skip }, async (t) => {
  const komga = await openKomgaServer(t, { library: corpus?.folder as string })
  const { ask } = komga
  await setSetting(komga, 'compatibilityApi.enabled', 'true')
  const read = async (path: string, decoder: Decoder) => {
    const all: Listed['content'] = []
    for (let page = 0; ; page++) {
      const { json } = await ask<Listed>('POST', `/komga/api/v1/${path}?page=${page}&size=100`, { body: { condition: { allOf: [] } } })
      t.same(decoderErrors(pageOf(decoder), json).slice(0, 5), [], `${path} ${page}`)
      all.push(...json.content)
      if (json.content.length === 0) return { all, total: json.totalElements }
    }
  }
  const series = await read('series/list', SERIES)
  const books = await read('books/list', BOOK)
  t.equal(series.all.length, series.total)
  t.equal(new Set(books.all.map(({ id }) => id)).size, books.total)
  t.ok(books.total > 100, `${books.total} books`)
  for (const { id, media } of books.all) {
    const at = `/komga/api/v1/books/${id}`
    const isRead = media.status === 'READY'
    const pages = await ask<unknown[]>('GET', `${at}/pages`)
    if (isRead) t.same([pages.status, pages.json.flatMap((page) => decoderErrors(PAGE, page)).slice(0, 3)], [200, []], `${id} pages`)
    const manifest = await ask<object>('GET', `${at}/manifest`)
    t.ok(
      manifest.status === 200 ? decoderErrors(PUBLICATION, manifest.json).length === 0 : manifest.status < 500 || manifest.status === 503,
      `${id} manifest`,
    )
    t.ok((await ask('GET', `${at}/progression`)).status === 204)
  }
})
