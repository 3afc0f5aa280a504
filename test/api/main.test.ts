import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { findPostmaster } from '#core/embedded/postmaster.ts'
import { ADMIN, makeRoom, root, runCommand, spawnCarrel, startCarrel, stopCarrel } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyFull } from '#test/support/lane-size.ts'

// Each command is a process of its own, and some make a database, beside other tests.
t.setTimeout(300_000)

t.test('started, used by commands, refused twice, stopped', async (t) => {
  const room = await makeRoom(t)
  const data = path.join(room, 'data')
  const books = path.join(room, 'books')
  await mkdir(path.join(books, 'Series'), { recursive: true })
  await writeFile(path.join(books, 'Series', 'broken\u001b[31m\n1.cbz'), 'no book')
  const server = await startCarrel(t, data, ['--library', books])
  t.equal((await fetch(`${server.url}/health`)).status, 200)
  t.equal((await stat(data)).mode & 0o007, 0, 'the data folder is closed to others')

  const second = await runCommand(['--data-dir', data, '--port', '0'])
  t.equal(second.code, 1, 'a server that goes on is waited for only a moment')
  t.match(second.output, new RegExp(`in use by a Carrel server with pid ${server.child.pid}`))

  // The last lines of its welcome: it is written line by line.
  await server.said(/Carrel is ready[\s\S]* failed\n[\s\S]*broken.*\n/)
  t.match(server.output(), new RegExp(`Address +${server.url}`))
  t.match(server.output(), /Admin +none yet: open the address in a browser, or create one:/)
  t.match(server.output(), /Books +1 found, 1 failed/)
  t.notMatch(server.output(), '\u001b[31m', 'what a file is called does not reach the terminal as it is')

  const made = await runCommand(['user', 'add', ADMIN.username, '--role', 'admin', '--data-dir', data], { input: `${ADMIN.password}\n` })
  t.match(made, { code: 0, output: /Created the user ada with the role admin/ })
  const login = (password: string) =>
    fetch(`${server.url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: ADMIN.username, password }),
    })
  t.equal((await login(ADMIN.password)).status, 200)
  const word = path.join(room, 'word')
  await writeFile(word, 'another horse 2\n')
  const run = async (...words: string[]) => await runInProcess([...words, '--data-dir', data])
  t.match(await run('user', 'reset-password', 'ada', '--password-file', word), { code: 0 })
  t.equal((await login(ADMIN.password)).status, 401)
  t.equal((await login('another horse 2')).status, 200)
  t.match(await run('user', 'reset-password', 'adda', '--password-file', word), {
    code: 1,
    output: /Did you mean ada\?/,
  })

  t.match(await run('library', 'add', books), { code: 0, output: /is already the\s+library "books"/ })
  t.match(await run('library', 'list'), { code: 0, output: /^books {2}.*1 book, last scan completed/ })
  t.match(await run('scan', 'books'), { code: 0, output: /the running server scans it/ })
  // As when the server is started anew between a command's reading of the password and its use.
  const passwordFile = path.join(data, 'postgres.password')
  const password = await readFile(passwordFile)
  await writeFile(passwordFile, 'of the start before\n')
  const early = spawnCarrel(['library', 'list', '--data-dir', data])
  // The command starts, reads the wrong password and is refused meanwhile.
  await sleep(3_000)
  await writeFile(passwordFile, password)
  t.match(await early.ended, { code: 0, output: /^books/m })
  t.match(await runCommand(['doctor', '--data-dir', data]), {
    code: 0,
    output: /runs with pid \d+[\s\S]*used by the running server[\s\S]*Found no problems/,
  })
  await stopCarrel(t, server, data)
})

t.test('commands without a server, and a server that finds its port taken', onlyFull, async (t) => {
  const room = await makeRoom(t)
  const data = path.join(room, 'data')
  const books = path.join(room, 'books')
  await mkdir(books)
  await writeFile(path.join(books, 'broken.cbz'), 'no book')
  t.match(await runCommand(['library', 'add', 'books', '--name', 'Mine', '--data-dir', 'data'], { cwd: room }), {
    code: 0,
    output: /Added the library "Mine"/,
  })
  t.match(await runCommand(['scan', '--data-dir', data]), { code: 0, output: /No server uses[\s\S]*1 found, 1 failed/ })
  t.match(await runInProcess(['scan', 'Mein', '--data-dir', data]), { code: 1, output: /no library "Mein".*Did you mean Mine/ })

  const other = net.createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as net.AddressInfo
  // A first start says so before it makes a database.
  const fresh = path.join(room, 'fresh')
  const firsts = [
    { flags: ['--port', String(port)], output: new RegExp(`Port ${port} on 127\\.0\\.0\\.1 is in use`) },
    { flags: ['--port', '0', '--library', path.join(room, 'typo')], output: /typo" does not exist/ },
  ]
  for (const { flags, output } of firsts) {
    t.match(await runCommand(['--data-dir', fresh, ...flags]), { code: 1, output })
    t.notOk((await readdir(fresh)).includes('postgres'), 'no database was made')
  }
  t.match(await runCommand(['--data-dir', data, '--port', String(port)]), {
    code: 1,
    output: new RegExp(`Port ${port} on 127\\.0\\.0\\.1 is in use`),
  })
  t.equal(await findPostmaster(path.join(data, 'postgres')), null)
  await rm(books, { recursive: true })
  const troubles = await runCommand(['doctor', '--data-dir', data, '--port', String(port)])
  other.close()
  t.match(troubles, { code: 1, output: /PROBLEM +Address/ })
  t.match(troubles.output, /PROBLEM +Library folder: .*does not exist\n +Check the path[\s\S]*Found 2 problems/)
  t.equal(await findPostmaster(path.join(data, 'postgres')), null)
})

t.test('looking makes nothing: no folder, no database, and no tables in one of one’s own', async (t) => {
  const room = await makeRoom(t)
  const absent = path.join(room, 'typo', 'data')
  const empty = path.join(room, 'empty')
  await mkdir(empty)
  const { database, url } = await openTestDatabase(t, { empty: true })
  const words = [
    ['library', 'list'],
    ['plugin', 'list'],
    ['plugin', 'repository', 'list'],
    ['plugin', 'disable', 'carrel.echo'],
    ['scan'],
    ['user', 'reset-password', 'ada'],
  ]
  const word = path.join(room, 'word')
  await writeFile(word, 'a long password')
  const run = async (words: readonly string[], env: Record<string, string> = {}) => await runInProcess(words, { env, cwd: root })
  for (const each of words) {
    const from = each[0] === 'user' ? ['--password-file', word] : []
    const typo = await run([...each, ...from, '--data-dir', absent])
    t.match(typo, { code: 1, output: /typo\/data does not exist\. Check --data-dir/ }, each.join(' '))
    t.match(await run([...each, ...from, '--data-dir', empty]), { code: 1, output: /empty has no Carrel database/ })
    if (each.at(-1) !== 'list') continue
    const own = await run([...each, '--data-dir', absent], { DATABASE_URL: url })
    t.match(own, { code: 1, output: /Start the server once/ }, 'on a database of one’s own')
  }
  const doctor = await runCommand(['doctor', '--data-dir', absent, '--port', '0'])
  t.match(doctor, { code: 0, output: /note +Data folder: .*does not exist[\s\S]*skipped +Database: there is none yet[\s\S]*skipped\./ })
  t.match(await run(['doctor', '--data-dir', absent, '--port', '0'], { DATABASE_URL: url }), {
    code: 1,
    output: /lacks 0001_[\s\S]*skipped +Libraries/,
  })
  t.match(await runCommand(['scan', '--help', '--data-dir', absent]), { code: 0, output: /^Usage/ })
  t.same([(await readdir(room)).sort(), await readdir(empty)], [['empty', 'word'], []], 'no folder and no file')
  t.equal(await database.schema.hasTable('knex_migrations'), false)
})

t.test('starts that cannot work say why', async (t) => {
  const room = await makeRoom(t)
  const data = path.join(room, 'data')
  const bad = await runCommand(['--prot', '1', '--workers', 'many', '--data-dir', data])
  t.equal(bad.code, 1)
  t.match(bad.output, /2 problems[\s\S]*--prot\. Did you mean --port\?[\s\S]*--workers must be a whole number/)
  t.equal(await stat(data).catch(() => null), null, 'nothing was made')
  t.match(await runCommand(['serv']), { code: 1, output: /Did you mean npm run carrel -- serve\?/ })

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

t.test('as it is typed under npm: a folder, and flags without the two dashes', onlyFull, async (t) => {
  const room = await makeRoom(t)
  const data = path.join(room, 'data')
  const npm = (...words: string[]) => ({ run: ['npm', '--silent', ...words], cwd: root })
  const bad = await spawnCarrel([], npm('start', '--library', '/srv/co mics', '--port', '8090')).ended
  t.match(bad, { code: 1, output: /npm has taken --library, --port for itself/ })
  t.match(bad.output, "npm start -- --library '/srv/co mics' --port 8090\n")
  const user = await spawnCarrel([], npm('run', 'carrel', 'user', 'add', 'ada', '--role', 'admin', '--no-rate-limit')).ended
  t.match(user, { code: 1, output: /npm run carrel -- user add ada --role admin --no-rate-limit\n/ })
  t.match(await spawnCarrel([], npm('start', '--', 'scna')).ended, { code: 1, output: /Did you mean npm run carrel -- scan\?/ })
  t.match(await spawnCarrel([], npm('start', '--', '--port', '0', 'scan')).ended, {
    code: 1,
    output: /"scan" is neither a flag nor a folder/,
  })

  await mkdir(path.join(room, 'books'))
  const server = spawnCarrel([], npm('start', '--', path.join(room, 'books'), '--data-dir', data, '--port', '0', '--rate-limit', 'off'))
  t.teardown(() => void server.child.kill('SIGTERM'))
  await server.said(/Carrel is ready[\s\S]*Books +\d+ found.*\n/)
  t.match(server.output(), /Libraries +books \(/)
  // The hint is what can be typed.
  const hint = /npm run carrel -- user add <name> (.*)/.exec(server.output())?.[1] as string
  const made = spawnCarrel([], {
    run: ['sh', '-c', `npm --silent run carrel -- user add ada ${hint}`],
    cwd: root,
    input: 'a long password',
  })
  t.match(await made.ended, { code: 0, output: /Created the user ada with the role admin/ })
  await stopCarrel(t, server, data)
})

t.test('help and version are printed without a server', onlyFull, async (t) => {
  t.match(await runCommand(['--version']), { code: 0, output: /^Carrel \d+\.\d+\.\d+\n$/ })
  t.match(await runCommand(['--help']), { code: 0, output: /Commands:[\s\S]*doctor[\s\S]*--data-dir/ })
  t.match(await runCommand(['user', 'add', '--help']), { code: 0, output: /^Usage: npm run carrel -- user add <name>[\s\S]*--role/ })
})

t.test('on a database of one’s own', onlyFull, async (t) => {
  const { database, url } = await openTestDatabase(t, { empty: true })
  const room = await makeRoom(t)
  const data = path.join(room, 'data')
  await writeFile(path.join(room, 'word'), 'a long password')
  const env = { DATABASE_URL: url }
  const run = async (words: readonly string[], given = env) => await runInProcess([...words, '--data-dir', data], { env: given, cwd: room })
  const server = await startCarrel(t, data, [], { env })
  t.equal((await fetch(`${server.url}/health`)).status, 200)
  t.equal(await stat(path.join(data, 'postgres')).catch(() => null), null, 'none of ours is made')
  const first = await fetch(`${server.url}/api/v1/setup/initialize`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...ADMIN, email: 'ada@example.org' }),
  })
  t.equal(first.status, 200)
  t.match(await run(['user', 'add', 'eve', '--password-file', 'word']), {
    code: 0,
    output: /Created the user eve with the role reader/,
  })
  const users = await database('users').select('username', database.raw(`split_part(password_hash, '$', 4) AS cost`)).orderBy('username')
  const cost = 'm=19456,t=2,p=1'
  const both = [
    { username: 'ada', cost },
    { username: 'eve', cost },
  ]
  t.same(users, both, 'the server and its commands hash passwords at the full cost')
  t.match(await run(['doctor']), { code: 0, output: /PostgreSQL 18.*used by the running server/ })
  t.notMatch(server.output() + (await run(['doctor'])).output, /plugins may connect|Plugins: may/i)
  await stopCarrel(t, server, data)

  const allowing = ['--plugin-allow-local', 'localhost:8600']
  const developing = await startCarrel(t, data, allowing, { env })
  await developing.said(/warning: Plugins may connect to localhost:8600/)
  t.match(await run(['doctor', ...allowing]), {
    code: 0,
    output: /note +Plugins: may reach localhost:8600 on this machine[^\n]*\n +This is for development/,
  })
  await stopCarrel(t, developing, data)

  const wrong = { DATABASE_URL: url.replace('/test_', '/absent_') }
  t.match(await runCommand(['--data-dir', data, '--port', '0'], { env: wrong }), {
    code: 1,
    output: /DATABASE_URL cannot be used: database "absent_\w+" does not exist\. Check/,
  })
  const typo = await runCommand(['--data-dir', data, '--port', '0', '--library', path.join(data, 'Comisc')], { env })
  t.match(typo, { code: 1, output: /Comisc" does not exist/ })
})
