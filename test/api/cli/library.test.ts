import { execFile, spawnSync } from 'node:child_process'
import { mkdir, symlink } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { makeRoom, root } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'

t.setTimeout(60_000)

/** Mounts of its own for one program, as root of a world of its own where we are nobody. */
const UNSHARE = ['--mount', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'])]
const canMount = spawnSync('unshare', [...UNSHARE, 'mount', '--bind', '/tmp', '/mnt']).status === 0

t.test('the command makes no library of the data folder or a folder of the system', async (t) => {
  const { database, url } = await openTestDatabase(t)
  const room = await makeRoom(t)
  const data = path.join(room, 'held/data')
  for (const folder of ['held/data/covers', 'held/other', 'mounted', 'books']) await mkdir(path.join(room, folder), { recursive: true })
  await symlink(data, path.join(room, 'link'))
  await symlink('/proc', path.join(room, 'processes'))
  const words = (folder: string) => ['library', 'add', folder, '--data-dir', data]
  const bad: [folder: string, problem: RegExp][] = [
    [data, /data folder/],
    [path.join(room, 'link/covers'), /data folder/],
    [`${room}/held/other/../data`, /data folder/],
    [path.join(room, 'held'), /data folder/],
    ['/', /whole file system/],
    [path.join(room, 'processes/self/cwd/../../proc'), /does not exist|\/proc/],
    [path.join(room, 'nowhere'), /nowhere does not exist\. Check the path, or mount its disk\./],
    ['/dev/shm', /\/dev/],
  ]
  for (const [folder, problem] of bad) {
    const { code, output } = await runInProcess(words(folder), { env: { DATABASE_URL: url } })
    t.equal(code, 1, folder)
    t.match(output, problem, folder)
  }
  if (canMount) {
    const script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    const program = [process.execPath, path.join(root, 'api/main.ts'), ...words(path.join(room, 'mounted'))]
    const given = ['-c', script, 'sh', data, path.join(room, 'mounted'), ...program]
    const env = { PATH: process.env['PATH'], DATABASE_URL: url }
    const mounted = promisify(execFile)('unshare', [...UNSHARE, 'sh', ...given], { env })
    const { stdout, stderr } = (await t.rejects(mounted).then(() => mounted.catch((error: unknown) => error))) as Record<string, string>
    t.match(`${stdout}${stderr}`, /data folder/, 'mounted elsewhere')
  }
  t.same(await database('libraries').select('path'), [])
  t.match(await runInProcess(words(path.join(room, 'books')), { env: { DATABASE_URL: url } }), {
    code: 0,
    output: /Added the library "books"/,
  })
})
