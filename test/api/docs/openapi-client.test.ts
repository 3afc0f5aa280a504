import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import openapiTypes from 'openapi-typescript'
import t from 'tap'
import { describeRoutes } from '#api/docs/openapi.ts'
import { routes } from '#api/routes.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { ADMIN } from '#test/support/server.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const flows = fileURLToPath(new URL('../fixtures/client-flows.ts', import.meta.url))
/** What the flows need of the compiler; `dom` has what the client is declared with. */
const TYPES = {
  compilerOptions: {
    ...{ target: 'es2024', lib: ['es2024', 'dom', 'dom.iterable'], module: 'nodenext', types: [] },
    ...{ strict: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true },
  },
  files: ['client-flows.ts'],
}

interface Flows {
  signIn(url: string, proof: object): Promise<{ client: object; user: { username: string } }>
  readABook(client: object, words: string): Promise<object>
  keepACollection(client: object): Promise<object>
}

// The types are made here and kept nowhere: they are as long as the document, and would have to be made anew with every route.
t.test('a client made of the document is understood by the compiler and by the server', async (t) => {
  const document = JSON.parse(JSON.stringify(describeRoutes(routes)))
  const folder = t.testdir({
    'api-types.ts': await openapiTypes(document),
    'client-flows.ts': readFileSync(flows, 'utf8'),
    'tsconfig.json': JSON.stringify(TYPES),
  })
  // Not bin/tsc: tap has its own say in how programs are loaded.
  const tsc = [path.join(root, 'node_modules/typescript/lib/tsc.js'), '-p', folder]
  await run(process.execPath, tsc).catch((refused: Error) => t.fail('the flows do not fit the types', refused))

  const { url, database } = await openComposedServer(t)
  const library_id = await addLibrary(database, { name: 'Books' })
  const series_id = await addSeries(database, { library_id, title: 'Saga' })
  await addBook(database, { library_id, series_id, title: 'Saga 1', page_count: 44 })
  const { signIn, readABook, keepACollection } = (await import(pathToFileURL(path.join(folder, 'client-flows.ts')).href)) as Flows
  const { client, user } = await signIn(url, { username: ADMIN.username, password: ADMIN.password })
  t.equal(user.username, ADMIN.username)
  t.match(await readABook(client, 'saga'), { total: 1, next: null, locked: true, page: 3, read: { currentPage: 3, completed: false } })
  t.same(await keepACollection(client), { titles: ['Saga'], afterwards: 'not_found' })
  await t.rejects(signIn(url, { username: ADMIN.username, password: 'wrong' }), { message: 'unauthorized' })
})
