import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { findFolderProblem } from '#core/catalog/library-folder.ts'
import { addLibrary } from '#core/scan/add-library.ts'
import { editLibrary } from '#core/scan/edit-library.ts'
import { openLibraryFixture } from '#test/support/library-fixture.ts'
import { findRules } from '#test/support/supervisor.ts'

t.test('the data folder and system folders cannot be libraries, by any path', async (t) => {
  const room = realpathSync(mkdtempSync(join(tmpdir(), 'carrel-place-')))
  t.teardown(() => rmSync(room, { recursive: true, force: true }))
  const data = join(room, 'carrel/data')
  mkdirSync(join(data, 'postgres'), { recursive: true })
  for (const folder of ['carrel/database', 'books/comics']) mkdirSync(join(room, folder), { recursive: true })
  const links = { data, held: join(room, 'carrel'), inside: join(data, 'postgres'), processes: '/proc', everything: '/' }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(room, name))
  const bad: [path: string, problem: RegExp][] = [
    [data, /data folder/],
    [`${data}/`, /data folder/],
    [join(data, 'postgres'), /data folder/],
    [`${room}/books/../carrel/data`, /data folder/],
    [join(room, 'carrel'), /data folder/],
    [room, /data folder/],
    [join(room, 'data'), /data folder/],
    [join(room, 'data/postgres'), /data folder/],
    [join(room, 'held'), /data folder/],
    [join(room, 'inside'), /data folder/],
    ['/', /data folder/],
    [join(room, 'everything'), /data folder/],
    [`/proc/self/root${data}`, /data folder/],
    ['/proc', /\/proc/],
    ['/proc/self/root/tmp', /\/proc/],
    [join(room, 'processes/self'), /\/proc/],
    [join(room, 'everything/proc'), /\/proc/],
    ['/sys', /\/sys/],
    ['/dev', /\/dev/],
    ['/dev/fd', /\/proc|\/dev/],
  ]
  for (const [path, problem] of bad) t.match(await findFolderProblem(path, data), problem, path)
  t.match(await findFolderProblem('/', join(room, 'absent')), /\/proc/, 'a data folder that is not there yet')
  for (const path of ['books', 'books/comics', 'carrel/database']) t.equal(await findFolderProblem(join(room, path), data), null, path)
  t.equal(await findFolderProblem(join(room, 'books'), join(room, 'held/data')), null)
  t.match(await findFolderProblem(join(room, 'carrel'), join(room, 'held/data')), /data folder/, 'a data folder behind a link')
})

t.test('such libraries are refused on creation, on changes, and at every scan', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['Saga/1.cbz'] })
  mkdirSync(join(fixture.dataFolder, 'postgres'), { recursive: true })
  const { database, scans, tasks, dataFolder } = fixture
  const parts = { database, scans, tasks, rules: findRules(), settings: { dataFolder } }
  const refusal = { code: 'invalid_value', message: /data folder/, details: [{ path: '/path' }] }
  await t.rejects(addLibrary(parts, { folder: join(fixture.dataFolder, 'postgres') }), refusal)
  await t.rejects(editLibrary(parts, fixture.libraryId, { path: fixture.dataFolder }), refusal)
  await t.rejects(editLibrary(parts, fixture.libraryId, { path: '/proc/self' }), { code: 'invalid_value', message: /\/proc/ })

  t.match(await fixture.scan(), { status: 'completed', filesTotal: 1 })
  renameSync(fixture.root, `${fixture.root}-away`)
  symlinkSync(fixture.dataFolder, fixture.root)
  t.match(await fixture.scan(), { status: 'failed', errors: [/data folder.*Nothing was changed/] })
  const [book] = (await fixture.books()).values()
  t.equal(book?.deleted_at, null)
  rmSync(fixture.root)
  renameSync(`${fixture.root}-away`, fixture.root)
  t.match(await fixture.scan(), { status: 'completed', filesTotal: 1 }, 'and goes on when it is as it was')
})
