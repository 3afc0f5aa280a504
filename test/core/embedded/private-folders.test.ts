import { mkdir, mkdtemp, rm, stat, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import { closeFolders } from '#core/embedded/private-folders.ts'

t.test('open folders are closed; PostgreSQL’s own and those behind links are not changed', async (t) => {
  const room = await mkdtemp(path.join(os.tmpdir(), 'carrel-folders-test-'))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  const data = path.join(room, 'data')
  const open = ['thumbnails', 'thumbnails/books', 'thumbnails/books/ab', 'page-cache/deep/er', 'exports']
  const foreign = ['postgres/base', 'postgres-programs-18/bin', 'run']
  for (const folder of [...open, ...foreign]) await mkdir(path.join(data, folder), { recursive: true, mode: 0o755 })
  await mkdir(path.join(room, 'elsewhere'), { mode: 0o755 })
  await symlink(path.join(room, 'elsewhere'), path.join(data, 'link'))
  const modeOf = async (folder: string) => (await stat(path.join(data, folder))).mode & 0o777
  const closed = await closeFolders(data)
  for (const folder of open) t.equal(await modeOf(folder), 0o700, folder)
  for (const folder of [...foreign, 'link']) t.equal(await modeOf(folder), 0o755, folder)
  t.equal(closed, 7)
  t.equal(await closeFolders(data), 0, 'nothing is left to do')
})
