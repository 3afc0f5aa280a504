import t from 'tap'
import { addBook, addSeries } from '#test/support/library-rows.ts'
import { openMatchingServer } from '#test/support/matching-server.ts'

t.setTimeout(200_000)
t.test('the dry run of a job names pictures by tokens of the server', async (t) => {
  const server = await openMatchingServer(t)
  const { database, request, adminToken } = server
  const [library] = await database('libraries').select('id')
  const series_id = await addSeries(database, { library_id: library.id, title: 'Berserk' })
  await addBook(database, { library_id: library.id, series_id, title: 'Berserk 1' })
  const [plugin] = await database('plugins').select('key')
  const path = `/api/v1/libraries/${library.id}/jobs`
  const made = await request<{ id: string }>('POST', path, {
    token: adminToken,
    body: { config: { type: 'metadata_refresh', provider: plugin.key } },
  })
  const { json } = await request('POST', `${path}/${made.json.id}/dry-run`, { token: adminToken, body: {} })
  t.notOk(JSON.stringify(json).includes('covers.example.org'))
})
