import t from 'tap'
import { rateSeries, setTestRule } from '#test/support/access-rules.ts'
import { comic, until } from '#test/support/library-fixture.ts'
import { openLibraryServer } from '#test/support/library-server.ts'

t.setTimeout(120_000)

t.test('which keys and users may scan the folder of a series', async (t) => {
  const { ask, database, services, adminToken } = await openLibraryServer(t, { 'Saga/1.cbz': comic('a'), 'Bone/1.cbz': comic('b') })
  const idOf = async (name: string): Promise<string> => (await database('series').where('path', name).first('id')).id
  const ids = { Saga: await idOf('Saga'), Bone: await idOf('Bone') }
  const keyOf = async (permissions: string[]) =>
    (await ask<{ id: string; key: string }>('POST', 'api-keys', { name: permissions.join(), permissions })).json
  const send = async (name: keyof typeof ids, token: string) => {
    const answer = await ask('POST', `series/${ids[name]}/scan`, undefined, token)
    await until(async () => (await services.scans.listActive()).length === 0)
    return answer
  }
  const scan = async (name: keyof typeof ids, token: string) => (await send(name, token)).status
  const scanner = await keyOf(['scans-start'])
  t.equal(await scan('Saga', scanner.key), 202)
  t.equal(await scan('Saga', (await keyOf(['libraries-read', 'series-read', 'books-read'])).key), 403, 'one that only reads')
  t.equal(await scan('Saga', (await keyOf(['libraries-write'])).key), 202, 'one whose permission includes it')
  t.equal(await scan('Saga', 'nonsense'), 401)
  t.equal(await scan('Saga', adminToken), 202)

  // A key for an app that must not see one of the series.
  await rateSeries(database, ids.Saga, 18)
  await setTestRule(database, { api_key_id: scanner.id }, { age: { mode: 'not_from', years: 18, unrated: 'show' } })
  t.equal(await scan('Saga', scanner.key), 404, 'a series that it may not see')
  t.match(await send('Bone', scanner.key), { status: 202, json: { filesTotal: 0, errors: [] } }, 'another one, and nothing about the rest')
  t.equal(
    (await ask('POST', `libraries/${(await database('libraries').first('id')).id}/scan?path=Saga`, undefined, scanner.key)).status,
    403,
  )

  // An end that has passed when the request arrives is refused.
  await until(async () => {
    const expiresAt = new Date(Date.now() + 1_000).toISOString()
    return (await ask('PATCH', `api-keys/${scanner.id}`, { expiresAt })).status === 200
  })
  await until(async () => (await scan('Bone', scanner.key)) === 401)
  const deleted = await keyOf(['scans-start'])
  t.equal(await scan('Bone', deleted.key), 202)
  t.equal((await ask('DELETE', `api-keys/${deleted.id}`)).status, 204)
  t.equal(await scan('Bone', deleted.key), 401, 'one that was deleted')
})
