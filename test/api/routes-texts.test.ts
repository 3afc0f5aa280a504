import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openTemplates } from '#plugins/templates/templates.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

async function openRecords(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-texts-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const server = await openTestServer(t, {
    settings: { dataFolder: join(folder, 'data') },
    services: () => ({ templates: openTemplates(findSupervisor()), tasks: { add: async () => ({ taskId: '' }) } as never }),
  })
  const { database, adminToken: token } = server
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Saga' })
  const bookId = await addBook(database, { library_id, series_id, title: 'Saga 1' })
  const ask = async <T = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
    await server.request<T>(method, `/api/v1/${path}`, { token, ...(body !== undefined && { body }) })
  /** A body that is sent as it is written. */
  const send = async (method: string, path: string, body: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${server.url}/api/v1/${path}`, { method, headers, body })
    return { status: answer.status, text: await answer.text() }
  }
  return { server, database, ask, send, bookId, seriesId: series_id }
}

t.test('text that people send is trimmed', async (t) => {
  const { ask, database, bookId, seriesId } = await openRecords(t)
  const book = {
    subtitle: ' The \n',
    publisher: '\tImage ',
    subjects: [' a ', 'b'],
    authors: [{ name: ' Ada ', role: 'writer', sortName: ' A ' }],
  }
  t.match((await ask('PATCH', `books/${bookId}/metadata`, { ...book, inker: ' Bob ,  Cid ' })).json, {
    ...{ subtitle: 'The', publisher: 'Image', subjects: ['a', 'b'], writer: 'Ada', inker: 'Bob, Cid' },
    authors: [{ name: 'Ada', role: 'writer', sortName: 'A' }, {}, {}],
  })
  t.match((await ask('PATCH', `books/${bookId}`, { title: ' New  title ' })).json, { title: 'New  title' })
  t.match(await ask('PATCH', `books/${bookId}`, { title: ' \n' }), { status: 422, json: { error: 'invalid_value' } }, 'a blank one is none')
  t.match((await ask('PATCH', `books/${bookId}/metadata`, { subtitle: '  ' })).json, { subtitle: null }, 'a blank text is none')
  t.match((await ask('PATCH', `series/${seriesId}`, { title: ' Saga! ' })).json, { title: 'Saga!' })
  t.match((await ask('POST', `series/${seriesId}/alternate-titles`, { label: ' Native ', title: ' Сага ' })).json, {
    label: 'Native',
    title: 'Сага',
  })
  t.match((await ask('POST', `series/${seriesId}/external-ids`, { source: ' mal ', externalId: ' 1 ' })).json, {
    source: 'mal',
    externalId: '1',
  })
  t.match((await ask('POST', `series/${seriesId}/genres`, { name: ' Space  Opera ' })).json, { name: 'Space Opera' })
  t.match((await ask('PUT', `series/${seriesId}/rating`, { rating: 80, notes: ' good\n' })).json, { notes: 'good' })
  t.match((await ask('POST', 'collections', { name: ' Best ', summary: ' of all ' })).json, { name: 'Best', summary: 'of all' })
  t.match((await ask('POST', 'read-lists', { name: ' Next ' })).json, { name: 'Next' })
  t.match((await ask('POST', 'api-keys', { name: ' reports ' })).json, { name: 'reports' })
  t.match(await ask('POST', 'api-keys', { name: ' ' }), { status: 422 })
  t.match((await ask('PUT', 'admin/settings/application.name', { value: ' Our library ' })).json, { value: 'Our library' })

  const template = 'display.custom_metadata_template'
  t.match((await ask('PUT', `admin/settings/${template}`, { value: '{{title}} \n' })).json, { value: '{{title}} \n' })
  t.equal((await database('api_keys').where('name', 'reports')).length, 1)
})

t.test("metadata of one's own comes back as JSON.parse reads it", async (t) => {
  const { send, ask, server, bookId, seriesId, database } = await openRecords(t)
  const sent =
    '{"2":{"z":[],"a":null},"10":1,"shelf":" B 7 ","id":9007199254740993,"id":9007199254740992,"pi":3.141592653589793,"big":{"9":0,"1":[1E-1]}}'
  const own = JSON.stringify(JSON.parse(sent))
  for (const record of [`books/${bookId}`, `series/${seriesId}`]) {
    const set = await send('PATCH', `${record}/metadata`, `{"customMetadata":${sent},"summary":" s "}`)
    t.equal(set.status, 200, set.text)
    t.ok(set.text.includes(`"customMetadata":${own}`), set.text)
    const { text } = await server.request('GET', `/api/v1/${record}/metadata`, { token: server.adminToken })
    t.ok(text.includes(`"customMetadata":${own}`), 'and is told so again')
    const full = await server.request('GET', `/api/v1/${record}?full=true`, { token: server.adminToken })
    t.ok(full.text.includes(`"customMetadata":${own}`), 'in full records too')
    const again = await send('PATCH', `${record}/metadata`, `{"customMetadata":${own}}`)
    t.equal(JSON.parse(again.text).updatedAt, JSON.parse(set.text).updatedAt, 'the same once more changes nothing')
    const turned = '{"b":1,"a":2}'
    t.ok((await send('PATCH', `${record}/metadata`, '{"customMetadata":{"a":2,"b":1}}')).text.includes('{"a":2,"b":1}'))
    t.ok((await send('PUT', `${record}/metadata`, `{"customMetadata":${turned}}`)).text.includes(turned), 'another order is another value')
  }
  const context = await server.request('GET', `/api/v1/books/${bookId}/context`, { token: server.adminToken })
  t.ok(context.text.includes('"customMetadata":{"b":1,"a":2}'), 'templates find the same')
  t.match(await send('PATCH', `books/${bookId}/metadata`, '{"customMetadata":[1]}'), { status: 400 })
  t.match(
    await send('PATCH', `books/${bookId}/metadata`, '{"customMetadata":{"far":1e400}}'),
    { status: 422 },
    'no client could read it again',
  )
  const tooLong = await send('PUT', `books/${bookId}/metadata`, '{"year":1,"customMetadata":{"b":1,"a/b":[{},0.12345678901234567890]}}')
  t.match(tooLong, { status: 422 })
  t.match(JSON.parse(tooLong.text), { error: 'invalid_value', details: [{ path: '/customMetadata/a~1b/1', message: /more digits/ }] })
  t.match(await send('PATCH', `books/${bookId}/metadata`, `{"customMetadata":{"n":"${'x'.repeat(70_000)}"}}`), { status: 422 })
  t.match(
    await send('PATCH', `books/${bookId}/metadata`, `{"customMetadata":{"n":${'[12345678901234567890,'.repeat(20)}1${']'.repeat(20)}}}`),
    { status: 422 },
  )
  t.match(await send('PATCH', `books/${bookId}/metadata`, '{"year":12345678901234567890}'), { status: 422 }, 'other numbers are plain ones')
  t.equal((await ask('POST', 'books/list', { fullTextSearch: 'Saga' })).status, 200)
  t.equal((await database('book_metadata').where('book_id', bookId)).length, 1)
})

t.test('numbers keep their digits, and volumes are what an int32 holds', async (t) => {
  const { ask, bookId, database } = await openRecords(t)
  const of = async () => (await ask('GET', `books/${bookId}`)).json as { book: Record<string, unknown> }
  for (const chapter of [10.12345678, 0.1, 1e-7, -3.25, 123456789012.5, 1e15]) {
    t.match((await ask('PATCH', `books/${bookId}/metadata`, { chapter, seriesPosition: chapter })).json, {
      chapter,
      seriesPosition: chapter,
    })
    t.equal((await of()).book['chapter'], chapter, String(chapter))
    const condition = { chapter: { operator: 'eq', value: chapter } }
    t.same((await ask('POST', 'books/list', { condition })).status, 400, 'chapter is no field of filters')
  }
  for (const number of [1e16, -1e16, 1e308, -1e308]) {
    const where = JSON.stringify({ number })
    t.equal((await ask('PATCH', `books/${bookId}/metadata`, { chapter: number })).status, 422, where)
    t.equal((await ask('PATCH', `books/${bookId}`, { number })).status, 422, where)
    for (const operand of [
      { operator: 'lt', value: number },
      { operator: 'between', min: number },
    ])
      t.match(await ask('POST', 'books/list', { condition: { number: operand } }), { status: 400 }, where)
  }
  t.equal((await ask('PATCH', `books/${bookId}`, { number: 10.12345678 })).status, 200)
  t.match((await ask('GET', `books/${bookId}?full=true`)).json, { metadata: { number: '10.12345678' } })
  const found = await ask<{ total: number }>('POST', 'books/list', { condition: { number: { operator: 'eq', value: 10.12345678 } } })
  t.equal(found.json.total, 1)
  for (const value of [-2147483648, -1, 0, 2147483647]) {
    const given = { volume: value, count: value, seriesTotal: value }
    t.match(await ask('PATCH', `books/${bookId}/metadata`, given), { status: 200, json: given }, String(value))
    t.equal((await of()).book['volume'], value)
  }
  for (const value of [-2147483649, 2147483648]) t.equal((await ask('PATCH', `books/${bookId}/metadata`, { volume: value })).status, 422)
  t.equal((await ask('PATCH', `books/${bookId}/metadata`, { volume: 1.5 })).status, 400)
  t.match(await database('books').where('id', bookId).first('volume'), { volume: 2147483647 })
})
