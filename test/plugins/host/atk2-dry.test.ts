import t from 'tap'
import { addBook, addSeries } from '#test/support/library-rows.ts'
import { openMatchingServer } from '#test/support/matching-server.ts'

t.setTimeout(200_000)
t.test('L the dry run of a job gives the address of a stranger to the browser', async (t) => {
  const server = await openMatchingServer(t)
  const { database, request, adminToken } = server
  const [library] = await database('libraries').select('id')
  const series_id = await addSeries(database, { library_id: library.id, title: 'Berserk' })
  await addBook(database, { library_id: library.id, series_id, title: 'Berserk 1' })
  const [plugin] = await database('plugins').select('key')
  const path = `/api/v1/libraries/${library.id}/jobs`
  const made = await request<{ id: string }>('POST', path, { token: adminToken, body: { config: { type: 'metadata_refresh', provider: plugin.key } } })
  const { status, json } = await request('POST', `${path}/${made.json.id}/dry-run`, { token: adminToken, body: {} })
  t.comment(status, JSON.stringify(json))
  t.notOk(JSON.stringify(json).includes('covers.example.org'))
})
