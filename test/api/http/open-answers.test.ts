import { mkdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { rateSeries, setTestRule } from '#test/support/access-rules.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { followEvents } from '#test/support/event-reading.ts'
import { until } from '#test/support/library-fixture.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST } from '#test/support/metadata-plugin.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

/** Far more than the buffers of a connection hold. */
const FILE_BYTES = 256 * 1024 ** 2

/** A slow client: without the end of its right it would read for minutes. */
const READ_BYTES = 65_536
const READ_MS = 50

interface Download {
  /** Whether everything came, once the connection of this answer has ended. */
  ended: Promise<boolean>
  isOver(): boolean
  /** Reads the rest as fast as it comes. */
  hurry(): void
}

function download(url: string, token: string): Promise<Download> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers: { authorization: `Bearer ${token}` }, agent: false }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`${url}: ${response.statusCode}`))
      let isOver = false
      const reading = setInterval(() => response.read(READ_BYTES) ?? response.read(), READ_MS)
      const ended = new Promise<boolean>((done) => {
        response.once('close', () => {
          clearInterval(reading)
          isOver = true
          done(response.complete)
        })
      })
      response.on('error', () => {})
      const hurry = () => {
        clearInterval(reading)
        response.resume()
      }
      response.once('readable', () => resolve({ ended, isOver: () => isOver, hurry }))
    })
    request.on('error', reject)
  })
}

t.test('a download ends with its credential, the rights of its user and what it shows', async (t) => {
  const { database, services, url, folder, adminToken } = await openComposedServer(t)
  const { accounts } = services
  const root = join(folder, 'library')
  mkdirSync(root)
  const libraryId = await addLibrary(database, { path: root })
  /** A series with one large book. */
  const addLarge = async (title: string) => {
    const path = join(root, `${title}.cbz`)
    writeFileSync(path, '')
    truncateSync(path, FILE_BYTES)
    const { mtimeNs } = statSync(path, { bigint: true })
    const seriesId = await addSeries(database, { library_id: libraryId, title })
    const file = { path, file_name: `${title}.cbz`, file_size: FILE_BYTES, file_mtime_ns: String(mtimeNs) }
    return { seriesId, bookId: await addBook(database, { library_id: libraryId, series_id: seriesId, title, ...file }) }
  }
  const [open, shut, rated, moved] = [await addLarge('Open'), await addLarge('Shut'), await addLarge('Rated'), await addLarge('Moved')]
  const elsewhere = await addLibrary(database, { path: join(folder, 'elsewhere') })
  const book = `${url}/api/v1/books/${open.bookId}/file`
  const archive = `${url}/api/v1/series/${open.seriesId}/download`
  const [tag] = await database('sharing_tags').insert({ name: 'for adults' }, 'id')

  let count = 0
  const addUser = async () => {
    const username = `user${count++}`
    const password = `${username} has a password`
    const { id } = await accounts.createUser({ username, password, email: `${username}@example.org`, role: 'maintainer' }, null)
    const { accessToken: token } = await accounts.login({ username, password, address: '127.0.0.1' })
    return { id, token, caller: (await accounts.callers.ofToken(token, 'token'))! }
  }
  const addKey = async () => {
    const user = await addUser()
    return { ...user, ...(await accounts.createApiKey({ name: 'a key' }, user.caller)), userId: user.id }
  }
  const [disabled, deleted, demoted, granted, signedOut, watching, staying, young, listed] = await Promise.all(
    Array.from({ length: 9 }, addUser),
  )
  const [withdrawn, narrowed, ended] = await Promise.all(Array.from({ length: 3 }, addKey))
  await database('user_sharing_grants').insert({ user_id: watching!.id, sharing_tag_id: tag.id, access_mode: 'deny' })
  await setTestRule(database, { user_id: young!.id }, { age: { mode: 'not_from', years: 18, unrated: 'show' } })
  await setTestRule(database, { user_id: listed!.id }, { libraries: [libraryId] })
  accounts.callers.forget()

  const cases: { said: string; token: string; of: string; change: () => Promise<unknown> }[] = [
    {
      said: 'the account is disabled',
      token: disabled!.token,
      of: book,
      change: () => accounts.editUser(disabled!.id, { isActive: false }, null),
    },
    { said: 'the account is deleted', token: deleted!.token, of: archive, change: () => accounts.removeUser(deleted!.id, null) },
    {
      said: 'the user is demoted',
      token: demoted!.token,
      of: book,
      change: () => accounts.editUser(demoted!.id, { role: 'reader' }, null),
    },
    {
      said: 'the grants change',
      token: granted!.token,
      of: archive,
      change: async () => {
        const answer = await fetch(`${url}/api/v1/users/${granted!.id}/sharing-tags`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
          body: JSON.stringify({ sharingTagId: tag.id, accessMode: 'deny' }),
        })
        t.equal(answer.status, 200, await answer.text())
      },
    },
    { said: 'the session is signed out', token: signedOut!.token, of: book, change: () => accounts.logout(signedOut!.caller) },
    {
      said: 'the key is deleted',
      token: withdrawn!.key,
      of: archive,
      change: () => accounts.removeApiKey(withdrawn!.id, withdrawn!.caller),
    },
    {
      said: 'the key loses permissions',
      token: narrowed!.key,
      of: book,
      change: () => accounts.editApiKey(narrowed!.id, { permissions: ['libraries-read'] }, narrowed!.caller),
    },
    {
      said: 'the key ends',
      token: ended!.key,
      of: archive,
      change: () => database('api_keys').where({ id: ended!.id }).update({ expires_at: new Date() }),
    },
    {
      said: 'the series is hidden',
      token: watching!.token,
      of: `${url}/api/v1/series/${shut.seriesId}/download`,
      change: () => database('series_sharing_tags').insert({ series_id: shut.seriesId, sharing_tag_id: tag.id }),
    },
    {
      said: 'the series of the book is hidden',
      token: watching!.token,
      of: `${url}/api/v1/books/${shut.bookId}/file`,
      change: async () => {},
    },
    {
      said: 'the series gets a rating',
      token: young!.token,
      of: `${url}/api/v1/books/${rated.bookId}/file`,
      change: () => rateSeries(database, rated.seriesId, 18),
    },
    {
      said: 'the series moves to a library that is not listed',
      token: listed!.token,
      of: `${url}/api/v1/series/${moved.seriesId}/download`,
      change: async () => {
        await database('series').where({ id: moved.seriesId }).update({ library_id: elsewhere })
        await database('books').where({ id: moved.bookId }).update({ library_id: elsewhere })
      },
    },
    {
      said: 'its book moves along',
      token: listed!.token,
      of: `${url}/api/v1/books/${moved.bookId}/file`,
      change: async () => {},
    },
  ]
  const running = await Promise.all(cases.map(async (each) => ({ ...each, transfer: await download(each.of, each.token) })))
  const others = await Promise.all([download(book, staying!.token), download(archive, staying!.token)])
  for (const { change } of running) await change()
  for (const { said, transfer } of running) t.notOk(await transfer.ended, `when ${said}, the download ends without its end`)
  for (const transfer of others) {
    t.notOk(transfer.isOver())
    transfer.hurry()
    t.ok(await transfer.ended, 'and those of others go on to their end')
  }
})

t.test('an event stream ends when its key or token does', async (t) => {
  const { database, services, url, start } = await openComposedServer(t)
  await start()
  const { accounts } = services
  const { id } = await accounts.createUser({ username: 'mia', password: 'a long enough password', email: 'mia@example.org' }, null)
  const { accessToken } = await accounts.login({ username: 'mia', password: 'a long enough password', address: '127.0.0.1' })
  const caller = (await accounts.callers.ofToken(accessToken, 'token'))!
  const { key, id: keyId } = await accounts.createApiKey({ name: 'short' }, caller)
  await database('api_keys')
    .where({ id: keyId })
    .update({ expires_at: new Date(Date.now() + 5_000) })
  accounts.callers.forget(id)
  const short = await followEvents(url, key)
  t.teardown(() => short.close())
  const long = await followEvents(url, accessToken)
  t.teardown(() => long.close())
  await t.rejects(
    short.find(() => false),
    /The stream (broke|ended)/,
  )
  t.notOk(long.isOver(), 'the stream of the user goes on')
})

t.test('the live log of a plugin ends with the right to read it', async (t) => {
  const { database, services, url, adminToken } = await openComposedServer(t)
  const { accounts, pluginLifecycle } = services
  const { plugin } = await pluginLifecycle.install(pluginOf(METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST), { userId: null })
  let count = 0
  const addKey = async () => {
    const username = `admin${count++}`
    const password = `${username} has a password`
    const { id: userId } = await accounts.createUser({ username, password, email: `${username}@example.org`, role: 'admin' }, null)
    const { accessToken } = await accounts.login({ username, password, address: '127.0.0.1' })
    const caller = (await accounts.callers.ofToken(accessToken, 'token'))!
    return { ...(await accounts.createApiKey({ name: 'a key' }, caller)), userId, caller }
  }
  const [deleted, demoted, restricted] = [await addKey(), await addKey(), await addKey()]
  const live = `${url}/api/v1/admin/plugins/${plugin.id}/logs/live`
  const cases = [
    { said: 'the key is deleted', key: deleted.key, change: () => accounts.removeApiKey(deleted.id, deleted.caller) },
    { said: 'its user is demoted', key: demoted.key, change: () => accounts.editUser(demoted.userId, { role: 'reader' }, null) },
    {
      said: 'its user may not see all series any more',
      key: restricted.key,
      change: () => setTestRule(database, { user_id: restricted.userId }, { libraries: [] }),
    },
  ]
  const running = await Promise.all(cases.map(async (each) => ({ ...each, stream: await download(live, each.key) })))
  const staying = await download(live, adminToken)
  let checks = 0
  database.on('query', ({ sql }: { sql: string }) => {
    if (/^select "id" from "users".*"access_rules"/.test(sql)) checks++
  })
  // More than one check of each, since a stream that is checked only once would not notice what changes later.
  await until(() => checks >= 2 * (running.length + 1))
  for (const { change } of running) await change()
  for (const { said, stream } of running) t.notOk(await stream.ended, `when ${said}, the stream ends without its end`)
  t.notOk(staying.isOver(), 'that of another administrator goes on')
  await pluginLifecycle.uninstall(plugin.id)
  t.ok(await staying.ended, 'until the plugin is uninstalled')
})
