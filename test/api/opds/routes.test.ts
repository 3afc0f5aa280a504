import t from 'tap'
import { opdsRoutes } from '#api/opds/routes.ts'
import { addWalker, openComposedServer } from '#test/support/composed-server.ts'
import { ATOM, atomComplaints, attribute, opds2Complaints, withXml } from '#test/support/opds.ts'
import { addCatalog, HOSTILE } from '#test/support/opds-library.ts'
import { complaintsOf, walkCatalog } from '#test/support/opds-walk.ts'
import { ADMIN, get } from '#test/support/server.ts'

t.setTimeout(240_000)

t.test('the feeds of a library', { timeout: 240_000 }, async (t) => {
  const { database, folder, services, url, adminToken } = await openComposedServer(t)
  const { id: userId } = await database('users').first('id')
  const ids = await addCatalog(database, folder, userId)
  const basic = { authorization: `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}` }
  const bearer = { authorization: `Bearer ${adminToken}` }
  const ask = async (path: string, headers: Record<string, string> = basic, method = 'GET') => {
    const { bytes, ...answer } = await get(url + path, { headers, method })
    return { ...answer, bytes, text: bytes.toString() }
  }
  const json = async (path: string) => JSON.parse((await ask(path)).text)

  await t.test('every feed and entry is valid, whatever the names, and all of them are reached from the root', async (t) => {
    for (const [root, count] of [
      ['/opds/v1/catalog', 50],
      ['/opds/v2', 40],
    ] as const) {
      const walked = await walkCatalog(url, root, { headers: basic, reach: 'feeds' })
      t.same(complaintsOf(walked), [], root)
      t.ok(walked.length >= count, `${walked.length} documents of ${root}`)
      const paths = new Set(walked.map(({ path }) => path.split('?')[0]?.replace(/[0-9a-f-]{36}/, ':id')))
      const wanted = opdsRoutes.filter(({ path }) => path.startsWith(root)).map(({ path }) => path.replace(/:\w+/, ':id'))
      // Files of books are followed in reading-routes.test.ts, searches below.
      const missed = wanted.filter((path) => !paths.has(path) && !/\/search(\/series|\.xml)?$|\/books\/:id\/./.test(path))
      t.same(missed, [], 'no feed that nothing leads to')
    }
  })

  await t.test('pages of one entry lead through the list', async (t) => {
    const walked = await walkCatalog(url, '/opds/v1/catalog/books?pageSize=1', { headers: basic, reach: 'feeds', most: 12 })
    t.same(complaintsOf(walked), [])
    const seen = new Set<string>()
    let next: string | undefined = '/opds/v2/books?pageSize=2'
    while (next !== undefined) {
      const page: { publications: { metadata: { identifier: string } }[]; links: { rel: string; href: string }[] } = await json(next)
      for (const { metadata } of page.publications) seen.add(metadata.identifier)
      next = page.links.find(({ rel }) => rel === 'next')?.href
    }
    t.equal(seen.size, 6)
    const beyond = await ask('/opds/v1/catalog/books?page=99')
    t.same([beyond.status, atomComplaints(beyond.bytes)], [200, []], 'a page beyond the end')
    t.equal((await ask('/opds/v1/catalog/books?page=0')).status, 400)
    t.match(await json('/opds/v2/books?pageSize=5000'), { metadata: { itemsPerPage: 100, numberOfItems: 6, currentPage: 1 } })
  })

  await t.test('entries have what readers need', async (t) => {
    const { bytes, headers } = await ask(`/opds/v1/catalog/series/${ids.saga}`)
    t.match(headers, {
      'content-type': 'application/atom+xml;profile=opds-catalog;kind=acquisition;charset=utf-8',
      'cache-control': 'private, no-cache',
      vary: /Authorization/,
    })
    withXml(bytes, (root) => {
      const entries = root.find('/a:feed/a:entry', ATOM)
      t.equal(entries.length, 3)
      const [first] = entries as [typeof root]
      t.equal(first.get('a:title', ATOM)?.content, 'Saga 1', 'in reading order, and the series is not named twice')
      t.equal(first.get('a:author/a:name', ATOM)?.content, 'Brian')
      t.equal(first.get('a:contributor/a:name', ATOM)?.content, 'Fiona')
      const link = (rel: string) => first.find(`a:link[@rel='${rel}']`, ATOM)[0] ?? t.fail(rel)
      t.equal(attribute(link('http://opds-spec.org/acquisition') as object, 'type'), 'application/vnd.comicbook+zip')
      const stream = link('http://vaemendis.net/opds-pse/stream') as object
      t.equal(attribute(stream, 'href'), `/opds/books/${ids.paged}/pages/{pageNumber}?width={maxWidth}`)
      t.same([attribute(stream, 'count', 'pse'), attribute(stream, 'lastRead', 'pse')], ['3', '2'])
      t.match(attribute(stream, 'lastReadDate', 'pse'), /^\d{4}-.*Z$/)
    })
    const deck = await ask('/opds/v1/catalog/on-deck')
    withXml(deck.bytes, (root) => t.equal(root.get('/a:feed/a:entry/a:title', ATOM)?.content, 'Saga 2'))
    const types = withXml((await ask('/opds/v1/catalog/books')).bytes, (root) =>
      root.find("//a:link[@rel='http://opds-spec.org/acquisition']", ATOM).map((link) => attribute(link, 'type')),
    )
    t.same(
      new Set(types),
      new Set(['application/vnd.comicbook+zip', 'application/vnd.comicbook-rar', 'application/epub+zip', 'application/pdf']),
    )
    const epub = await ask(`/opds/v1/catalog/books/${ids.epub}`)
    t.notMatch(epub.text, 'opds-pse/stream', 'text has no pages that could be streamed')
    t.match(await json(`/opds/v2/books/${ids.paged}`), {
      metadata: {
        ...{
          title: 'Saga 1',
          identifier: `urn:uuid:${ids.paged}`,
          author: [{ name: 'Brian', sortAs: 'K, Brian' }],
          penciler: [{ name: 'Fiona' }],
        },
        ...{
          contributor: [{ name: 'Cover', role: 'cov' }],
          published: '2012-03-01',
          language: 'en-US',
          publisher: 'Image',
          numberOfPages: 3,
        },
        ...{ readingProgression: 'rtl', belongsTo: { series: { name: 'Saga', position: 1 } } },
      },
      links: [
        { rel: 'self' },
        { rel: 'http://opds-spec.org/acquisition', type: 'application/vnd.comicbook+zip' },
        { href: `/opds/v2/books/${ids.paged}/manifest`, type: 'application/divina+json' },
        { rel: 'http://www.cantook.com/api/progression' },
      ],
      images: [{ type: 'image/jpeg' }, { type: 'image/jpeg' }, { type: 'image/jpeg' }],
    })
    t.match(await json(`/opds/v2/books/${ids.pdf}`), { metadata: { altIdentifier: ['urn:isbn:9780306406157'] } })
  })

  await t.test('facets narrow a list down', async (t) => {
    const titles = async (query: string) =>
      ((await json(`/opds/v2/books?${query}`)).publications ?? []).map(({ metadata }: { metadata: { title: string } }) => metadata.title)
    t.same((await titles('readStatus=read')).sort(), ['Saga 1'])
    t.same(await titles('readStatus=in_progress'), ['A PDF'])
    t.equal((await titles(`libraryId=${ids.prose}`)).length, 2)
    t.match((await json('/opds/v2/books?readStatus=read')).facets, [
      { metadata: { title: 'Library' } },
      {
        metadata: { title: 'Read status' },
        links: [{ title: 'All' }, {}, {}, { rel: 'self', title: 'Read', properties: { numberOfItems: 1 } }],
      },
      { metadata: { title: 'Order' } },
    ])
    const active = withXml((await ask('/opds/v1/catalog/books?sort=added')).bytes, (root) =>
      root
        .find("//a:link[@opds:activeFacet='true']", { ...ATOM, opds: 'http://opds-spec.org/2010/catalog' })
        .map((link) => attribute(link, 'title')),
    )
    t.same(active, ['All libraries', 'All', 'Last added'])
    t.equal((await ask('/opds/v2/books?sort=nonsense')).status, 400)
  })

  await t.test('a search of OPDS finds books and series', async (t) => {
    const description = await ask('/opds/v1/catalog/search.xml')
    t.equal(description.headers['content-type'], 'application/opensearchdescription+xml')
    const template = withXml(description.bytes, (root) => attribute(root.find('//*[local-name()="Url"]')[0] as object, 'template'))
    t.equal(template, `${url}/opds/v1/catalog/search?query={searchTerms}`)
    const found = await ask(template.slice(url.length).replace('{searchTerms}', encodeURIComponent('saga')))
    withXml(found.bytes, (root) => t.equal(root.find('/a:feed/a:entry', ATOM).length, 3))
    t.match(await json('/opds/v2/search?query=saga'), { groups: [{ metadata: { title: 'Series' }, navigation: [{ title: 'Saga' }] }] })
    for (const query of ['', 'query=', 'query=nothing+like+it', `query=${encodeURIComponent(HOSTILE)}`]) {
      const { bytes, status } = await ask(`/opds/v1/catalog/search?${query}`)
      t.same([status, atomComplaints(bytes)], [200, []], query)
      t.same(opds2Complaints(await json(`/opds/v2/search?${query}`), 'feed'), [], query)
      t.equal((await ask(`/opds/v1/catalog/search/series?${query}`)).status, 200)
    }
  })

  await t.test('OPDS takes a password, a key or a token', async (t) => {
    const { key } = await services.accounts.createApiKey(
      { name: 'A reader' },
      (await services.accounts.callers.ofToken(adminToken, 'token'))!,
    )
    const ofKey = { authorization: `Basic ${Buffer.from(`anybody:${key}`).toString('base64')}` }
    for (const headers of [basic, bearer, ofKey, { 'x-api-key': key }, { authorization: `Bearer ${key}` }] as Record<string, string>[])
      t.equal((await ask('/opds/v2', headers)).status, 200, Object.entries(headers).join().slice(0, 30))
    for (const route of opdsRoutes) {
      if (route.allow.who === 'public') continue
      const path = route.path.replace(':pageNumber', '0').replace(/:\w+/, ids.paged)
      const { status, headers, text } = await ask(path, {})
      t.match(
        { status, headers },
        {
          status: 401,
          headers: {
            'www-authenticate': /^Basic /,
            'content-type': 'application/opds-authentication+json',
            link: '</opds/authentication>; rel="http://opds-spec.org/auth/document"; type="application/opds-authentication+json"',
          },
        },
        path,
      )
      t.same(opds2Complaints(JSON.parse(text), 'authentication'), [], path)
    }
    const document = await ask('/opds/authentication', {})
    t.equal(document.status, 200)
    t.match(JSON.parse(document.text), {
      id: `${url}/opds/authentication`,
      authentication: [{ type: 'http://opds-spec.org/auth/basic', labels: { login: 'User name', password: 'Password or API key' } }],
    })
    t.match(await ask('/opds', {}), { status: 302, headers: { location: '/opds/v1/catalog' } })
    const lost = await ask('/opds/nothing')
    t.match([lost.status, JSON.parse(lost.text)], [404, { error: 'not_found' }])
  })

  await t.test('the name of the library', async (t) => {
    const rename = async (value: string) => {
      const headers = { ...bearer, 'content-type': 'application/json' }
      const body = JSON.stringify({ value })
      t.equal((await fetch(`${url}/api/v1/admin/settings/application.name`, { method: 'PUT', headers, body })).status, 200)
    }
    const feeds = opdsRoutes.filter(
      ({ path, summary }) => path.startsWith('/opds/v1/') && /\(OPDS 1\.2\)$/.test(summary) && !/:/.test(path),
    )
    t.ok(feeds.length > 10)
    /** What every document calls the library. */
    const names = async () => {
      const authors = new Set<string>()
      for (const { path } of feeds)
        authors.add(withXml((await ask(path)).bytes, (root) => root.get('a:author/a:name', ATOM)?.content ?? ''))
      const root = withXml((await ask('/opds/v1/catalog')).bytes, (one) => one.get('a:title', ATOM)?.content)
      const refused: { title: string } = JSON.parse((await ask('/opds/v2', {})).text)
      const document: { title: string } = JSON.parse((await ask('/opds/authentication', {})).text)
      const { metadata }: { metadata: { title: string } } = await json('/opds/v2')
      return [...authors, root, metadata.title, refused.title, document.title]
    }
    const searched = async () => {
      const { bytes } = await ask('/opds/v1/catalog/search.xml')
      const at = { o: 'http://a9.com/-/spec/opensearch/1.1/' }
      return withXml(bytes, (root) => ['o:ShortName', 'o:LongName'].map((name) => root.get(name, at)?.content))
    }
    t.same(await names(), Array(5).fill('Carrel'))
    for (const name of ['Ann & Bob <shelf>', `\u05e1\u05e4\u05e8\u05d9\u05dd \u{1f4da} ${'x'.repeat(80)}`]) {
      await rename(name)
      t.same(await names(), Array(5).fill(name), 'also in feeds that were sent before')
      const [short = '', long = ''] = await searched()
      t.ok(short.length <= 16 && long.length <= 48, 'within the limits of OpenSearch')
      t.ok(long.startsWith(name.slice(0, 10)) && short.startsWith(name.slice(0, 10)), `${short}, ${long}`)
    }
    await rename('Carrel')
    t.same(await searched(), ['Carrel', 'Carrel'])
  })

  await t.test('a wrong password is throttled as at login', async (t) => {
    await services.accounts.createUser({ username: 'grace', email: 'grace@example.org', password: 'a long enough password' }, null)
    const wrong = { authorization: `Basic ${Buffer.from('grace:wrong').toString('base64')}` }
    const first = await ask('/opds/v2', wrong)
    t.equal(first.status, 401)
    // The first pause takes a second: the next request may come after it.
    let last = first
    for (let count = 0; count < 40 && last.status !== 429; count++) last = await ask('/opds/v2', wrong)
    t.equal(last.status, 429)
    t.ok(Number(last.headers['retry-after']) > 0)
    t.match(JSON.parse(last.text), { error: 'rate_limit_exceeded' })
  })

  await t.test('compression, HEAD, copies, and a slash at the end', async (t) => {
    const plain = await ask('/opds/v1/catalog/books', { ...basic, 'accept-encoding': 'identity' })
    t.equal(plain.headers['content-encoding'], undefined)
    const packed = await ask('/opds/v1/catalog/books', { ...basic, 'accept-encoding': 'gzip' })
    t.equal(packed.headers['content-encoding'], 'gzip')
    t.ok(packed.bytes.length < plain.bytes.length / 2)
    for (const { headers } of [plain, packed]) {
      const encoding = headers['content-encoding'] ?? 'identity'
      const again = await ask('/opds/v1/catalog/books', { ...basic, 'accept-encoding': encoding, 'if-none-match': String(headers.etag) })
      t.equal(again.status, 304)
    }
    for (const path of ['/opds/v1/catalog', '/opds/v2/books', `/opds/books/${ids.paged}/file`, `/opds/books/${ids.paged}/pages/0`]) {
      const head = await ask(path, basic, 'HEAD')
      t.same([head.status, head.bytes.length], [200, 0], path)
      t.ok(Number(head.headers['content-length']) > 0)
      t.equal((await ask(path, {}, 'HEAD')).status, 401)
    }
    for (const path of ['/opds/v1/catalog/', '/opds/v2/', `/opds/v2/series/${ids.saga}/`, '/opds/v2/books/?page=1'])
      t.equal((await ask(path)).status, 200, path)
    t.equal((await ask('/opds/', {})).status, 302)
  })

  await t.test('files, covers and pages', async (t) => {
    const file = await ask(`/opds/books/${ids.paged}/file`)
    t.match([file.status, file.headers], [200, { 'content-type': 'application/vnd.comicbook+zip', 'accept-ranges': 'bytes' }])
    t.equal((await ask(`/opds/books/${ids.paged}/file`, { ...basic, range: 'bytes=0-9' })).status, 206)
    for (const size of ['small', 'medium', 'large']) {
      const cover = await ask(`/opds/books/${ids.paged}/cover?size=${size}`)
      t.match([cover.status, cover.headers['content-type']], [200, 'image/jpeg'], size)
      t.equal((await ask(`/opds/books/${ids.epub}/cover?size=${size}`)).status, 200, `${size}, without any page`)
      t.equal((await ask(`/opds/books/${ids.pending}/cover?size=${size}`)).status, 200, `${size}, before it was looked at`)
    }
    t.equal((await ask(`/opds/series/${ids.saga}/cover`)).status, 200)
    const page = async (query: string) => {
      const { status, headers, text } = await ask(`/opds/books/${ids.paged}/pages/${query}`)
      return [status, status === 200 ? headers['content-type'] : JSON.parse(text).error]
    }
    t.same(await page('0'), [200, 'image/jpeg'])
    t.same(await page('1'), [200, 'image/jpeg'], 'a book with pages of several types has one for all, as its link states')
    t.same(await page('2'), [200, 'image/jpeg'], 'WebP is none of them')
    t.same(await page('2?width=400'), [200, 'image/jpeg'])
    t.same(await page('1?width=400'), [200, 'image/jpeg'])
    t.same(await page('0?width=%7BmaxWidth%7D'), [200, 'image/jpeg'], 'a client that does not know this part of the template')
    t.same(await page('3'), [404, 'not_found'])
    t.same(await page('-1'), [404, 'not_found'])
    t.same(await page('9007199254740991'), [404, 'not_found'])
    t.same(await page('first'), [400, 'invalid_request'])
    t.same(await page('0?width=0'), [400, 'invalid_request'])
    t.match([(await ask(`/opds/books/${ids.epub}/pages/0`)).status, (await ask(`/opds/books/${ids.pending}/pages/0`)).status], [422, 409])
    const progress = await database('read_progress').where({ book_id: ids.paged }).first('current_page')
    t.equal(progress.current_page, 2, 'sending pages records nothing')
  })

  await t.test('recommendations show what is in this library', async (t) => {
    t.same((await json('/opds/v2/recommended')).navigation[0].rel, 'start', 'nobody recommends anything: an honest empty feed')
  })

  await t.test('a credential that may see less is shown less', async (t) => {
    const caller = (await services.accounts.callers.ofToken(adminToken, 'token'))!
    const { key } = await services.accounts.createApiKey({ name: 'Books alone', permissions: ['books-read'] }, caller)
    const root = await ask('/opds/v2', { 'x-api-key': key })
    t.notMatch(root.text, '/opds/v2/libraries')
    t.equal((await ask('/opds/v2/libraries', { 'x-api-key': key })).status, 403)
  })

  await t.test('what is hidden from a reader is in no feed', async (t) => {
    const [tag] = await database('sharing_tags').insert({ name: 'kept away' }, 'id')
    await database('series_sharing_tags').insert([ids.saga, ids.hostile].map((series_id) => ({ series_id, sharing_tag_id: tag.id })))
    const walker = await addWalker({ database, services }, { role: 'reader', mode: 'deny', tagId: tag.id })
    await database('read_progress').insert({ user_id: walker.id, book_id: ids.paged, current_page: 1 })
    for (const root of ['/opds/v1/catalog', '/opds/v2']) {
      const walked = await walkCatalog(url, root, { headers: { authorization: `Bearer ${walker.accessToken}` }, reach: 'feeds' })
      t.same(complaintsOf(walked), [], root)
      t.ok(walked.length > 15)
      const hidden = ['Saga', ids.saga, ids.hostile, ids.paged, ids.two, ids.three, ids.pending]
      for (const { path, text } of walked)
        t.same(
          hidden.filter((word) => text.includes(word)),
          [],
          path,
        )
    }
    for (const path of [`/opds/v2/series/${ids.saga}`, `/opds/v1/catalog/books/${ids.paged}`, `/opds/books/${ids.paged}/cover?size=large`])
      t.equal((await ask(path, { authorization: `Bearer ${walker.accessToken}` })).status, 404, path)
  })
})

t.test('the feeds of an empty library are valid too', async (t) => {
  const { url, adminToken } = await openComposedServer(t)
  for (const root of ['/opds/v1/catalog', '/opds/v2']) {
    const walked = await walkCatalog(url, root, { headers: { authorization: `Bearer ${adminToken}` } })
    t.same(complaintsOf(walked), [], root)
    t.ok(walked.length >= 12, `${walked.length} documents`)
  }
})
