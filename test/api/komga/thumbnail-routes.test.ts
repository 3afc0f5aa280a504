import t from 'tap'
import { decoderErrors, openKomgaServer, setSetting } from '#test/support/komga-server.ts'

t.setTimeout(60_000)

interface Cover {
  id: string
  selected: boolean
}

t.test('covers of shelves, and books by their covers', async (t) => {
  const komga = await openKomgaServer(t)
  const { ask, server } = komga
  await setSetting(komga, 'compatibilityApi.enabled', 'true')
  const books = (await ask<{ content: { id: string; seriesId: string }[] }>('GET', '/komga/api/v1/books?search=Issue&sort=name,asc')).json
  const [one, two] = books.content as [{ id: string; seriesId: string }, { id: string }]
  const make = async (path: string, body: object) => (await ask<{ id: string }>('POST', `/komga/api/v1/${path}`, { body })).json.id
  const collection = await make('collections', { name: 'Best', ordered: false, seriesIds: [one.seriesId] })
  const readList = await make('readlists', { name: 'Next', bookIds: [one.id, two.id] })
  await ask('POST', '/komga/api/v2/users', { body: { email: 'reader@example.org', password: 'a long password' } })
  const reader = { authorization: `Basic ${Buffer.from('reader:a long password').toString('base64')}` }
  const page = async (number: number) => (await ask('GET', `/komga/api/v1/books/${one.id}/pages/${number}`)).bytes
  const send = async (path: string, { bytes, selected, as = komga.basic }: { bytes: Uint8Array; selected?: string; as?: string }) => {
    const body = new FormData()
    body.set('file', new Blob([Uint8Array.from(bytes)]), 'cover.png')
    if (selected !== undefined) body.set('selected', selected)
    const answer = await fetch(`${server.url}/komga/api/v1/${path}`, { method: 'POST', headers: { authorization: as }, body })
    return { status: answer.status, json: (await answer.json()) as Cover }
  }
  const [second, third] = [await page(2), await page(3)]

  for (const [shelf, idName, id] of [
    [`collections/${collection}`, 'collectionId', collection],
    [`readlists/${readList}`, 'readListId', readList],
  ] as const)
    await t.test(idName, async (t) => {
      const at = `/komga/api/v1/${shelf}`
      const shown = async () => (await ask('GET', `${at}/thumbnail`)).bytes
      const covers = async () => (await ask<Cover[]>('GET', `${at}/thumbnails`)).json
      t.same(await covers(), [])
      const first = await shown()
      const added = await send(`${shelf}/thumbnails`, { bytes: second })
      t.match(added, { status: 200, json: { type: 'USER_UPLOADED', selected: true, [idName]: id, mediaType: 'image/jpeg' } })
      const shape = { id: 'text', [idName]: 'text', type: 'text', selected: 'flag', mediaType: 'text', fileSize: 'whole' } as const
      t.same(decoderErrors({ ...shape, width: 'whole', height: 'whole' }, added.json), [])
      const chosen = await shown()
      t.notSame(chosen, first, 'the chosen cover is shown')
      const beside = await send(`${shelf}/thumbnails`, { bytes: third, selected: 'false' })
      t.match(beside.json, { selected: false })
      t.same(await shown(), chosen, 'the other is there too')
      t.equal((await send(`${shelf}/thumbnails`, { bytes: third, selected: 'perhaps' })).status, 400)
      t.same(
        (await covers()).map(({ selected }) => selected),
        [true, false],
      )
      t.equal((await ask('PUT', `${at}/thumbnails/${beside.json.id}/selected`)).status, 204)
      t.notSame(await shown(), chosen)
      const picture = await ask('GET', `${at}/thumbnails/${added.json.id}`, { headers: reader })
      t.match([picture.status, picture.headers.get('content-type')], [200, 'image/jpeg'])
      const conditional = {
        authorization: komga.basic,
        'if-none-match': (await ask('GET', `${at}/thumbnail`)).headers.get('etag') as string,
      }
      t.equal((await ask('GET', `${at}/thumbnail`, { headers: conditional })).status, 304)
      for (const [method, path] of [
        ['PUT', `/${added.json.id}/selected`],
        ['DELETE', `/${added.json.id}`],
      ] as const)
        t.equal((await ask(method, `${at}/thumbnails${path}`, { headers: reader })).status, 403)
      t.equal((await send(`${shelf}/thumbnails`, { bytes: third, as: reader.authorization })).status, 403)
      t.equal((await send(`${shelf}/thumbnails`, { bytes: Buffer.from('text') })).status, 415)
      t.equal((await ask('DELETE', `${at}/thumbnails/${beside.json.id}`)).status, 204)
      t.same(await shown(), first, 'without a chosen cover that of the first member')
      const other = shelf.startsWith('coll') ? `readlists/${readList}` : `collections/${collection}`
      t.equal((await ask('GET', `/komga/api/v1/${other}/thumbnails/${added.json.id}`)).status, 404, 'a cover belongs to one shelf')
      t.equal((await ask('DELETE', at)).status, 204)
      for (const path of ['thumbnail', 'thumbnails', `thumbnails/${added.json.id}`])
        t.equal((await ask('GET', `${at}/${path}`)).status, 404, path)
    })

  await t.test('books by their covers', async (t) => {
    const uploaded = await send(`books/${two.id}/thumbnails`, { bytes: second, selected: 'False' })
    t.match(uploaded, { status: 200, json: { selected: false } })
    const idsOf = async (value: object, operator = 'is') => {
      const body = { condition: { allOf: [{ seriesId: { operator: 'is', value: one.seriesId } }, { poster: { operator, value } }] } }
      const { json } = await ask<{ content: { id: string }[] }>('POST', '/komga/api/v1/books/list?sort=name,asc', { body })
      return json.content.map(({ id }) => id)
    }
    const all = books.content.map(({ id }) => id)
    t.same(await idsOf({ type: 'GENERATED' }), all)
    t.same(await idsOf({ type: 'GENERATED', selected: true }), all)
    t.same(await idsOf({ type: 'USER_UPLOADED' }), [two.id])
    t.same(await idsOf({ type: 'USER_UPLOADED', selected: true }), [])
    t.same(await idsOf({ selected: false }), [two.id])
    t.equal((await ask('PUT', `/komga/api/v1/books/${two.id}/thumbnails/${uploaded.json.id}/selected`)).status, 204)
    t.same(await idsOf({ type: 'USER_UPLOADED', selected: true }), [two.id])
    t.same(await idsOf({ type: 'GENERATED', selected: false }), [two.id])
    const others = all.filter((id) => id !== two.id)
    t.same(await idsOf({ type: 'user_uploaded' }, 'isNot'), others)
    t.same(await idsOf({ type: 'GENERATED', selected: true }), others)
    t.same(await idsOf({ type: 'SIDECAR' }), [])
    t.same(await idsOf({}), all)
  })
})
