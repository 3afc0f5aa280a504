import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { filesystemRoutes } from '#api/rest/admin/filesystem.ts'
import type { BrowsedFolder, FileSystemEntry } from '#core/scan/browse-folders.ts'
import { addLibrary } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

type Answer = BrowsedFolder & { error: string; message: string }

async function openFolders(t: Test, roots: (folder: string) => string[] = (folder) => [join(folder, 'books'), join(folder, 'data')]) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'carrel-browse-')))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const path of ['books/Saga', 'books/10', 'books/9', 'books/.hidden', 'data/keys', 'secret/inner', 'books/inside'])
    mkdirSync(join(folder, path), { recursive: true })
  writeFileSync(join(folder, 'books', 'a.cbz'), 'x')
  writeFileSync(join(folder, 'books', 'Saga', 'b.cbz'), 'x')
  writeFileSync(join(folder, 'secret', 'key'), 'x')
  const link = (target: string, name: string) => symlinkSync(join(folder, target), join(folder, 'books', name))
  link('books/Saga', 'linked')
  link('secret', 'out')
  link('secret/key', 'key')
  link('data', 'data')
  link('nowhere', 'dead')
  symlinkSync('loop', join(folder, 'books', 'loop'))
  symlinkSync('/dev/null', join(folder, 'books', 'device'))
  execFileSync('mkfifo', [join(folder, 'books', 'pipe')])
  const server = await openTestServer(t, {
    routes: filesystemRoutes,
    settings: { dataFolder: join(folder, 'data'), filesystemRoots: roots(folder) },
  })
  const browse = (path?: string, token = server.adminToken) =>
    server.request<Answer>('GET', `/api/v1/filesystem/browse${path === undefined ? '' : `?path=${encodeURIComponent(path)}`}`, { token })
  const drives = async () =>
    (await server.request<FileSystemEntry[]>('GET', '/api/v1/filesystem/drives', { token: server.adminToken })).json
  return { folder, server, browse, drives }
}

t.test('administrators look through the folders that are named for that, and no others', async (t) => {
  const { folder, browse, drives, server } = await openFolders(t)
  const books = join(folder, 'books')
  t.same(await drives(), [{ name: books, path: books, isDirectory: true, isReadable: true }], 'never the data folder')
  const top = (await browse(books)).json
  t.match(top, { currentPath: books, parentPath: null })
  t.same(
    top.entries.map(({ name, isDirectory, isReadable }) => [name, isDirectory, isReadable]),
    [
      ['9', true, true],
      ['10', true, true],
      ['inside', true, true],
      ['linked', true, true],
      ['Saga', true, true],
      ['a.cbz', false, true],
    ],
    'folders first, in natural order; no hidden ones, devices, pipes, links to elsewhere or to nothing',
  )
  t.match((await browse(join(books, 'Saga'))).json, { parentPath: books, entries: [{ name: 'b.cbz', path: join(books, 'Saga', 'b.cbz') }] })
  t.match((await browse(join(books, 'linked'))).json, { currentPath: join(books, 'linked'), entries: [{ name: 'b.cbz' }] })
  t.match((await browse()).json, { currentPath: books }, 'the first, where the home folder is not among them')
  t.match((await browse(`${books}/Saga/../9/`)).json, { currentPath: join(books, '9'), entries: [] })

  for (const path of [join(folder, 'secret'), join(folder, 'secret', 'nowhere'), folder, '/etc', '/', `${books}/../secret`, `${books}2`]) {
    const answer = await browse(path)
    t.match([answer.status, answer.json.error], [403, 'forbidden'], `${path}: said alike whether it is there or not`)
  }
  for (const path of [
    'out',
    'out/inner',
    'data',
    'data/keys',
    'dead',
    'loop',
    'device',
    'pipe',
    'a.cbz',
    'key',
    'nowhere',
    'x'.repeat(300),
  ])
    t.match([(await browse(join(books, path))).status, path], [404, path])
  for (const path of ['books', './x', '', `${books}\0`]) t.equal((await browse(path)).status, 400, JSON.stringify(path))
  const { token } = await server.signUp({ username: 'mia', role: 'maintainer' })
  t.equal((await browse(books, token)).status, 403)
})

t.test('a folder that becomes a link to elsewhere while it is read shows nothing from there', async (t) => {
  const { folder, browse } = await openFolders(t)
  const [place, spare, link] = ['moving', 'spare', 'bait'].map((name) => join(folder, 'books', name)) as [string, string, string]
  mkdirSync(join(place, 'fine'), { recursive: true })
  symlinkSync(join(folder, 'secret'), link)
  let isOver = false
  const swapping = (async () => {
    while (!isOver) {
      for (const [from, to] of [
        [place, spare],
        [link, place],
        [place, link],
        [spare, place],
      ] as const)
        await rename(from, to)
    }
  })()
  const statuses = new Map<number, number>()
  for (let round = 0; round < 300; round++) {
    const { status, json, text } = await browse(round % 2 === 0 ? place : join(place, 'inner'))
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (/"name":"(key|inner)"/.test(text)) t.fail(`told of the other folder: ${text}`)
    if (status === 200) t.match(json.currentPath, place)
  }
  isOver = true
  await swapping
  t.same(
    [...statuses.keys()].filter((status) => ![200, 404].includes(status)),
    [],
    'there or not, nothing else',
  )
})

t.test('unless folders are named, those of the libraries are among them', async (t) => {
  const { folder, browse, drives, server } = await openFolders(t, () => [])
  t.notOk((await drives()).some(({ path }) => path.startsWith(folder)))
  t.equal((await browse(join(folder, 'books'))).status, 403)
  await addLibrary(server.database, { path: join(folder, 'books') })
  t.ok((await drives()).some(({ path }) => path === join(folder, 'books')))
  t.match((await browse(join(folder, 'books'))).json, { entries: [{ name: '9' }] })
  t.equal((await browse(join(folder, 'data'))).status, 403)
})

t.test('the data folder is left out of a folder that holds it', async (t) => {
  const { folder, browse } = await openFolders(t, (folder) => [folder])
  t.same(
    (await browse(folder)).json.entries.map(({ name }) => name),
    ['books', 'secret'],
  )
  t.equal((await browse(join(folder, 'data'))).status, 404)
  t.equal((await browse(join(folder, 'data', 'keys'))).status, 404)
  t.match((await browse(join(folder, 'books', 'out'))).json, { entries: [{ name: 'inner' }, { name: 'key' }] }, 'a link within')
})
