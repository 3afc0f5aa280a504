import t from 'tap'
import type { Caller } from '#core/account/caller.ts'
import { changeSettings } from '#core/settings/chosen-setting-store.ts'
import { addWalker } from '#test/support/composed-server.ts'
import { comic } from '#test/support/library-fixture.ts'
import { openLibraryServer } from '#test/support/library-server.ts'

t.setTimeout(240_000)

t.test('no route sends the file of a book that waits for its analysis, except to administrators', async (t) => {
  const server = await openLibraryServer(t, { 'Saga/1.cbz': comic('1'), 'Saga/2.cbz': comic('2') })
  const { database, services, url, adminToken } = server
  const { id: userId } = await database('users').first('id')
  await changeSettings(database, [{ key: 'compatibilityApi.enabled', value: 'true' }], { userId, reason: null, address: '127.0.0.1' })
  const book = (await server.books()).get('Saga/2.cbz')
  const bookId = book?.id as string
  const [tag] = await database('sharing_tags').insert({ name: 'kept' }, ['id'])
  const reader = await addWalker(server, { role: 'reader', mode: 'deny', tagId: tag.id })
  const { json: list } = await server.ask<{ id: string }>('POST', 'read-lists', { name: 'Second', bookIds: [bookId] })
  const keyOf = async (token: string) => {
    const caller = (await services.accounts.callers.ofToken(token, 'token')) as Caller
    return (await services.accounts.createApiKey({ name: 'apps' }, caller)).key
  }
  const [readersKey, adminKey] = [await keyOf(reader.accessToken), await keyOf(adminToken)]
  const paths = [
    `/api/v1/books/${bookId}/file`,
    `/api/v1/series/${book?.series_id}/download`,
    `/opds/books/${bookId}/file`,
    `/komga/api/v1/books/${bookId}/file`,
    `/komga/api/v1/series/${book?.series_id}/file`,
    `/komga/api/v1/readlists/${list.id}/file`,
  ]
  const statuses = async (key: string) => {
    const found: [string, number][] = []
    for (const path of paths) {
      const response = await fetch(url + path, { headers: { 'x-api-key': key } })
      await response.arrayBuffer()
      found.push([path, response.status])
    }
    return found
  }
  const all = (status: number) => paths.map((path) => [path, status])
  // The compatibility API says so for a book that is not ready.
  const refused = paths.map((path) => [path, path.startsWith('/komga') ? 404 : 409])
  t.same(await statuses(readersKey), all(200))

  await database('books').where('id', bookId).update({ state: 'pending' })
  t.same(await statuses(readersKey), refused, 'its content is not known, new or replaced')
  t.same(await statuses(adminKey), all(200))
  t.match(await server.ask('GET', `books/${bookId}/file`, undefined, reader.accessToken), {
    status: 409,
    json: { error: 'not_analyzed', message: '"2.cbz" waits for its analysis; try again when it is done.' },
  })
  await database('books').where('id', bookId).update({ state: 'failed' })
  t.same(await statuses(readersKey), all(200), 'its analysis has ended')
  await database('books').where('id', bookId).update({ state: 'analyzed' })
  server.put('Saga/2.cbz', comic('replaced', 2))
  t.same(await statuses(readersKey), refused, 'no scan has seen what replaced it')
  t.equal((await statuses(adminKey))[0]?.[1], 200)
})
