import t from 'tap'
import { openKomgaServer, setSetting } from '#test/support/komga-server.ts'

t.setTimeout(240_000)

t.test('a page is sent in the format that a client accepts, in every interface', async (t) => {
  const komga = await openKomgaServer(t)
  const { ask, server, basic } = komga
  await setSetting(komga, 'compatibilityApi.enabled', 'true')
  const { json } = await ask<{ content: { id: string }[] }>('GET', '/komga/api/v1/books?search=Issue')
  const id = json.content[0]?.id
  const places: [path: string, credential: Record<string, string>][] = [
    [`/api/v1/books/${id}/pages/1`, server.headers],
    [`/komga/api/v1/books/${id}/pages/1`, { authorization: basic }],
    [`/opds/books/${id}/pages/0`, { authorization: basic }],
    [`/opds/v2/books/${id}/pages/1`, { authorization: basic }],
  ]
  for (const [path, credential] of places) {
    const get = async (headers: Record<string, string>, query = '') =>
      await ask('GET', path + query, { headers: { ...credential, ...headers } })
    const typeOf = async (accept: string, query?: string) => (await get({ accept }, query)).headers.get('content-type')
    const usual = (await get({})).headers.get('content-type')
    t.equal(usual, 'image/png', `${path}: as in the file`)
    for (const type of ['image/png', 'image/webp', 'image/jpeg']) t.equal(await typeOf(type), type, `${path} as ${type}`)
    for (const any of ['*/*', 'image/*', 'image/avif,image/webp,image/*;q=0.8,*/*;q=0.5', 'application/json', 'image/webp,image/png'])
      t.equal(await typeOf(any), usual, `${path} as ${any}`)

    const page = await get({ accept: 'image/webp' })
    t.match(page.headers.get('vary'), /\bAccept\b(?!-)/, 'a cache keeps each format')
    t.not(page.headers.get('etag'), (await get({})).headers.get('etag'))
    const changed = page.headers.get('last-modified') as string
    t.ok(Date.parse(changed) <= Date.now() && Date.parse(changed) > 0, changed)
    const since = async (time: string | number) => (await get({ 'if-modified-since': new Date(time).toUTCString() })).status
    t.equal(await since(changed), 304, `${path}: the copy is current`)
    t.equal(await since(Date.parse(changed) - 1000), 200, `${path}: it is older`)
    t.equal((await get({ accept: 'image/webp', 'if-none-match': page.headers.get('etag') as string })).status, 304)
    const other = { 'if-none-match': '"x"', 'if-modified-since': changed }
    t.equal((await get(other)).status, 200, 'the tag counts where there is one')
  }
  const [rest, compatible] = places as [(typeof places)[0], (typeof places)[0]]
  const asked = async ([path, credential]: (typeof places)[0], query: string) =>
    (await ask('GET', `${path}?${query}`, { headers: { ...credential, accept: 'image/webp' } })).headers.get('content-type')
  t.equal(await asked(rest, 'format=jpeg'), 'image/jpeg', 'the address counts before the header')
  t.equal(await asked(compatible, 'convert=jpeg'), 'image/jpeg')
  t.equal(await asked([`${compatible[0]}/raw`, compatible[1]], ''), 'image/png', 'raw is as in the file')
})
