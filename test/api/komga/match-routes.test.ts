import t from 'tap'
import { decoderErrors, openKomgaServer, setSetting } from '#test/support/komga-server.ts'

t.setTimeout(60_000)

const READ_LIST_MATCH = {
  readListMatch: { name: 'text', errorCode: 'text' },
  requests: [
    {
      request: { series: 'texts', number: 'text' },
      matches: [
        { series: { seriesId: 'text', title: 'text', releaseDate: 'day?' }, books: [{ bookId: 'text', number: 'text', title: 'text' }] },
      ],
    },
  ],
  errorCode: 'text',
} as const

interface Match {
  readListMatch: { name: string; errorCode: string }
  requests: { request: object; matches: { series: { seriesId: string }; books: { bookId: string }[] }[] }[]
}

const book = (series: string, number: string, more = '') => `<Book Series="${series}" Number="${number}" ${more}><Id>x</Id></Book>`
const cbl = (books: string, name = '<Name>Event</Name>') => `<?xml version="1.0"?><ReadingList>${name}<Books>${books}</Books></ReadingList>`

t.test('a CBL file is matched against the library', async (t) => {
  const komga = await openKomgaServer(t)
  const { ask, server } = komga
  await setSetting(komga, 'compatibilityApi.enabled', 'true')
  const [one] = (await ask<{ content: { id: string; seriesId: string }[] }>('GET', '/komga/api/v1/books?search=Issue%201')).json.content
  const { id, seriesId } = one as { id: string; seriesId: string }
  const match = async (text: string, authorization = komga.basic, name = 'event.cbl') => {
    const body = new FormData()
    body.set('file', new Blob([text]), name)
    const answer = await fetch(`${server.url}/komga/api/v1/readlists/match/comicrack`, { method: 'POST', headers: { authorization }, body })
    return { status: answer.status, json: (await answer.json()) as Match & { message: string } }
  }

  const text = cbl(book('WATCH', '1', 'Volume="1986"') + book('Watch', '7') + book('Nobody', '1A', 'Volume="1"'))
  const { status, json } = await match(text)
  t.equal(status, 200)
  t.same(decoderErrors(READ_LIST_MATCH as never, json), [])
  t.same(json, {
    readListMatch: { name: 'Event', errorCode: '' },
    requests: [
      {
        request: { series: ['WATCH (1986)', 'WATCH'], number: '1' },
        matches: [
          { series: { seriesId, title: 'Watch', releaseDate: '1986-09-01' }, books: [{ bookId: id, number: '1', title: 'Issue 1' }] },
        ],
      },
      { request: { series: ['Watch'], number: '7' }, matches: [] },
      { request: { series: ['Nobody'], number: '1A' }, matches: [] },
    ],
    errorCode: '',
  })
  t.match((await ask('GET', '/komga/api/v1/readlists')).json, { totalElements: 0 }, 'nothing was made')

  await ask('POST', '/komga/api/v1/readlists', { body: { name: 'EVENT', bookIds: [id] } })
  t.match((await match(text)).json.readListMatch, { name: 'Event', errorCode: 'ERR_1009' }, 'the name is taken')
  t.match((await match(cbl(book('Watch', '1'), ''))).json.readListMatch, { name: 'event' }, 'the name of the file')
  for (const bad of ['<x', '<ComicInfo/>', cbl(''), cbl(book('a', '1').repeat(5_001))]) {
    const refused = await match(bad)
    t.match([refused.status, refused.json.message], [400, /^ERR_1015: /], bad.slice(0, 20))
  }
  const many = await match(cbl(book('Watch', '1').repeat(300)))
  t.equal(many.json.requests.filter(({ matches }) => matches[0]?.books[0]?.bookId === id).length, 300)

  await ask('POST', '/komga/api/v2/users', { body: { email: 'reader@example.org', password: 'a long password' } })
  t.equal((await match(text, `Basic ${Buffer.from('reader:a long password').toString('base64')}`)).status, 403)
})
