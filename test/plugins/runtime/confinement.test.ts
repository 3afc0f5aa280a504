import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { makeDataFolder } from '#core/embedded/data-folder.ts'
import { openEmbeddedPostgres } from '#core/embedded/embedded-postgres.ts'
import { readPostmasterFile } from '#core/embedded/postmaster.ts'
import { silentLog } from '#core/foundation/log.ts'
import { type Confinement, findConfinement } from '#plugins/runtime/confinement.ts'
import { awaitExit } from '#test/support/carrel-process.ts'
import { eventually } from '#test/support/guests.ts'

// Creating a cluster takes a second on an idle machine, and several on a busy one.
t.setTimeout(240_000)

/** What native code could do in a compromised runner, where Node's permissions do not apply. */
const STAND_IN = `
const fs = require('node:fs'), net = require('node:net')
const [socket, folder, server, pg] = process.argv.slice(1)
const tryTo = async (work) => {
  try { return String(await work()) } catch (error) { return error.code ?? error.message }
}
const login = (user, password) => async () => {
  const client = new (require(pg).Client)({ host: require('node:path').dirname(socket), user, database: 'carrel', password })
  await client.connect()
  return await client.end()
}
const main = async () => ({
  connect: await tryTo(() => new Promise((resolve, reject) => net.connect(socket, () => resolve('connected')).on('error', reject))),
  superuser: await tryTo(login('postgres')),
  guessed: await tryTo(login('carrel', 'carrel')),
  password: await tryTo(() => fs.readFileSync(folder + '/postgres.password', 'utf8').length),
  list: await tryTo(() => fs.readdirSync(folder).length),
  signal: await tryTo(() => process.kill(Number(server), 0)),
  environment: await tryTo(() => fs.readFileSync('/proc/' + server + '/environ').length),
  memory: await tryTo(() => fs.openSync('/proc/' + server + '/mem', 'r')),
  descriptor: await tryTo(() => fs.readdirSync('/proc/' + server + '/fd').length),
  passwd: await tryTo(() => fs.readFileSync('/etc/passwd').length),
  write: await tryTo(() => fs.writeFileSync(process.execPath + '.new', 'x')),
})
main().then((found) => { fs.writeSync(1, JSON.stringify(found)); process.exit() })`

async function openCluster(t: import('tap').Test) {
  const room = await mkdtemp(path.join(os.tmpdir(), 'carrel-confinement-test-'))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  const folder = await makeDataFolder(path.join(room, 'data'))
  const postgres = await openEmbeddedPostgres({ folder, log: silentLog, onExit() {}, settings: { fsync: 'off' } })
  t.teardown(() => postgres.close())
  const { socketFolder } = (await readPostmasterFile(path.join(folder, 'postgres')))!
  return { room, folder, socket: path.join(socketFolder, '.s.PGSQL.5432') }
}

const pg = createRequire(import.meta.url).resolve('pg')
const modules = path.resolve(path.dirname(pg), '..', '..')

function standIn(
  { words, stdin }: Pick<Confinement, 'words' | 'stdin'>,
  { socket, folder }: { socket: string; folder: string },
): Record<string, string> {
  const ran = spawnSync(words[0]!, [...words.slice(1), process.execPath, '-e', STAND_IN, socket, folder, String(process.pid), pg], {
    stdio: [stdin, 'pipe', 'pipe'],
    cwd: '/',
    encoding: 'utf8',
    timeout: 60_000,
  })
  if (ran.status !== 0) throw new Error(`The stand-in failed: ${ran.stderr}`)
  return JSON.parse(ran.stdout)
}

t.test('a compromised runner reaches neither the database nor the data folder nor the server', async (t) => {
  const cluster = await openCluster(t)
  const needs = { folders: [path.dirname(process.execPath), modules], trial: [process.execPath, '-e', '0'] }
  const confinement = await findConfinement(silentLog, needs)
  if (confinement.forks) {
    const found = standIn(confinement, cluster)
    for (const act of ['connect', 'superuser', 'guessed', 'password', 'list', 'environment', 'memory', 'descriptor', 'passwd'])
      t.equal(found[act], 'ENOENT', `${act}: it does not exist in its namespaces`)
    t.equal(found['signal'], 'ESRCH')
    t.match(found['write'], /EROFS|EACCES/)
  } else t.comment('this system permits no namespaces')

  const bare = { words: ['/usr/bin/env', '-i'], stdin: 'ignore', forks: false } as const
  const found = standIn(bare, cluster)
  t.equal(found['connect'], 'connected', 'as the same user without confinement, it reaches the socket')
  t.equal(found['superuser'], '28000')
  t.equal(found['guessed'], '28P01', 'but cannot sign in without the password')
})

t.test('the confinement is found beside the work of the server, and one line names it', async (t) => {
  let lines: { level: string; fields: Record<string, string> }[] = []
  const note = (level: string) => (fields: object) => void lines.push({ level, fields: fields as Record<string, string> })
  let turns = 0
  const turning = setInterval(() => {
    turns += 1
  }, 5)
  // Each attempt takes this long; the first possible one is used.
  const trial = [process.execPath, '-e', 'setTimeout(() => {}, 300)']
  // On a busy machine this process may stand still for as long as one search takes.
  for (let tries = 0; tries < 3 && turns <= 10; tries++) {
    turns = 0
    lines = []
    await findConfinement({ ...silentLog, info: note('info'), debug: note('debug') }, { folders: [path.dirname(process.execPath)], trial })
  }
  clearInterval(turning)
  t.ok(turns > 10, `this thread ran ${turns} times meanwhile`)
  t.match(lines, [{ level: 'info' }, { level: 'debug' }])
  const [{ fields: said }, { fields: details }] = lines as [(typeof lines)[0], (typeof lines)[0]]
  t.ok(said['confinement']!.length < 120, said['confinement']!)
  t.match(details['command'], /setpriv/)
})

t.test('an unresponsive runner ends with the server, also by kill -9', async (t) => {
  const room = await mkdtemp(path.join(os.tmpdir(), 'carrel-confinement-test-'))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  // As the product's code: readable, because the runner may have another user.
  await chmod(room, 0o755)
  const deaf = path.join(room, 'deaf-runner.mjs')
  await writeFile(
    deaf,
    `import { writeSync } from 'node:fs'
    const header = Buffer.from('{"kind":"ready"}')
    const frame = Buffer.alloc(8)
    frame.writeUInt32LE(header.length, 0)
    writeSync(3, Buffer.concat([frame, header]))
    setInterval(() => {}, 1000)`,
  )
  const script = `
    setInterval(() => {}, 1000)
    const { confinementOf, RunnerProcess } = await import('#plugins/runtime/runner-process.ts')
    const { silentLog } = await import('#core/foundation/log.ts')
    const runner = new RunnerProcess(silentLog, { isWanted: () => true, onFrame() {}, onExit() {} }, {
      path: process.argv[1],
      confinement: await confinementOf(silentLog, process.argv[1]),
    })
    await runner.ready
    console.log(JSON.stringify([process.pid, runner.pid]))
`
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const server = spawn(process.execPath, ['--input-type=module', '-e', script, deaf], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  server.stdout!.on('data', (chunk) => {
    said += chunk
  })
  await eventually(() => said.includes('\n'), 'the runner to start', 60_000)
  const [, runner] = JSON.parse(said) as [number, number]
  server.kill('SIGKILL')
  await once(server, 'exit')
  t.ok(await awaitExit(runner))
})
