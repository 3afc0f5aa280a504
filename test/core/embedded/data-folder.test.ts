import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import t from 'tap'
import { FolderInUse, findHolder, makeDataFolder, openDataFolder, tokenKey } from '#core/embedded/data-folder.ts'
import { onlyFull } from '#test/support/lane-size.ts'

async function makeRoom(t: Test): Promise<string> {
  const room = await mkdtemp(path.join(os.tmpdir(), 'carrel-folder-test-'))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  return room
}

/** Another process that locks the folder and reports it. */
async function spawnHolder(t: Test, folder: string) {
  const script = `
    const { openDataFolder } = await import('#core/embedded/data-folder.ts')
    await openDataFolder(process.argv[1], 'server')
    console.log('held')
    setInterval(() => {}, 1000)`
  const holder = spawn(process.execPath, ['--input-type=module', '-e', script, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => holder.kill('SIGKILL'))
  await once(holder.stdout!, 'data')
  return holder
}

t.test('created closed to others, locked once, released', async (t) => {
  const folder = path.join(await makeRoom(t), 'deep', 'data')
  t.equal(await findHolder(folder), null, 'reading creates nothing')
  t.equal(await stat(folder).catch(() => null), null)
  const held = await openDataFolder(folder, 'server')
  t.equal((await stat(folder)).mode & 0o007, 0)
  await t.rejects(openDataFolder(folder, 'command'), {
    name: 'FolderInUse',
    pid: process.pid,
    purpose: 'server',
    message: new RegExp(`pid ${process.pid}`),
  })
  t.match(await findHolder(folder), { pid: process.pid, purpose: 'server' })
  await held.close()
  t.equal(await findHolder(folder), null)
  const allowing = await openDataFolder(folder, 'server', { allowLocal: ['localhost:8600'], port: 8711 })
  t.match(await findHolder(folder), { allowLocal: ['localhost:8600'], port: 8711 })
  await allowing.close()
  await (await openDataFolder(folder, 'command')).close()
})

t.test('of many concurrent starts one succeeds', async (t) => {
  const folder = path.join(await makeRoom(t), 'data')
  const tries = await Promise.allSettled(Array.from({ length: 8 }, () => openDataFolder(folder, 'server')))
  const won = tries.filter((attempt) => attempt.status === 'fulfilled')
  t.equal(won.length, 1)
  for (const attempt of tries) if (attempt.status === 'rejected') t.ok(attempt.reason instanceof FolderInUse)
  await won[0]!.value.close()
})

t.test('a name that no live holder keeps for long', { skip: process.platform !== 'linux' }, async (t) => {
  const folder = await makeDataFolder(path.join(await makeRoom(t), 'data'))
  const holder = await spawnHolder(t, folder)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  // The lock file still names the dead process.
  t.match(JSON.parse(await readFile(path.join(folder, 'carrel.lock'), 'utf8')), { pid: holder.pid })
  const { dev, ino } = await stat(folder)
  const name = `\0carrel-${createHash('sha256').update(`carrel ${dev} ${ino}`).digest('hex')}`
  const other = net.createServer().listen(name)
  await once(other, 'listening')
  const opening = openDataFolder(folder, 'server')
  // The second one has looked and waits by then.
  await sleep(200)
  other.close()
  await (await opening).close()

  const stays = net.createServer().listen(name)
  t.teardown(() => stays.close())
  await once(stays, 'listening')
  const at = Date.now()
  await t.rejects(openDataFolder(folder, 'server'), { name: 'FolderInUse' })
  t.ok(Date.now() - at < 8_000, 'a name that stays taken is accepted soon: no heartbeat is awaited')
})

t.test('the parents of a new folder get the default mode', async (t) => {
  const room = await makeRoom(t)
  const before = process.umask(0o022)
  t.teardown(() => process.umask(before))
  const folder = await makeDataFolder(path.join(room, 'a', 'b', 'c'))
  t.equal((await stat(path.join(room, 'a'))).mode & 0o777, 0o755)
  t.equal((await stat(path.join(room, 'a', 'b'))).mode & 0o777, 0o755)
  t.equal((await stat(folder)).mode & 0o007, 0, 'the folder itself is closed')
})

t.test('locked by another process, until that is killed', async (t) => {
  const folder = path.join(await makeRoom(t), 'data')
  const holder = await spawnHolder(t, folder)
  await t.rejects(openDataFolder(folder, 'server'), { name: 'FolderInUse', pid: holder.pid })
  t.match(await findHolder(folder), { pid: holder.pid, purpose: 'server' })
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  t.equal(await findHolder(folder), null, 'a killed process holds nothing')
  await (await openDataFolder(folder, 'server')).close()
})

t.test('a holder in another container is recognized by its heartbeat', onlyFull, async (t) => {
  const folder = await makeDataFolder(path.join(await makeRoom(t), 'data'))
  const file = path.join(folder, 'carrel.lock')
  const foreign = { pid: 7, purpose: 'server', host: 'elsewhere', pidNamespace: 'other pid:[1]', startedAt: new Date().toISOString() }
  await writeFile(file, JSON.stringify(foreign))
  const heart = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => {}), 300)
  await t.rejects(openDataFolder(folder, 'server'), { pid: 7, message: /on elsewhere/ })
  clearInterval(heart)
  await (await openDataFolder(folder, 'server')).close()
  t.pass('and when the heartbeat stops the folder is free')
})

t.test('places that cannot be a data folder', async (t) => {
  const room = await makeRoom(t)
  await writeFile(path.join(room, 'file'), '')
  await t.rejects(makeDataFolder(path.join(room, 'file')), /is not a folder/)
  await t.rejects(makeDataFolder(path.join(room, 'file', 'below')), /is not a folder/)
})

t.test('the key that signs tokens', async (t) => {
  const folder = await makeDataFolder(path.join(await makeRoom(t), 'data'))
  const keys = await Promise.all([tokenKey(folder), tokenKey(folder), tokenKey(folder)])
  t.equal(new Set(keys).size, 1, 'made once')
  t.ok(Buffer.byteLength(keys[0]!) >= 32)
  const file = path.join(folder, 'token.key')
  await chmod(file, 0o644)
  t.equal(await tokenKey(folder), keys[0])
  t.equal((await stat(file)).mode & 0o777, 0o600)
  t.equal((await readFile(file, 'utf8')).trim(), keys[0])
  await writeFile(file, 'short')
  await t.rejects(tokenKey(folder), /damaged/)
})

t.test(
  'a place where no folder can be created is refused immediately',
  { skip: process.platform !== 'linux' && 'only Linux has /proc' },
  async (t) => {
    for (const folder of ['/proc/carrel-nowhere', '/proc/carrel-nowhere/deep/below'])
      await t.rejects(
        makeDataFolder(folder),
        { name: 'StartProblem', message: /cannot be created \(ENOENT\)\. Create it yourself/ },
        folder,
      )
  },
)
