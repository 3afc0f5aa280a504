import { randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { readingRoutes } from '#api/rest/reading/reading.ts'
import type { Caller } from '#core/account/caller.ts'
import { PositionLists } from '#core/reading/position-lists.ts'
import { relativeAddresses } from '#core/reading/web-publication.ts'
import { buildEpub, textPage } from '#test/support/epub-builder.ts'
import { shareSeries } from '#test/support/library-rows.ts'
import { openReadingServer } from '#test/support/readable-books.ts'
import { get } from '#test/support/server.ts'

t.setTimeout(60_000)

/** Nine million characters that do not compress: more than 6,000 positions. */
const longNovel = () => buildEpub({ files: { 'c1.xhtml': textPage(randomBytes(6_750_000).toString('base64')) } })

t.test('the list of a long book is made once, however many apps open it at the same time', async (t) => {
  const { server, addFile, database, counts } = await openReadingServer(t, readingRoutes)
  const book = await addFile('Long.epub', longNovel())
  const url = `${server.url}/api/v1/books/${book.id}/positions`
  const ask = (headers: Record<string, string> = {}, token = server.adminToken) =>
    get(url, { headers: { authorization: `Bearer ${token}`, ...headers } })

  const answers = await Promise.all(Array.from({ length: 40 }, () => ask({ 'accept-encoding': 'gzip' })))
  t.equal(counts.publications, 1)
  const [{ headers, bytes }] = answers as [(typeof answers)[0]]
  t.ok(answers.every((answer) => answer.status === 200 && answer.bytes.equals(bytes)))
  t.equal(headers['content-encoding'], 'gzip')
  t.ok(bytes.length < 200_000, `${bytes.length} bytes`)
  const list = JSON.parse(gunzipSync(bytes).toString())
  t.ok(list.total > 6_000, `${list.total} positions`)
  t.equal(list.positions.length, list.total)
  t.equal(list.positions.at(-1).locations.position, list.total)

  const plain = await ask({ 'accept-encoding': 'identity' })
  t.same(JSON.parse(plain.bytes.toString()), list)
  t.not(plain.headers.etag, headers.etag, 'other bytes have another name')
  for (const [encoding, etag] of [
    ['gzip', headers.etag],
    ['identity', plain.headers.etag],
  ] as [string, string][]) {
    const again = await ask({ 'accept-encoding': encoding, 'if-none-match': etag })
    t.match(again, { status: 304, headers: { etag, vary: /Accept-Encoding/ } }, encoding)
    t.equal(again.bytes.length, 0)
  }

  const hidden = await server.signUp({ username: 'rita' })
  const { series_id: seriesId } = await database('books').where({ id: book.id }).first('series_id')
  await shareSeries(database, { seriesId, caller: { userId: hidden.id }, mode: 'deny' })
  t.equal((await ask({ 'if-none-match': headers.etag as string }, hidden.token)).status, 404, 'a name of the content opens nothing')

  await database('books')
    .where({ id: book.id })
    .update({ analyzed_at: new Date(Date.now() + 60_000) })
  t.not((await ask({ 'accept-encoding': 'gzip' })).headers.etag, headers.etag, 'another analysis may know more')
})

t.test('addresses of another protocol make another list; a failed list is made again on request', async (t) => {
  const { server, addFile } = await openReadingServer(t, readingRoutes)
  const { positionLists } = server.services
  const book = await addFile('Short.epub', buildEpub())
  const caller = (await server.services.accounts.callers.ofToken(server.adminToken, 'token'))!
  const ask = { caller, bookId: book.id }
  const relative = await positionLists.get(ask, relativeAddresses('manifest'))
  const other = await positionLists.get(ask, { ...relativeAddresses('manifest'), resource: (path) => path })
  t.not(relative.etag, other.etag)
  const first = async (list: typeof relative) => JSON.parse(gunzipSync(await list.gzipped()).toString()).positions[0].href
  t.equal(await first(relative), 'resource/OPS/c1.xhtml')
  t.equal(await first(other), 'OPS/c1.xhtml')

  let fails = true
  const { publications, pageReader } = server.services
  const lists = new PositionLists({
    pageReader,
    publications: {
      getReadable: (asked) => publications.getReadable(asked),
      get: (asked) => (fails ? Promise.reject(new Error('The disk is away.')) : publications.get(asked)),
    },
  })
  const list = await lists.get(ask, relativeAddresses('manifest'))
  await t.rejects(list.gzipped(), { message: 'The disk is away.' })
  fails = false
  t.ok((await list.gzipped()).length > 0)
  await lists.close()
})

t.test('a list that one user began is not refused to others when that user is deleted', async (t) => {
  const { server, addFile } = await openReadingServer(t, readingRoutes)
  const { publications, pageReader, accounts } = server.services
  const book = await addFile('Short.epub', buildEpub())
  const leaving = await server.signUp({ username: 'rita' })
  const [first, second] = (await Promise.all(
    [leaving.token, server.adminToken].map((token) => accounts.callers.ofToken(token, 'token')),
  )) as [Caller, Caller]
  const begun = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const lists = new PositionLists({
    pageReader,
    publications: {
      getReadable: (asked) => publications.getReadable(asked),
      get: async (asked) => {
        begun.resolve()
        if (asked.caller === first) await gone.promise
        return await publications.get(asked)
      },
    },
  })
  const [one, two] = await Promise.all(
    [first, second].map((caller) => lists.get({ caller, bookId: book.id }, relativeAddresses('manifest'))),
  )
  const refused = t.rejects(one!.gzipped(), { code: 'not_found' })
  await begun.promise
  const given = two!.gzipped()
  given.catch(() => {})
  await accounts.removeUser(leaving.id, null)
  gone.resolve()
  await refused
  t.ok((await given).length > 0)
  await lists.close()
})
