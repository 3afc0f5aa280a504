import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import t from 'tap'
import { findPostmaster } from '#core/database/postmaster.ts'

// Each start makes a database of its own, beside other tests.
t.setTimeout(300_000)

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = path.join(root, 'api', 'main.ts')
const START_MS = 60_000
const ADMIN = { username: 'ada', password: 'correct horse 1' }

interface Running {
  child: ChildProcess
  url: string
  output(): string
  said(pattern: RegExp): Promise<void>
  ended: Promise<{ code: number | null; signal: string | null; output: string }>
}

function cleanEnvironment(env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(CARREL_|DATABASE_URL|INIT_CWD|npm_|TAP)/.test(name))
  return { ...Object.fromEntries(kept), ...env }
}

function spawnCarrel(
  args: string[],
  options: { program?: string[]; env?: NodeJS.ProcessEnv; cwd?: string; input?: string } = {},
): Omit<Running, 'url'> {
  const child = spawn(process.execPath, [...(options.program ?? [main]), ...args], {
    cwd: options.cwd ?? root,
    env: cleanEnvironment(options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin!.end(options.input ?? '')
  let output = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, output }))
  return {
    child,
    ended,
    output: () => output,
    async said(pattern) {
      const until = Date.now() + START_MS
      while (!pattern.test(output)) {
        if (child.exitCode !== null || child.signalCode !== null || Date.now() > until)
          throw new Error(`It never said ${pattern}:\n${output}`)
        await sleep(20)
      }
    },
  }
}

async function start(t: Test, dataFolder: string, args: string[] = [], options: Parameters<typeof spawnCarrel>[1] = {}): Promise<Running> {
  const running = spawnCarrel(['--data-dir', dataFolder, '--port', '0', '--workers', '1', ...args], options)
  t.teardown(async () => {
    if (running.child.exitCode === null && running.child.signalCode === null) running.child.kill('SIGTERM')
    await running.ended
  })
  await running.said(/Listening on http/)
  return { ...running, url: /Listening on (http:\S+)/.exec(running.output())![1]! }
}

async function runCommand(args: string[], options: Parameters<typeof spawnCarrel>[1] = {}) {
  return await spawnCarrel(args, options).ended
}

async function makeRoom(t: Test): Promise<string> {
  const room = await mkdtemp(path.join(os.tmpdir(), 'carrel-lifecycle-test-'))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  return room
}

async function stopped(t: Test, running: Running, dataFolder: string): Promise<void> {
  running.child.kill('SIGTERM')
  const { code, output } = await running.ended
  t.equal(code, 0, 'it ends with 0')
  t.match(output, /Stopped/)
  t.equal(await findPostmaster(path.join(dataFolder, 'postgres')), null, 'and no PostgreSQL is left')
}

t.test('started, used by commands, refused twice, stopped', async (t) => {
  const room = await makeRoom(t)
  const data = path.join(room, 'data')
  const books = path.join(room, 'books')
  await mkdir(path.join(books, 'Series'), { recursive: true })
  await writeFile(path.join(books, 'Series', 'broken\u001b[31m\n1.cbz'), 'no book')
  const server = await start(t, data, ['--library', books])
  t.equal((await fetch(`${server.url}/health`)).status, 200)
  t.equal((await stat(data)).mode & 0o007, 0, 'the data folder is closed to others')

  const second = await runCommand(['--data-dir', data, '--port', '0'])
  t.equal(second.code, 1)
  t.match(second.output, new RegExp(`in use by a Carrel server with pid ${server.child.pid}`))

  await server.said(/Carrel is ready/)
  t.match(server.output(), new RegExp(`Address +${server.url}`))
  t.match(server.output(), /Admin +none yet; make one:/)
  t.match(server.output(), /Books +1 found, 1 failed/)
  t.notMatch(server.output(), '\u001b[31m', 'what a file is called does not reach the terminal as it is')

  const made = await runCommand(['user', 'add', ADMIN.username, '--role', 'admin', '--data-dir', data], { input: `${ADMIN.password}\n` })
  t.match(made, { code: 0, output: /Made admin ada/ })
  const login = (password: string) =>
    fetch(`${server.url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: ADMIN.username, password }),
    })
  t.equal((await login(ADMIN.password)).status, 200)
  const word = path.join(room, 'word')
  await writeFile(word, 'another horse 2\n')
  t.match(await runCommand(['user', 'reset-password', 'ada', '--password-file', word, '--data-dir', data]), { code: 0 })
  t.equal((await login(ADMIN.password)).status, 401)
  t.equal((await login('another horse 2')).status, 200)
  t.match(await runCommand(['user', 'reset-password', 'adda', '--password-file', word, '--data-dir', data]), {
    code: 1,
    output: /Did you mean ada\?/,
  })

  t.match(await runCommand(['library', 'add', books, '--data-dir', data]), { code: 0, output: /is the library "books" already/ })
  t.match(await runCommand(['library', 'list', '--data-dir', data]), { code: 0, output: /^books {2}.*1 book, last scan completed/ })
  t.match(await runCommand(['scan', 'books', '--data-dir', data]), { code: 0, output: /the running server scans it/ })
  t.match(await runCommand(['doctor', '--data-dir', data]), {
    code: 0,
    output: /runs with pid \d+[\s\S]*of the running server[\s\S]*All is well/,
  })
  await stopped(t, server, data)
})

t.test('commands without a server', async (t) => {
  const room = await makeRoom(t)
  const data = path.join(room, 'data')
  const books = path.join(room, 'books')
  await mkdir(books)
  await writeFile(path.join(books, 'broken.cbz'), 'no book')
  t.match(await runCommand(['library', 'list', '--data-dir', data]), { code: 0, output: /no library yet/ })
  t.match(await runCommand(['library', 'add', 'books', '--name', 'Mine', '--data-dir', 'data'], { cwd: room }), {
    code: 0,
    output: /Added the library "Mine"/,
  })
  t.match(await runCommand(['scan', '--data-dir', data]), { code: 0, output: /No server runs[\s\S]*1 found, 1 failed/ })
  t.match(await runCommand(['scan', 'Mein', '--data-dir', data]), { code: 1, output: /no library "Mein".*Did you mean Mine/ })
  await rm(books, { recursive: true })
  t.match(await runCommand(['doctor', '--data-dir', data]), {
    code: 1,
    output: /TROUBLE +Library folder: .*does not exist\n +Check the path/,
  })
  t.equal(await findPostmaster(path.join(data, 'postgres')), null)
})

t.test('kill -9 stops no later start', async (t) => {
  const data = path.join(await makeRoom(t), 'data')
  const first = await start(t, data, [], { env: { CARREL_ADMIN_USERNAME: ADMIN.username, CARREL_ADMIN_PASSWORD: ADMIN.password } })
  t.match(first.output(), /Made the first admin/)
  first.child.kill('SIGKILL')
  await first.ended
  const orphan = await findPostmaster(path.join(data, 'postgres'))
  t.ok(orphan, 'PostgreSQL is left over')
  const second = await start(t, data)
  await second.said(/Admin +exists/)
  t.throws(() => process.kill(orphan!.pid, 0), { code: 'ESRCH' })
  // Both killed: nothing but stale files is left.
  second.child.kill('SIGKILL')
  process.kill((await findPostmaster(path.join(data, 'postgres')))!.pid, 'SIGKILL')
  await second.ended
  const third = await start(t, data)
  t.equal((await fetch(`${third.url}/health`)).status, 200)
  await stopped(t, third, data)
})

t.test('draining: what is under way finishes, and nothing new begins', async (t) => {
  const data = path.join(await makeRoom(t), 'data')
  const server = await start(t, data)
  const { port } = new URL(server.url)
  const body = JSON.stringify({ username: 'nobody', password: 'nothing at all' })
  const socket = net.connect(Number(port), '127.0.0.1')
  socket.write(`POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`)
  await sleep(300)
  server.child.kill('SIGTERM')
  // The same Ctrl-C arrives from the terminal and again through npm: it is one.
  server.child.kill('SIGINT')
  await sleep(300)
  await t.rejects(fetch(`${server.url}/health`), 'nothing new is taken')
  socket.write(body)
  let answer = ''
  for await (const chunk of socket) answer += chunk
  t.match(answer, /^HTTP\/1\.1 401/, 'the request under way is answered')
  t.equal((await server.ended).code, 0)
})

t.test('a second signal quits at once', async (t) => {
  const data = path.join(await makeRoom(t), 'data')
  const server = await start(t, data)
  const socket = net.connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write('POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n')
  await sleep(300)
  server.child.kill('SIGINT')
  await sleep(1_000)
  t.equal(server.child.exitCode, null, 'it waits for the request')
  const asked = Date.now()
  server.child.kill('SIGINT')
  t.equal((await server.ended).code, 130)
  t.ok(Date.now() - asked < 3_000)
  for (let tries = 0; tries < 200 && (await findPostmaster(path.join(data, 'postgres'))); tries++) await sleep(50)
  t.equal(await findPostmaster(path.join(data, 'postgres')), null, 'PostgreSQL was told to stop')
  socket.destroy()
})

t.test('when PostgreSQL dies the server ends and says so', async (t) => {
  const data = path.join(await makeRoom(t), 'data')
  const server = await start(t, data)
  process.kill((await findPostmaster(path.join(data, 'postgres')))!.pid, 'SIGQUIT')
  const { code, output } = await server.ended
  t.equal(code, 1)
  t.match(output, /PostgreSQL is gone/)
})

t.test('odd folders: spaces, long names, below a folder closed to others', async (t) => {
  const room = await makeRoom(t)
  const closed = path.join(room, 'closed to others')
  await mkdir(closed, { mode: 0o700 })
  const data = path.join(closed, `it's my "data", ${'long '.repeat(30)}end`)
  const server = await start(t, data)
  t.equal((await fetch(`${server.url}/health`)).status, 200)
  await stopped(t, server, data)
})

t.test('a launcher that is killed outright takes the server with it, gently', async (t) => {
  const data = path.join(await makeRoom(t), 'data')
  const launched = await start(t, data, [], { program: [path.join(root, 'api', 'launch.mjs'), 'api/main.ts'] })
  const server = JSON.parse(await readFile(path.join(data, 'carrel.lock'), 'utf8')).pid as number
  t.not(server, launched.child.pid)
  launched.child.kill('SIGKILL')
  const { output } = await launched.ended
  t.match(output, /Stopped/)
  t.throws(() => process.kill(server, 0), { code: 'ESRCH' })
  t.equal(await findPostmaster(path.join(data, 'postgres')), null)
})

t.test('through the launcher SIGTERM drains and the exit code is 0', async (t) => {
  const data = path.join(await makeRoom(t), 'data')
  const launched = await start(t, data, [], { program: [path.join(root, 'api', 'launch.mjs'), 'api/main.ts'] })
  await stopped(t, launched, data)
})

t.test('starts that cannot work say why, and leave nothing running', async (t) => {
  const room = await makeRoom(t)
  const data = path.join(room, 'data')
  const bad = await runCommand(['--prot', '1', '--workers', 'many', '--data-dir', data])
  t.equal(bad.code, 1)
  t.match(bad.output, /2 mistakes[\s\S]*--prot\. Did you mean --port\?[\s\S]*--workers must be a whole number/)
  t.equal(await stat(data).catch(() => null), null, 'nothing was made')
  t.match(await runCommand(['serv']), { code: 1, output: /Did you mean carrel serve\?/ })

  const other = net.createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as net.AddressInfo
  t.match(await runCommand(['--data-dir', data, '--port', String(port)]), {
    code: 1,
    output: new RegExp(`Port ${port} on 127\\.0\\.0\\.1 is taken`),
  })
  t.equal(await findPostmaster(path.join(data, 'postgres')), null)
  t.match(await runCommand(['doctor', '--data-dir', data, '--port', String(port)]), { code: 1, output: /TROUBLE +Address/ })
  other.close()

  await writeFile(path.join(room, 'file'), '')
  t.match(await runCommand(['--data-dir', path.join(room, 'file')]), { code: 1, output: /is not a folder/ })
  t.match(
    await runCommand([], { env: { DATABASE_URL: 'postgresql://me:secret@127.0.0.1:1/x', CARREL_DATA_DIR: data, CARREL_PORT: '99999' } }),
    {
      code: 1,
      output: /CARREL_PORT must be/,
    },
  )
})

t.test('help and version', async (t) => {
  t.match(await runCommand(['--version']), { code: 0, output: /^Carrel \d+\.\d+\.\d+\n$/ })
  t.match(await runCommand(['--help']), { code: 0, output: /Commands:[\s\S]*doctor[\s\S]*--data-dir/ })
  for (const command of ['serve', 'user add', 'user reset-password', 'library add', 'library list', 'scan', 'doctor'])
    t.match(await runCommand([...command.split(' '), '--help']), { code: 0, output: new RegExp(`^Usage: carrel ${command}`) })
})
