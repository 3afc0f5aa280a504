import { join } from 'node:path'
import t from 'tap'
import { getTask } from '#core/tasks/task-query.ts'
import { getBundledPlugin } from '#plugins/packages/bundled-plugins.ts'
import { addWalker, openComposedServer, type Walker } from '#test/support/composed-server.ts'
import { someOf } from '#test/support/lane-size.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST } from '#test/support/metadata-plugin.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { until } from '#test/support/user-plugin-server.ts'

/**
 * What tasks make for somebody from whom a series is kept tells nothing of it, though the server itself works on everything: exports,
 * recommendations, and whole libraries that are matched.
 */

/** Stands in every text of the hidden series and its book, and nowhere else. */
const SECRET = 'Zyxwvut'
const WALKERS: readonly Walker[] = someOf(
  'users, of every role',
  [
    { role: 'reader', mode: 'deny' },
    { role: 'admin', mode: 'deny' },
    { role: 'reader', mode: 'allow' },
    { role: 'maintainer', mode: 'deny' },
    { role: 'reader', mode: 'libraries' },
    { role: 'maintainer', mode: 'libraries', byKey: true },
    { role: 'maintainer', mode: 'up_to' },
    { role: 'reader', mode: 'not_from', byKey: true },
  ],
  1,
)

t.setTimeout(240_000)

t.test('what is made in the background tells nothing of what is hidden', { timeout: 240_000 }, async (t) => {
  const { folder, database, services, start, url, adminToken } = await openComposedServer(t)
  await start()

  const libraryId = await addLibrary(database, { path: join(folder, 'library') })
  const elsewhereId = await addLibrary(database, { path: join(folder, 'elsewhere') })
  const [genre] = await database('genres').insert({ name: 'Space', name_key: 'space' }, 'id')
  const tags = await database('sharing_tags').insert([{ name: 'for all' }, { name: 'kept away' }], 'id')
  const addWorld = async (word: string, tagId: string, age_rating: number) => {
    const seriesId = await addSeries(database, { library_id: libraryId, title: `${word} Saga` })
    const bookId = await addBook(database, { library_id: libraryId, series_id: seriesId, title: `${word} One`, page_count: 9 })
    await database('series_genres').insert({ series_id: seriesId, genre_id: genre.id })
    await database('series_metadata').insert({ series_id: seriesId, summary: `${word} rockets in orbit`, age_rating })
    await database('series_sharing_tags').insert({ series_id: seriesId, sharing_tag_id: tagId })
    return { seriesId, bookId }
  }
  const read = await addWorld('Open', tags[0].id, 6)
  const next = await addWorld('Unread', tags[0].id, 12)
  const hidden = await addWorld(SECRET, tags[1].id, 18)
  // What one plugin recommends to everybody is what is hidden.
  await database('series_external_ids').insert({ series_id: hidden.seriesId, source: 'plugin:known', external_id: '1' })

  const install = async (bytes: Buffer) => {
    const { plugin, sha256 } = await services.pluginLifecycle.install(bytes, { userId: null })
    await services.pluginLifecycle.consent(plugin.id, { sha256 })
    return plugin
  }
  const knowing = await install(pluginOf(METADATA_PLUGIN, METADATA_PLUGIN_MANIFEST))
  const similar = await install((await getBundledPlugin('similar-in-library')).bytes)

  /** @param ownToken of the user, who enables plugins: a key with a rule may not */
  const openReader = (token: string, ownToken: string) => {
    // What was computed for a user from a series that their key may not see is not shown to the key.
    const isShown = token === ownToken

    const told: string[] = []
    const ask = async (method: string, path: string, body?: object, by = token) => {
      const answer = await fetch(`${url}/api/v1/${path}`, {
        method,
        headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      told.push(`${method} ${path} → ${answer.status} ${text}`)
      return {
        status: answer.status,
        text,
        json: (/json/.test(answer.headers.get('content-type') ?? '') ? JSON.parse(text) : null) as never,
      }
    }
    const ended = (taskId: string) =>
      until(async () => !['pending', 'processing'].includes((await getTask(database, taskId)).status), 'a task to end', 60_000)
    /** Everything that tasks can make for a reader; answers all that was told. */
    const askForAll = async () => {
      for (const format of ['json', 'csv', 'md']) {
        const wish = { format, exportType: 'both', libraryIds: [libraryId], fields: ['summary', 'genres'], bookFields: ['title'] }
        const { status, json } = await ask('POST', 'user/exports/series', wish)
        t.equal(status, 202, `an export as ${format}`)
        const { id, taskId } = json as { id: string; taskId: string }
        await ended(taskId)
        t.match(await ask('GET', `user/exports/series/${id}`), { json: { status: 'completed' } })
        t.match((await ask('GET', `user/exports/series/${id}/download`)).text, /Open Saga[\s\S]*Unread Saga/)
      }
      for (const { id } of [knowing, similar]) {
        await ask('GET', 'user/plugins')
        t.match(await ask('POST', `user/plugins/${id}/enable`, undefined, ownToken), { status: 200 })
        const { taskId } = (await ask('POST', `user/recommendations/refresh?pluginId=${id}`)).json as { taskId: string }
        await ended(taskId)
        t.match(await ask('GET', `user/recommendations?pluginId=${id}`), { status: 200, json: { cached: isShown } })
        await ask('GET', `user/plugins/${id}/tasks`)
        await ask('GET', `tasks/${taskId}`)
      }
      const matched = await ask('POST', `libraries/${libraryId}/metadata/auto-match/task`, { pluginId: knowing.id })
      if (matched.status === 200) {
        const [matching = ''] = (matched.json as { taskIds: string[] }).taskIds
        await ended(matching)
        const jobs = `libraries/${libraryId}/jobs`
        const { id: jobId } = (await ask('POST', jobs, { config: { type: 'metadata_refresh', provider: knowing.id } })).json as {
          id: string
        }
        const { taskId: refresh } = (await ask('POST', `${jobs}/${jobId}/run-now`)).json as { taskId: string }
        await ended(refresh)
        for (const path of [`tasks/${matching}`, `tasks/${refresh}`, jobs, `${jobs}/${jobId}`])
          t.equal((await ask('GET', path)).status, 200, path)
        await ask('POST', `${jobs}/${jobId}/dry-run`, { sampleSize: 20 })
        await ask('DELETE', `${jobs}/${jobId}`)
      } else t.equal(matched.status, 403)
      // Administrators only: what plugins were asked, by whomever.
      const search = { method: 'metadata.series.search', input: { query: `${SECRET} Saga`, limit: 5 }, userId: null }
      await services.pluginCalls.call({ pluginId: knowing.id, ...search })
      const { calls = [] } = ((await ask('GET', `admin/plugins/${knowing.id}/calls`)).json ?? {}) as { calls?: { callId: string }[] }
      for (const { callId } of calls) await ask('GET', `admin/plugins/${knowing.id}/calls/${callId}`)
      for (const path of ['logs', 'failures', 'health']) await ask('GET', `admin/plugins/${knowing.id}/${path}`)
      for (const path of ['tasks', 'user/exports/series', 'user/plugins', `series/${read.seriesId}/metadata/applications`])
        await ask('GET', path)
      return told
    }
    return { ask, askForAll }
  }

  const moveTo = async (library_id: string) => {
    await database('series').where('id', hidden.seriesId).update({ library_id })
    await database('books').where('id', hidden.bookId).update({ library_id })
  }
  // How much there is tells too.
  const telling = [SECRET, hidden.seriesId, hidden.bookId, '"processed":3', '3 processed', '"totalEligible":3', '"rowCount":6']
  for (const walker of WALKERS) {
    const tagId = tags[walker.mode === 'allow' ? 0 : 1].id
    const asker = await addWalker({ database, services }, { ...walker, tagId, libraries: [libraryId] })
    const who = asker.said
    await moveTo(walker.mode === 'libraries' ? elsewhereId : libraryId)
    const finished = { user_id: asker.id, current_page: 9, percentage: 1, completed: true, completed_at: new Date() }
    for (const { bookId } of [read, hidden]) await database('read_progress').insert({ ...finished, book_id: bookId })
    const told = await openReader(asker.accessToken, asker.ownToken).askForAll()
    for (const said of told) {
      const shown = telling.filter((word) => said.includes(word))
      t.same(shown, [], `${who} ${said.slice(0, 80)}`)
    }
    const recommended = told.find((said) => said.startsWith(`GET user/recommendations?pluginId=${similar.id}`)) ?? ''
    if (walker.byKey) t.match(recommended, /"recommendations":\[\]/, `${who} is told nothing that was computed from what they may not see`)
    else {
      t.match(recommended, new RegExp(next.seriesId), `${who} is told of what is like what they have read`)
      t.match(recommended, /Open Saga/, 'with the reason')
    }
    t.notMatch(recommended, new RegExp(`"serviceSeriesId":"${read.seriesId}"`), 'and of nothing that they have read')
    const watched = told.filter((said) => /^GET admin\/plugins\/[^/]+\/(calls|logs|failures) → 403/.test(said))
    t.equal(watched.length, 3, 'what plugins were asked may name anything')
    const counted = told.filter((said) => said.startsWith('GET user/exports/series/') && said.includes('"rowCount"'))
    t.ok(counted.length === 3 && counted.every((said) => said.includes('"rowCount":4')), 'two series and their books')
  }

  t.test('it is seen by who may', async (t) => {
    await moveTo(libraryId)
    const told = await openReader(adminToken, adminToken).askForAll()
    for (const word of telling.filter((word) => word !== hidden.bookId))
      t.ok(
        told.some((said) => said.includes(word)),
        `${word} is told`,
      )
    for (const path of [
      /^GET admin\/plugins\/[^/]+\/calls\/./,
      /^GET user\/exports\/series\/[^/]+\/download/,
      new RegExp(`^GET user/recommendations\\?pluginId=${knowing.id}`),
    ])
      t.ok(
        told.some((said) => path.test(said) && (said.includes(SECRET) || said.includes(hidden.seriesId))),
        String(path),
      )
  })
})
