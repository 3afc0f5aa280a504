import t from 'tap'
import { BOOK, SERIES } from '#test/support/komga-decoders.ts'
import { decoderErrors, openKomgaServer, setSetting } from '#test/support/komga-server.ts'

type Metadata = Record<string, unknown>
interface Listed {
  content: { id: string; seriesId: string; metadata: Metadata }[]
}

t.setTimeout(60_000)
t.test('metadata that apps change', async (t) => {
  const komga = await openKomgaServer(t)
  const { server, ask } = komga
  await setSetting(komga, 'compatibilityApi.enabled', 'true')
  const find = async (search: string) =>
    (await ask<Listed>('GET', `/komga/api/v1/books?search=${encodeURIComponent(search)}`)).json.content[0] as Listed['content'][0]
  const [{ id: book, seriesId: series, metadata: before }, { id: epub }] = [await find('Issue 1'), await find('Emma')]
  const patch = (path: string, body: object) =>
    ask<{ violations?: { fieldName: string; message: string }[] }>('PATCH', `/komga/api/v1/${path}`, { body })
  const metadataOf = async (path: string) => (await ask<{ metadata: Metadata }>('GET', `/komga/api/v1/${path}`)).json.metadata
  const own = (path: string) =>
    server.get<{ locks: Record<string, boolean>; sources: Record<string, string> } & Metadata>(`/api/v1/${path}/metadata?sources=true`)

  await t.test('a form that is sent back whole changes neither source nor lock', async (t) => {
    const [book1, series1, emma1] = [await own(`books/${book}`), await own(`series/${series}`), await own(`books/${epub}`)]
    t.equal((await patch(`books/${book}/metadata`, before)).status, 204)
    t.equal((await patch(`books/${epub}/metadata`, await metadataOf(`books/${epub}`))).status, 204)
    t.equal((await patch(`series/${series}/metadata`, await metadataOf(`series/${series}`))).status, 204)
    t.same(await own(`books/${book}`), book1)
    t.same(await own(`series/${series}`), series1)
    t.same(await own(`books/${epub}`), emma1)
  })

  await t.test('metadata of a book is changed by the Komga API', async (t) => {
    const body = {
      ...{ title: 'The first', summary: 'It begins.', number: '1.5', numberSort: 1.5, releaseDate: '1986-09-05', tags: ['New', 'classic'] },
      ...{ links: [{ label: 'comicvine', url: 'https://comicvine.example/1' }], isbn: '9783161484100', linksLock: true, tagsLock: true },
      ...{ authors: [...(before['authors'] as object[]), { name: 'John Higgins', role: 'colorist' }], summaryLock: false },
    }
    t.equal((await patch(`books/${book}/metadata`, body)).status, 204)
    const after = await ask<{ metadata: Metadata }>('GET', `/komga/api/v1/books/${book}`)
    t.same(decoderErrors(BOOK, after.json), [])
    t.match(after.json.metadata, {
      ...{
        title: 'The first',
        titleLock: true,
        summary: 'It begins.',
        summaryLock: false,
        number: '1.5',
        numberSort: 1.5,
        numberLock: true,
      },
      ...{ releaseDate: '1986-09-05', releaseDateLock: true, authorsLock: true, isbn: '9783161484100', isbnLock: true },
      ...{ tags: ['New', 'classic'], links: [{ label: 'comicvine', url: 'https://comicvine.example/1' }] },
    })
    t.equal((after.json.metadata['authors'] as object[]).length, 3)
    t.match((await own(`books/${book}`)).sources, { summary: 'user', year: 'embedded', day: 'user' }, 'what stood already keeps its source')
    t.equal((await patch(`books/${book}/metadata`, { titleLock: false, links: [], summary: null, tags: [] })).status, 204)
    t.match(await metadataOf(`books/${book}`), { title: 'The first', titleLock: false, links: [], summary: '', tags: [] })
  })

  await t.test('what cannot be kept is refused with its member, and nothing of it is done', async (t) => {
    const was = await own(`books/${book}`)
    for (const [body, fieldName] of [
      [{ title: 'Other', authors: [{ name: 'A', role: 'typist' }] }, 'authors.0.role'],
      [{ title: 'Other', number: 'Annual' }, 'number'],
      [{ title: 'Other', releaseDate: '1986-02-31' }, 'releaseDate'],
      [{ title: 'Other', isbn: '123' }, 'isbn'],
      [{ title: 'Other', tags: ['x'.repeat(200)] }, 'tags.0'],
      [{ title: 7 }, 'title'],
    ] as const) {
      const { status, json } = await patch(`books/${book}/metadata`, body)
      t.match([status, json], [400, { violations: [{ fieldName, message: /./ }] }], JSON.stringify(body).slice(0, 80))
    }
    t.same(await own(`books/${book}`), was)
    t.equal((await patch('books/00000000-0000-4000-8000-000000000000/metadata', { title: 'x' })).status, 404)
  })

  await t.test('many books at once: all of them or none', async (t) => {
    t.equal((await patch('books/metadata', { [book]: { title: 'A' }, [epub]: { title: 'B' } })).status, 204)
    t.match([await metadataOf(`books/${book}`), await metadataOf(`books/${epub}`)], [{ title: 'A' }, { title: 'B' }])
    t.equal((await patch('books/metadata', { [book]: { title: 'C' }, '00000000-0000-4000-8000-000000000000': { title: 'D' } })).status, 404)
    t.equal((await patch('books/metadata', { [book]: { title: 'C' }, [epub]: { tags: ['x'.repeat(200)] } })).status, 400)
    t.match((await patch('books/metadata', { nobody: { title: 'C' } })).json, { violations: [{ fieldName: 'nobody' }] })
    t.match(await metadataOf(`books/${book}`), { title: 'A' })
  })

  await t.test('metadata of a series is changed by the Komga API', async (t) => {
    const body = {
      ...{
        title: 'Watchmen',
        titleSort: 'Watchmen',
        status: 'ended',
        statusLock: true,
        summary: 'Who watches?',
        readingDirection: 'LEFT_TO_RIGHT',
      },
      ...{ publisher: 'DC Comics', ageRating: 16, language: 'en', genres: ['Drama', 'Crime'], tags: ['x'], totalBookCount: 12 },
      ...{ sharingLabels: ['adults'], links: [{ label: 'anilist', url: 'https://anilist.example/2' }] },
      ...{ alternateTitles: [{ label: 'de', title: 'Die Wächter' }], alternateTitlesLock: true, tagsLock: false },
    }
    t.equal((await patch(`series/${series}/metadata`, body)).status, 204)
    const after = await ask<{ metadata: Metadata }>('GET', `/komga/api/v1/series/${series}`)
    t.same(decoderErrors(SERIES, after.json), [])
    t.match(after.json.metadata, {
      ...{
        title: 'Watchmen',
        titleSort: 'Watchmen',
        status: 'ENDED',
        statusLock: true,
        summary: 'Who watches?',
        ageRating: 16,
        totalBookCount: 12,
      },
      ...{ genres: ['Crime', 'Drama'], genresLock: true, tags: ['x'], tagsLock: false, sharingLabels: ['adults'], publisher: 'DC Comics' },
      ...{ links: [{ label: 'anilist' }], alternateTitles: [{ label: 'de', title: 'Die Wächter' }], alternateTitlesLock: true },
    })
    t.equal(
      (await patch(`series/${series}/metadata`, { sharingLabels: [], alternateTitles: [], links: null, ageRating: null })).status,
      204,
    )
    t.match(await metadataOf(`series/${series}`), { sharingLabels: [], alternateTitles: [], links: [], ageRating: null, title: 'Watchmen' })
    t.match((await patch(`series/${series}/metadata`, { status: 'paused' })).json, {
      violations: [{ fieldName: 'status', message: /ONGOING/ }],
    })
    t.match((await patch(`series/${series}/metadata`, { language: 'Klingon!' })).json, { violations: [{ fieldName: 'language' }] })
  })

  await t.test('covers are changed by the Komga API', async (t) => {
    const picture = (await ask('GET', `/komga/api/v1/books/${book}/pages/3`)).bytes
    const send = async (path: string) => {
      const form = new FormData()
      form.append('file', new Blob([picture], { type: 'image/png' }), 'cover.png')
      const answer = await fetch(`${server.url}/komga/api/v1/${path}`, {
        method: 'POST',
        headers: { authorization: komga.basic },
        body: form,
      })
      return { status: answer.status, json: (await answer.json()) as { id: string } }
    }
    const list = async (path: string) => (await ask<{ id: string; type: string; selected: boolean }[]>('GET', `/komga/api/v1/${path}`)).json
    const [generated] = await list(`books/${book}/thumbnails`)
    t.match(generated, { id: book, bookId: book, type: 'GENERATED', selected: true, mediaType: 'image/jpeg', fileSize: Number })
    const first = (await ask('GET', `/komga/api/v1/books/${book}/thumbnail`)).bytes
    t.same((await ask('GET', `/komga/api/v1/books/${book}/thumbnails/${book}`)).bytes, first)
    const beside = await send(`books/${book}/thumbnails?selected=false`)
    t.match(beside, { status: 200, json: { type: 'USER_UPLOADED', selected: false, bookId: book } })
    t.same((await ask('GET', `/komga/api/v1/books/${book}/thumbnail`)).bytes, first, 'it is not shown yet')
    t.equal((await ask('PUT', `/komga/api/v1/books/${book}/thumbnails/${beside.json.id}/selected`)).status, 204)
    t.notSame((await ask('GET', `/komga/api/v1/books/${book}/thumbnail`)).bytes, first)
    t.match(await list(`books/${book}/thumbnails`), [{ selected: false }, { selected: true }])
    t.equal((await ask('GET', `/komga/api/v1/books/${book}/thumbnails/${beside.json.id}`)).headers.get('content-type'), 'image/jpeg')
    t.equal((await ask('PUT', `/komga/api/v1/books/${book}/thumbnails/${book}/selected`)).status, 204)
    t.same((await ask('GET', `/komga/api/v1/books/${book}/thumbnail`)).bytes, first)
    t.match((await ask('DELETE', `/komga/api/v1/books/${book}/thumbnails/${book}`)).json, { status: 400, message: /comes from the file/ })
    t.equal((await ask('DELETE', `/komga/api/v1/books/${book}/thumbnails/${beside.json.id}`)).status, 204)
    t.equal((await ask('GET', `/komga/api/v1/books/${book}/thumbnails/${beside.json.id}`)).status, 404)

    t.same(await list(`series/${series}/thumbnails`), [])
    // Only books have a cover with their own id.
    const NOBODY = '00000000-0000-4000-8000-000000000000'
    for (const [id, message] of [
      [series, /series has no cover/],
      [NOBODY, /There is no series/],
    ] as const)
      t.match((await ask('GET', `/komga/api/v1/series/${id}/thumbnails/${id}`)).json, { status: 404, message })
    const ofSeries = await send(`series/${series}/thumbnails`)
    t.match(ofSeries, { status: 200, json: { selected: true, seriesId: series } })
    t.match(await list(`series/${series}/thumbnails`), [{ id: ofSeries.json.id, selected: true }])
    t.equal((await ask('DELETE', `/komga/api/v1/series/${series}/thumbnails/${ofSeries.json.id}`)).status, 204)
    const { json: shelf } = await ask<{ id: string }>('POST', '/komga/api/v1/collections', {
      body: { name: 'Best', ordered: false, seriesIds: [series] },
    })
    t.same(await list(`collections/${shelf.id}/thumbnails`), [])
    t.match(await send(`collections/${shelf.id}/thumbnails`), { status: 200, json: { selected: true, collectionId: shelf.id } })
  })
})
