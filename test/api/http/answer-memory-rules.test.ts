import t from 'tap'
import type { Caller } from '#core/account/caller.ts'
import { readListState } from '#core/catalog/list-state-query.ts'
import { computeSeriesNumbers } from '#core/catalog/series-numbers-store.ts'
import { rateSeries, setTestRule } from '#test/support/access-rules.ts'
import { openNode } from '#test/support/composed-server.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { ask, openFresh, openWorld, requestsOf } from '#test/support/remembered-answers.ts'

t.test('a rule changes the answers of its user at once, on every node, and lets those of others be', async (t) => {
  const { database, folder, services, url, known, users } = await openWorld(t)
  const node = await openNode(t, { database, folder })
  const [admin, reader] = users as [(typeof users)[0], (typeof users)[0]]
  await rateSeries(database, known.besideSeriesId as string, 6)
  await computeSeriesNumbers(database)
  const caller = (await services.accounts.callers.ofToken(reader.accessToken, 'token')) as Caller
  const key = await services.accounts.createApiKey({ name: 'tablet' }, caller)
  const urls = [url, node.url]
  const each = sizeOf('of how many requests one is sent', { main: 3, full: 1 })
  const all = requestsOf(known).filter((_, at) => at % each === 0)
  const askAll = async (token: string) => {
    for (const asked of all) for (const of of urls) await ask(of, asked, token)
  }
  for (const token of [admin.accessToken, reader.accessToken, key.key]) await askAll(token)
  const stateOfAdmin = async () => await readListState(database, { userId: admin.id, narrowedBy: null })
  const before = await stateOfAdmin()
  const put = async (rule: object) => {
    const asked = { name: '', method: 'PUT', path: `/api/v1/users/${reader.id}/access`, body: JSON.stringify(rule) }
    t.match(await ask(url, asked, admin.accessToken), { status: 200 })
  }
  const age = { mode: 'up_to', years: 12 }
  const changes: [name: string, change: () => Promise<unknown>][] = [
    ['no library', () => put({ allLibraries: false, libraryIds: [], age: null })],
    ['only what is rated', () => put({ allLibraries: true, libraryIds: [], age })],
    ['no rule', () => put({ allLibraries: true, libraryIds: [], age: null })],
    ['a rule of the key', () => setTestRule(database, { api_key_id: key.id }, { libraries: [] })],
  ]
  for (const [name, change] of changes) {
    await change()
    const fresh = await openFresh(services)
    for (const token of [reader.accessToken, key.key]) {
      for (const asked of all) {
        const wanted = await ask(fresh.url, asked, token)
        for (const of of urls) t.same(await ask(of, asked, token), wanted, `${name}: ${asked.name}`)
      }
    }
    await fresh.close()
  }
  t.same(await stateOfAdmin(), before, 'neither the catalog nor what is of others has changed')
  let reads = 0
  database.on('query', ({ sql }: { sql: string }) => {
    if (/\b(series|books)\./.test(sql)) reads++
  })
  await askAll(admin.accessToken)
  t.equal(reads, 0, 'all answers of others are remembered')
})
