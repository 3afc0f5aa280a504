import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import t from 'tap'
import { coverPath } from '#core/covers/cover.ts'
import { openDatabase } from '#core/database/database.ts'
import { findRunningUrl } from '#core/embedded/embedded-postgres.ts'
import { findPostmaster } from '#core/embedded/postmaster.ts'
import { silentLog } from '#core/foundation/log.ts'
import { ADMIN, awaitExit, makeRoom, type Running, root, spawnCarrel, startCarrel, stopCarrel } from '#test/support/carrel-process.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

// Each start is a process of its own with PostgreSQL beside it, next to other tests.
t.setTimeout(300_000)

/** Every end below leaves it so that a start follows: one folder serves them all, in their order. */
const data = path.join(await makeRoom(t), 'data')

t.test('kill -9 stops no later start, which removes the covers that were left', async (t) => {
  const first = await startCarrel(t, data, [], { env: { CARREL_ADMIN_USERNAME: ADMIN.username, CARREL_ADMIN_PASSWORD: ADMIN.password } })
  t.match(first.output(), /Created the first administrator/)
  const { pid } = (await findPostmaster(path.join(data, 'postgres')))!
  first.child.kill('SIGKILL')
  await first.ended
  t.ok(await awaitExit(pid), 'PostgreSQL ends without a start that finds it')
  const second = await startCarrel(t, data)
  await second.said(/Admin +exists/)
  const { kept, gone } = await leaveCover()
  // Both killed: nothing but stale files is left.
  second.child.kill('SIGKILL')
  process.kill((await findPostmaster(path.join(data, 'postgres')))!.pid, 'SIGKILL')
  await second.ended

  const third = await startCarrel(t, data)
  t.equal((await fetch(`${third.url}/health`)).status, 200)
  for (let tries = 0; existsSync(gone) && tries < 1_500; tries++) await sleep(20)
  t.same([existsSync(gone), existsSync(kept)], [false, true])
  t.same(await listOpenFolders(data), [], 'folders that others could read were closed')
  await drains(t, third)
})

/** Covers of a book that waits to be purged and of one that is gone. */
async function leaveCover(): Promise<{ kept: string; gone: string }> {
  const database = openDatabase({ url: (await findRunningUrl(data))!, poolMax: 2, log: silentLog })
  const library_id = await addLibrary(database, { path: data })
  const series_id = await addSeries(database, { library_id, title: 'Gone' })
  const kept = coverPath(data, await addBook(database, { library_id, series_id, title: 'Kept', deleted_at: new Date() }))
  const goneId = await addBook(database, { library_id, series_id, title: 'Gone' })
  const gone = coverPath(data, goneId)
  for (const cover of [kept, gone]) {
    await mkdir(path.dirname(cover), { recursive: true })
    await writeFile(cover, 'x')
  }
  await database('books').where('id', goneId).delete()
  // Nothing to scan: the folder of a library may be away for a while.
  await database('libraries').update({ is_active: false })
  await database.destroy()
  return { kept, gone }
}

/** Folders in the data folder that others than their owner may look into. */
async function listOpenFolders(folder: string): Promise<string[]> {
  const found: string[] = []
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const inner = path.join(entry.parentPath, entry.name)
    if (entry.isDirectory() && ((await stat(inner)).mode & 0o077) !== 0) found.push(inner)
  }
  return found
}

/** Begins a request of which the body does not come yet; answers when the server has begun with it. */
async function beginRequest(url: string, bodyLength: number): Promise<net.Socket> {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    `POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${bodyLength}\r\nExpect: 100-continue\r\n\r\n`,
  )
  await once(socket, 'readable')
  return socket
}

/** What is under way finishes, and nothing new begins. */
async function drains(t: Test, server: Running): Promise<void> {
  const body = JSON.stringify({ username: 'nobody', password: 'nothing at all' })
  const socket = await beginRequest(server.url, body.length)
  server.child.kill('SIGTERM')
  // The same Ctrl-C arrives from the terminal and again through npm: it is one.
  server.child.kill('SIGINT')
  await server.said(/Stopping/)
  await t.rejects(fetch(`${server.url}/health`), 'nothing new is taken')
  socket.write(body)
  let answer = ''
  for await (const chunk of socket) answer += chunk
  t.match(answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 401/, 'the request under way is answered')
  t.equal((await server.ended).code, 0)
}

t.test('a second signal quits at once', async (t) => {
  const server = await startCarrel(t, data)
  const socket = await beginRequest(server.url, 9)
  server.child.kill('SIGINT')
  await server.said(/Stopping/)
  // As one that a person sends: two at once are one Ctrl-C.
  await sleep(1_000)
  t.equal(server.child.exitCode, null, 'it waits for the request')
  const asked = Date.now()
  server.child.kill('SIGINT')
  t.equal((await server.ended).code, 130)
  t.ok(Date.now() - asked < 15_000)
  for (let tries = 0; tries < 1_200 && (await findPostmaster(path.join(data, 'postgres'))); tries++) await sleep(50)
  t.equal(await findPostmaster(path.join(data, 'postgres')), null, 'PostgreSQL was told to stop')
  socket.destroy()
})

/** Asks /health until it answers with the status. */
async function awaitHealth(url: string, status: number): Promise<Record<string, unknown>> {
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`${url}/health`)
    const body = (await answer.json()) as Record<string, unknown>
    if (answer.status === status) return body
    if (tries > 600) throw new Error(`/health stays at ${answer.status}: ${JSON.stringify(body)}`)
    // Between two looks.
    await sleep(100)
  }
}

t.test('a data folder that is emptied is told, SIGUSR1 opens nothing, and when PostgreSQL dies the server ends and says so', async (t) => {
  const server = await startCarrel(t, data)
  server.child.kill('SIGUSR1')
  // PostgreSQL gives up when its own files are gone; the server is to say what is wrong before.
  const lock = path.join(data, 'carrel.lock')
  await rename(lock, `${lock}.aside`)
  t.match(await awaitHealth(server.url, 503), {
    message: /data folder was emptied/,
    details: { dataFolder: 'unavailable', database: 'ok' },
  })
  t.match(server.output(), /data folder .* was emptied/)
  await rename(`${lock}.aside`, lock)
  t.match(await awaitHealth(server.url, 200), { dataFolder: 'ok' })
  t.notMatch(server.output(), /Debugger listening/)
  process.kill((await findPostmaster(path.join(data, 'postgres')))!.pid, 'SIGQUIT')
  const { code, output } = await server.ended
  t.equal(code, 1)
  t.match(output, /PostgreSQL has stopped/)
  t.notMatch(output, /Debugger listening/)
})

const launched = (t: Test) => startCarrel(t, data, [], { program: [path.join(root, 'api', 'launch.mjs'), 'api/main.ts'] })
const serverPid = async () => JSON.parse(await readFile(path.join(data, 'carrel.lock'), 'utf8')).pid as number

t.test('under a launcher kill -9 of the server ends everything, and of both too', async (t) => {
  for (const both of [false, true]) {
    const { child, ended } = await launched(t)
    const { pid } = (await findPostmaster(path.join(data, 'postgres')))!
    process.kill(await serverPid(), 'SIGKILL')
    if (both) child.kill('SIGKILL')
    t.equal((await ended).signal, 'SIGKILL', 'the launcher ends as the server did')
    if (!both) t.equal(await findPostmaster(path.join(data, 'postgres')), null, 'and after PostgreSQL')
    t.ok(await awaitExit(pid))
  }
})

/** `npm start` as a person types it, by itself or as the only program of a terminal. */
const asTyped = (words: string) => `npm start -- --data-dir ${data} --port 0 --workers 1 ${words}`
async function startNpm(t: Test, command: readonly string[]): Promise<Omit<Running, 'url'>> {
  const npm = spawnCarrel([], { run: command })
  t.teardown(() => void npm.child.kill('SIGKILL'))
  await npm.said(/Listening on http/)
  return npm
}

t.test('SIGTERM and SIGINT to npm end the server in order, and npm waits for it; what ends npm alone ends the server too', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'] as const) {
    const npm = await startNpm(t, ['/bin/sh', '-c', `exec ${asTyped('')}`])
    const server = await serverPid()
    npm.child.kill(signal)
    const { code, output } = await npm.ended
    t.match(output, /Stopped\n/, signal)
    if (signal === 'SIGTERM' || signal === 'SIGINT') t.equal(code, 0, `${signal}: npm ends after the server, with its code`)
    t.ok(await awaitExit(server), signal)
    t.equal(await findPostmaster(path.join(data, 'postgres')), null, signal)
  }
})

const hasScript = spawnSync('script', ['--version']).status === 0
t.test('closing the terminal ends the server in order', { skip: !hasScript && 'there is no script(1)' }, async (t) => {
  const terminal = await startNpm(t, ['script', '-qfec', asTyped(''), '/dev/null'])
  const server = await serverPid()
  // The kernel tells everybody at the terminal when its other end goes.
  terminal.child.kill('SIGKILL')
  t.ok(await awaitExit(server))
  t.equal(existsSync(path.join(data, 'carrel.lock')), false, 'it gave the folder free')
  t.equal(await findPostmaster(path.join(data, 'postgres')), null)
})

t.test('a restart waits for the server that drains, and says so', async (t) => {
  const first = await startCarrel(t, data)
  const socket = await beginRequest(first.url, 9)
  const second = spawnCarrel(['--data-dir', data, '--port', '0', '--workers', '1'])
  await second.said(/Waiting for another Carrel server to release the data folder/)
  first.child.kill('SIGTERM')
  // Longer than one waits for a server that goes on.
  await sleep(6_000)
  t.same([first.child.exitCode, second.child.exitCode], [null, null], 'the one drains, the other waits')
  socket.destroy()
  await second.said(/Listening on http/)
  t.equal((await first.ended).code, 0)
  await stopCarrel(t, second, data)
})

t.test('a launcher that is killed outright takes the server with it, gently', async (t) => {
  const { child, ended } = await launched(t)
  const server = await serverPid()
  t.not(server, child.pid)
  child.kill('SIGKILL')
  const { output } = await ended
  t.match(output, /Stopped/)
  t.ok(await awaitExit(server))
  t.equal(await findPostmaster(path.join(data, 'postgres')), null)
})

t.test(
  'odd folders: spaces, long names, below a folder closed to others; through the launcher SIGTERM drains and the exit code is 0',
  async (t) => {
    const room = await makeRoom(t)
    const closed = path.join(room, 'closed to others')
    await mkdir(closed, { mode: 0o700 })
    const odd = path.join(closed, `it's my "data", ${'long '.repeat(30)}end`)
    const launched = await startCarrel(t, odd, [], { program: [path.join(root, 'api', 'launch.mjs'), 'api/main.ts'] })
    t.equal((await fetch(`${launched.url}/health`)).status, 200)
    await stopCarrel(t, launched, odd)
  },
)
