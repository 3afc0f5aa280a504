import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import type { Library } from '#core/catalog/library.ts'
import type { ScanStatus } from '#core/scan/scans.ts'
import { comic } from '#test/support/library-fixture.ts'
import { openLibraryServer } from '#test/support/library-server.ts'

t.setTimeout(120_000)

/** A server with a library, and a disk beside its data folder that links may lead to. */
async function open(t: Test, files: string[], onDisk: string[]) {
  const room = realpathSync(mkdtempSync(join(tmpdir(), 'carrel-targets-')))
  t.teardown(() => rmSync(room, { recursive: true, force: true }))
  const put = (path: string) => {
    mkdirSync(dirname(join(room, path)), { recursive: true })
    writeFileSync(join(room, path), comic(path))
  }
  for (const path of ['disk/.keep', 'secret/key.cbz', ...onDisk]) put(path)
  const books = Object.fromEntries(files.map((path) => [path, comic(path)]))
  const server = await openLibraryServer(t, books, { filesystemRoots: [room, '/proc', tmpdir()] })
  const { ask, root, services, libraryId } = server
  await services.accounts.createUser(
    { username: 'sam', email: 'sam@example.org', password: 'a long enough password', role: 'maintainer' },
    null,
  )
  const { accessToken: maintainer } = await services.accounts.login({
    username: 'sam',
    password: 'a long enough password',
    address: '127.0.0.1',
  })
  return {
    ...server,
    room,
    put,
    maintainer,
    link: (to: string, name: string) => symlinkSync(to, join(root, name)),
    setTargets: async (linkTargets: string[] | null, token?: string) =>
      await ask<Library & { details?: unknown }>('PATCH', `libraries/${libraryId}`, { linkTargets }, token),
    status: async () => (await ask<ScanStatus>('GET', `libraries/${libraryId}/scan-status`)).json,
    present: async () =>
      (await server.database('books').whereNull('deleted_at').orderBy('path').pluck('path')).map((path: string) =>
        path.slice(root.length + 1),
      ),
    page: async (path: string) => {
      const book = (await server.books()).get(path)
      const [file, page] = [await ask('GET', `books/${book?.id}/file`), await ask('GET', `books/${book?.id}/pages/1`)]
      return [file.status, page.status]
    },
  }
}

t.test('links into the targets of a library are books: read, downloaded, moved and missed as others', async (t) => {
  const disk = ['disk/Saga/Saga 1.cbz', 'disk/Saga/Saga 2.cbz', 'disk/Saga/Saga 3.cbz', 'disk/one.cbz', 'elsewhere/Saga/Saga 2.cbz']
  const server = await open(t, ['Own/1.cbz'], disk)
  const { room, root, link, scan, setTargets, status, present, page, ask, database, libraryId } = server
  link(join(room, 'disk/Saga'), 'Linked')
  link(join(room, 'disk/one.cbz'), 'Own/2.cbz')
  link(join(room, 'secret'), 'Secret')
  link(join(room, 'secret/key.cbz'), 'key.cbz')
  for (const name of ['s1', 's2', 's3']) link(room, name)
  await scan()
  t.same(await present(), ['Own/1.cbz'], 'no link is followed by default')
  const skipped = await status()
  t.match(skipped.linksSkipped, { count: 7 })
  t.equal(skipped.linksSkipped?.files.length, 5)
  t.match(skipped.warnings, [/^7 links were not followed: ".*", …\. Links are followed only into the linkTargets/])
  const { json: task } = await ask<{ result: object }>('GET', `tasks/${skipped.taskId}`)
  t.match(task.result, { symlinksSkipped: 7, linksSkipped: skipped.linksSkipped?.files })
  const { json: hidden } = await ask<ScanStatus>('GET', `libraries/${libraryId}/scan-status`, undefined, server.maintainer)
  t.equal(hidden.linksSkipped?.count, 7, 'users who may change libraries see them')

  t.match((await setTargets([join(room, 'disk')])).json, { linkTargets: [join(room, 'disk')] })
  await scan()
  const all = ['Linked/Saga 1.cbz', 'Linked/Saga 2.cbz', 'Linked/Saga 3.cbz', 'Own/1.cbz', 'Own/2.cbz']
  t.same(await present(), all)
  for (const path of all.toSpliced(1, 2)) t.same(await page(path), [200, 200], path)
  const series = await ask('GET', `series/${(await server.books()).get('Linked/Saga 1.cbz')?.series_id}/download`)
  t.equal(series.status, 200, 'as an archive too')
  t.match((await status()).linksSkipped, { count: 5 })
  t.equal((await database('books').whereNot('state', 'analyzed')).length, 0)

  const ids = await server.books()
  renameSync(join(root, 'Linked'), join(root, 'Other'))
  await scan()
  t.same(await present(), ['Other/Saga 1.cbz', 'Other/Saga 2.cbz', 'Other/Saga 3.cbz', 'Own/1.cbz', 'Own/2.cbz'])
  t.equal((await server.books()).get('Other/Saga 1.cbz')?.id, ids.get('Linked/Saga 1.cbz')?.id, 'a link that is renamed keeps its books')

  renameSync(join(room, 'disk'), join(room, 'away'))
  await scan()
  t.equal((await present()).length, 5, 'books on a disk that is missing are kept')
  t.match((await status()).errors, [/"Other": .*link/, /"Own\/2.cbz": .*link/])
  t.same(await page('Other/Saga 1.cbz'), [404, 404])
  renameSync(join(room, 'away'), join(room, 'disk'))
  await scan()
  t.same((await status()).errors, [])
  t.same(await page('Other/Saga 1.cbz'), [200, 200])

  // Between the scan and the opening.
  unlinkSync(join(root, 'Other'))
  link(join(room, 'elsewhere/Saga'), 'Other')
  // No page of this one is in memory.
  t.same(await page('Other/Saga 2.cbz'), [404, 404], 'a link that leads out of the targets now')
  unlinkSync(join(root, 'Other'))
  link(join(room, 'disk/Saga'), 'Other')
  await setTargets(null)
  // What was looked up a moment ago is remembered for as long as rights are.
  t.same(await page('Other/Saga 3.cbz'), [404, 404], 'a target that was taken away')
  await scan()
  t.match(await status(), { linksSkipped: { count: 7 } })
})

t.test('only folders of administrators that nothing else uses can be link targets', async (t) => {
  const server = await open(t, ['Own/1.cbz'], ['disk/a/1.cbz', 'shelf/2.cbz', 'file.txt'])
  const { room, root, folder, ask, setTargets, maintainer } = server
  symlinkSync('/proc', join(room, 'link-proc'))
  symlinkSync(folder, join(room, 'link-data'))
  const other = await ask<Library>('POST', 'libraries', { name: 'Other', path: join(room, 'shelf') })
  const bad = [
    ['disk', /absolute/],
    [join(room, 'nothing'), /does not exist/],
    [join(room, 'file.txt'), /not a folder/],
    ['/etc', /outside of the folders/],
    ['/', /outside of the folders/],
    [folder, /data folder|outside/],
    [join(room, 'link-data'), /data folder|outside/],
    [dirname(folder), /library itself|data folder/],
    ['/proc', /\/proc/],
    ['/proc/self/root', /outside|\/proc/],
    [join(room, 'link-proc'), /\/proc/],
    [root, /library itself/],
    [join(root, 'Own'), /library itself/],
    [dirname(root), /library itself/],
  ] as const
  for (const [path, message] of bad) {
    const { status, json } = await setTargets([join(room, 'disk'), path])
    t.match([status, json], [422, { error: 'invalid_value', message, details: [{ path: '/linkTargets/1' }] }], path)
    const made = await ask('POST', 'libraries', { name: 'New', path: join(room, 'secret'), linkTargets: [path] })
    // Two of them are in conflict with the library of the fixture.
    t.ok([422, 409].includes(made.status), `a new library: ${path}`)
  }
  for (const path of [join(room, 'shelf'), room]) t.match((await setTargets([path])).status, 409, `shares files with a library: ${path}`)
  const many = Array.from({ length: 21 }, () => join(room, 'disk'))
  t.match((await setTargets(many)).status, 422)
  t.match(await setTargets([join(room, 'disk')], maintainer), { status: 403, json: { error: 'forbidden' } })
  const preview = { path: join(room, 'secret'), linkTargets: [join(room, 'disk')] }
  t.match((await ask('POST', 'libraries/preview-scan', preview, maintainer)).status, 403)

  t.same((await setTargets([`${room}/disk/`, join(room, 'disk')])).json.linkTargets, [join(room, 'disk')])
  t.match((await ask('POST', 'libraries', { name: 'In', path: join(room, 'disk/a') })).status, 409, 'no library in a target')
  t.match((await ask('PATCH', `libraries/${server.libraryId}`, { path: join(room, 'disk') }, maintainer)).status, 422)
  t.equal((await ask<Library>('GET', `libraries/${server.libraryId}`, undefined, maintainer)).json.linkTargets, undefined)
  t.equal((await ask('PATCH', `libraries/${server.libraryId}`, { name: 'Renamed' }, maintainer)).status, 200, 'others change other things')
  t.same((await setTargets(null)).json.linkTargets, [])
  t.equal((await ask('PATCH', `libraries/${other.json.id}`, { linkTargets: [join(room, 'disk')] })).status, 200)
})

t.test('a preview follows links as the library would, and part scans go through them', async (t) => {
  const { room, root, link, scan, setTargets, ask, put, present, libraryId, ended } = await open(
    t,
    ['Own/1.cbz'],
    ['disk/Saga/1.cbz', 'disk/Saga/below/2.cbz'],
  )
  mkdirSync(join(room, 'new'))
  symlinkSync(join(room, 'disk/Saga'), join(room, 'new/Saga'))
  const preview = { path: join(room, 'new') }
  t.match((await ask('POST', 'libraries/preview-scan', preview)).json, { totalFiles: 0, leftOut: [{ reason: 'link', count: 1 }] })
  t.match((await ask('POST', 'libraries/preview-scan', { ...preview, linkTargets: [join(room, 'disk')] })).json, {
    totalFiles: 2,
    leftOut: [],
  })

  link(join(room, 'disk/Saga'), 'Saga')
  const scanPart = async (path: string) =>
    await ask<{ taskId: string }>('POST', `libraries/${libraryId}/scan?path=${encodeURIComponent(path)}`)
  t.match((await scanPart('Saga')).status, 422, 'a link that is not followed')
  await setTargets([join(room, 'disk')])
  await scan()
  put('disk/Saga/below/3.cbz')
  put('disk/Saga/4.cbz')
  const { status, json } = await scanPart('Saga/below')
  t.equal(status, 202)
  await ended(json.taskId)
  t.same(await present(), ['Own/1.cbz', 'Saga/1.cbz', 'Saga/below/2.cbz', 'Saga/below/3.cbz'])
  unlinkSync(join(root, 'Saga'))
  link(join(room, 'secret'), 'Saga')
  t.match((await scanPart('Saga')).status, 422)
})
