import t from 'tap'
import { POSITIONS, PROGRESSION, PUBLICATION } from '#test/support/komga-decoders.ts'
import { decoderErrors, openKomgaServer, setSetting } from '#test/support/komga-server.ts'

interface Link {
  href: string
  type: string
}
interface Manifest {
  metadata: Record<string, unknown>
  readingOrder: Link[]
}
interface Progression {
  modified: string
  device: { id: string; name: string }
  locator: { href: string; type: string; locations: { position?: number; totalProgression?: number; progression?: number } }
}
interface Listed {
  content: { id: string; media: { pagesCount: number } }[]
}

t.setTimeout(60_000)
t.test('books that are read by their manifests', async (t) => {
  const komga = await openKomgaServer(t)
  const { server, ask, basic } = komga
  await setSetting(komga, 'compatibilityApi.enabled', 'true')
  const idOf = async (search: string) =>
    (await ask<Listed>('GET', `/komga/api/v1/books?search=${encodeURIComponent(search)}`)).json.content[0]?.id as string
  const [epub, comic] = await Promise.all([idOf('Emma'), idOf('Issue 1')])
  const at = (id: string, path: string) => `/komga/api/v1/books/${id}/${path}`
  const accepting = (accept: string) => ({ headers: { authorization: basic, accept } })
  const bookOf = async (id: string) => (await ask<{ readProgress: object | null }>('GET', `/komga/api/v1/books/${id}`)).json

  await t.test('an EPUB has a manifest of this dialect, whose chapters are served', async (t) => {
    for (const path of ['manifest', 'manifest/epub']) {
      const { status, headers, json } = await ask<Manifest>('GET', at(epub, path), accepting('application/webpub+json'))
      t.equal(status, 200, path)
      t.match(headers.get('content-type'), /^application\/webpub\+json/)
      t.same(decoderErrors(PUBLICATION, json), [], path)
      t.match(json, { context: 'https://readium.org/webpub-manifest/context.jsonld', metadata: { rendition: { layout: 'reflowable' } } })
      t.notOk('@context' in json)
      t.same(json.metadata['author'], ['Jane Austen'], 'people are names')
      t.match(json.metadata['belongsTo'], { series: [{ name: 'Zeta' }] }, 'the series is a list')
      const [first] = json.readingOrder
      t.match(first?.href, `${server.url}${at(epub, 'resource/')}`, 'whole addresses')
      const chapter = await ask('GET', new URL(first?.href as string).pathname)
      t.match([chapter.status, chapter.headers.get('content-type')], [200, first?.type])
      t.match(chapter.headers.get('content-security-policy'), /script-src 'none'/)
    }
    t.equal((await ask('GET', at(epub, 'resource/no/such.xhtml'))).status, 404)
    t.equal((await ask('GET', at(epub, 'resource/..%2f..%2fetc%2fpasswd'))).status, 404)
  })

  await t.test('a comic has one by its pages, and is no EPUB', async (t) => {
    for (const path of ['manifest', 'manifest/divina']) {
      const { headers, json } = await ask<Manifest>('GET', at(comic, path), accepting('application/divina+json'))
      t.match(headers.get('content-type'), /^application\/divina\+json/)
      t.same(decoderErrors(PUBLICATION, json), [])
      t.equal(json.readingOrder.length, 4)
      t.equal(json.readingOrder[0]?.href, `${server.url}${at(comic, 'pages/1')}`)
    }
    for (const [id, path] of [
      [comic, 'manifest/epub'],
      [comic, 'manifest/pdf'],
      [epub, 'manifest/pdf'],
      [epub, 'manifest/divina'],
    ] as const)
      t.match((await ask('GET', at(id, path))).json, { status: 400, message: /does not fit/ }, path)
  })

  await t.test('a page as it lies in the file', async (t) => {
    const raw = await ask('GET', at(comic, 'pages/2/raw'))
    t.same([raw.status, raw.bytes], [200, (await ask('GET', at(comic, 'pages/2'))).bytes])
    t.match((await ask('GET', at(epub, 'pages/1/raw'))).json, { status: 400 })
  })

  const positions = await ask<{ total: number; positions: Progression['locator'][] }>(
    'GET',
    at(epub, 'positions'),
    accepting('application/vnd.readium.position-list+json'),
  )
  const [place] = positions.json.positions

  await t.test('positions name parts of a text by their path in its archive', async (t) => {
    t.match(positions.headers.get('content-type'), /^application\/vnd\.readium\.position-list\+json/)
    t.same(decoderErrors(POSITIONS, positions.json), [])
    t.equal(positions.json.total, positions.json.positions.length)
    t.notMatch(place?.href, /resource|http/)
    t.equal((await ask('GET', at(epub, `resource/${place?.href}`))).status, 200, 'as apps put them together')
  })

  await t.test('a progression: nothing, written, kept for both interfaces, older or equal refused', async (t) => {
    const path = at(epub, 'progression')
    t.match(await ask('GET', path), { status: 204, bytes: { length: 0 } })
    const tell = (modified: string, locator: object) =>
      ask<{ status: number; violations?: object[] }>('PUT', path, {
        headers: { authorization: basic, 'content-type': 'application/vnd.readium.progression+json' },
        body: { modified, device: { id: 'unused', name: 'KOReader' }, locator, more: 1 },
      })
    const locator = {
      href: place?.href,
      type: 'application/xhtml+xml',
      locations: { fragment: [], progression: 0.1, totalProgression: 0.5 },
    }
    t.equal((await tell('2024-05-01T10:00:00.250Z', locator)).status, 204)
    const told = await ask<Progression>('GET', path, accepting('application/vnd.readium.progression+json'))
    t.match(told.headers.get('content-type'), /^application\/vnd\.readium\.progression\+json/)
    t.same(decoderErrors(PROGRESSION, told.json), [])
    t.match(told.json, { modified: '2024-05-01T10:00:00Z', device: { name: 'KOReader' }, locator: { href: place?.href } })
    const own = (await server.get<Progression>(`/api/v1/books/${epub}/progression`)).locator
    t.equal(own.href, `resource/${place?.href}`, 'our own interface tells the same place as it names parts')
    t.equal((await tell('2024-05-01T10:00:00.250Z', locator)).status, 409, 'equal')
    t.equal((await tell('2024-05-01T09:00:00Z', locator)).status, 409, 'older')
    const whole = `${server.url}${at(epub, 'resource/')}${place?.href}#part`
    t.equal((await tell('2024-05-01T12:00:00+01:00', { ...locator, href: whole })).status, 204, 'a whole address, an offset')
    t.equal((await ask<Progression>('GET', path)).json.locator.href, place?.href)
    for (const href of ['nothing.xhtml', '../x', '%E0%A4%A', ''])
      t.match((await tell('2024-06-01T10:00:00Z', { ...locator, href })).json, { violations: [{ fieldName: 'locator.href' }] }, href)
    for (const bad of [{ totalProgression: 2 }, { totalProgression: -1 }, { position: 0 }, { progression: 'x' }])
      t.equal((await tell('2024-06-01T10:00:00Z', { ...locator, locations: bad })).status, 400, JSON.stringify(bad))
    t.equal((await tell('yesterday', locator)).status, 400)
    t.match(await bookOf(epub), { readProgress: { completed: false } })
    t.equal((await tell('2024-06-01T10:00:00Z', { ...locator, locations: { totalProgression: 0.99 } })).status, 204)
    t.match(await bookOf(epub), { readProgress: { completed: true } }, 'so much of a text is all of it')
    const put = await fetch(`${server.url}/api/v1/books/${epub}/progression`, {
      method: 'PUT',
      headers: { ...server.headers, 'content-type': 'application/json' },
      body: JSON.stringify({
        modified: '2024-07-01T10:00:00Z',
        device: { id: 'a', name: 'Thorium' },
        locator: {
          href: `${server.url}/api/v1/books/${epub}/resource/${place?.href}`,
          type: 'application/xhtml+xml',
          locations: { position: 1 },
        },
      }),
    })
    t.equal(put.status, 204)
    t.match((await ask<Progression>('GET', path)).json, { device: { name: 'Thorium' }, locator: { href: place?.href } })
  })

  await t.test('of a comic the place is its page', async (t) => {
    t.equal((await ask('PATCH', at(comic, 'read-progress'), { body: { page: 2 } })).status, 204)
    t.match((await ask<Progression>('GET', at(comic, 'progression'))).json, { locator: { href: 'pages/2', locations: { position: 2 } } })
  })

  await t.test('a book that is not there has nothing of this', async (t) => {
    const id = '00000000-0000-4000-8000-000000000000'
    for (const path of ['manifest', 'manifest/epub', 'positions', 'resource/a.xhtml', 'progression', 'pages/1/raw'])
      t.match((await ask('GET', at(id, path))).json, { status: 404, error: 'Not Found' }, path)
  })
})
