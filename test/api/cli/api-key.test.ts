import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ADMIN, makeRoom, startCarrel } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'

t.setTimeout(300_000)

t.test('users, keys, settings and libraries from the command line, beside a running server', async (t) => {
  const { database, url } = await openTestDatabase(t)
  const room = await makeRoom(t)
  const data = path.join(room, 'data')
  for (const name of ['books', 'moved']) await mkdir(path.join(room, name))
  const env = { DATABASE_URL: url }
  await writeFile(path.join(room, 'word'), 'a long password\n')
  const run = async (line: string) => await runInProcess([...line.split(' '), '--data-dir', data], { env, cwd: room })
  const server = await startCarrel(t, data, [], {
    env: { ...env, CARREL_ADMIN_USERNAME: ADMIN.username, CARREL_ADMIN_PASSWORD: ADMIN.password },
  })
  const statusOf = async (key: string, place = '/api/v1/admin/settings') =>
    (await fetch(`${server.url}${place}`, { headers: { 'x-api-key': key } })).status

  t.match(await run('api-key list'), { code: 0, output: /no API key yet.*api-key create/ })
  const made = await run('api-key create ada reports')
  t.match(made, { code: 0, output: /Created the API key "reports" of ada/ })
  const key = /^carrel_\w+$/m.exec(made.output)?.[0] as string
  t.equal(await statusOf(key), 200, 'it may do what she may')
  t.match(await run('api-key create ada narrow --permissions books-read --expires 2090-01-31'), { code: 0 })
  t.match(await run('api-key list ada'), { output: /carrel_\w+ {2}ada {2}narrow {2}valid until 2090-01-31, last used never/ })
  t.match(await run('api-key create ada x --permissions books-reed'), { code: 1, output: /"books-reed" is not a permission/ })
  t.match(await run('api-key create ada x --expires 2001-01-31'), { code: 1, output: /in the future/ })
  t.match(await run('api-key create adda x'), { code: 1, output: /Did you mean ada\?/ })

  t.match(await run('user add bob --password-file word'), { code: 0 })
  t.match(await run('user list'), { code: 0, output: /^ada {2}.*admin {2}last signed in[\s\S]*^bob {2}.* reader/m })
  t.match(await run('api-key create bob of-a-reader --permissions system-admin'), { code: 1, output: /do not have these permissions/ })
  t.match(await run('user role bob librarian'), { code: 1, output: /must be one of reader, maintainer, admin/ })
  t.match(await run('user role bob maintainer'), { code: 0, output: /bob is maintainer now/ })
  t.match(await run('user role ada reader'), { code: 1, output: /last|administrator/ }, 'the rule of the API')
  t.match(await run('user remove bob'), { code: 0, output: /Removed bob/ })
  t.match(await run('user remove ada'), { code: 1, output: /last|administrator/ })

  t.match(await run('settings get application.name'), { code: 0, output: /^Carrel\n$/ })
  t.match(await run('settings set application.name Shelf'), { code: 0, output: /application\.name {2}Shelf/ })
  t.match(
    await (await fetch(`${server.url}/api/v1/settings/branding`)).json(),
    { applicationName: 'Shelf' },
    'the server goes by it at once',
  )
  t.match(await run('settings get'), { output: /application\.name {2}Shelf[\s\S]*display\.custom/ })
  t.match(await run('settings set aplication.name x'), { code: 1, output: /Did you mean application\.name\?/ })
  t.match(await run('settings set display.custom_metadata_template {{#if'), { code: 1, output: /is not a valid template/ })
  t.match(await run('settings set application.name --default'), { code: 0, output: /application\.name {2}Carrel/ })
  t.match(await database('setting_history').orderBy('changed_at').select('ip_address', 'change_reason'), [
    { ip_address: 'command line', change_reason: /command on the server/ },
    { ip_address: 'command line' },
  ])

  t.match(await run('library add books'), { code: 0 })
  t.match(await run('library edit books'), { code: 1, output: /Give at least one of --name/ })
  for (let tries = 0; tries < 100; tries++) {
    if (!(await run('library edit books --name Comics --folder moved')).output.includes('scanned')) break
    // Between two tries.
    await sleep(200)
  }
  t.match(await run('library list'), { output: /^Comics {2}\S+moved/ })
  t.match(await run('library edit Comics --folder nowhere'), { code: 1, output: /nowhere/ })
  t.match(await run('library edit Comics --no-active'), { code: 0, output: /inactive/ })
  t.match(await run('library remove Comics'), { code: 1, output: /0 books.*library remove Comics --yes/ })
  t.match(await run('library remove Comics --yes'), { code: 0, output: /Removed the library "Comics"; its files stay/ })
  t.same(await database('libraries'), [])

  t.match(await run(`api-key revoke ${key.slice(0, key.lastIndexOf('_'))}`), { code: 0, output: /Revoked the API key "reports"/ })
  t.match(await run('api-key list'), { output: /reports {2}revoked/ })
  let status = 200
  for (let tries = 0; tries < 60 && status !== 401; tries++, await sleep(200)) status = await statusOf(key)
  t.equal(status, 401, 'the running server refuses it within seconds')
  t.match(await run('api-key revoke nothing'), { code: 1, output: /no such API key/ })
})
