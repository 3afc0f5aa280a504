import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { addWalker, openComposedServer, type Walker } from '#test/support/composed-server.ts'
import { until } from '#test/support/library-fixture.ts'
import { addLibrary } from '#test/support/library-rows.ts'

/** What people from whom something is kept see before and after each change of the layout: never more. */

t.setTimeout(240_000)

const WALKERS: readonly Walker[] = [
  { role: 'reader', mode: 'deny' },
  { role: 'maintainer', mode: 'deny' },
  { role: 'reader', mode: 'allow' },
  { role: 'reader', mode: 'libraries' },
  { role: 'reader', mode: 'not_from' },
  { role: 'reader', mode: 'not_from', byKey: true },
]

t.test('a change of the layout shows nothing that was hidden', async (t) => {
  const { folder, database, services, url, adminToken, start } = await openComposedServer(t)
  const path = join(folder, 'library')
  mkdirSync(path)
  const [libraryId, elsewhere] = [await addLibrary(database, { path }), await addLibrary(database, { path: join(folder, 'other') })]
  const names = ['open', 'kept away', 'both']
  const tags = await database('sharing_tags').insert(
    names.map((name) => ({ name })),
    ['id'],
  )
  const [allowed, denied, contested] = tags.map(({ id }) => id)
  const users: Awaited<ReturnType<typeof addWalker>>[] = []
  for (const walker of WALKERS) {
    const tagId = walker.mode === 'allow' ? allowed : denied
    users.push(await addWalker({ database, services }, { ...walker, tagId, libraries: [elsewhere] }))
  }
  // A tag that is allowed to some and denied to others.
  for (const [index, { mode }] of WALKERS.entries())
    if (mode === 'allow' || mode === 'deny')
      await database('user_sharing_grants').insert({ user_id: users[index]?.id, sharing_tag_id: contested, access_mode: mode })

  // Of each name one series with two volumes, of which the first is special, and one that only some of its books make special.
  const volumes = [
    { name: 'Tagged', tag: denied },
    { name: 'Shown', tag: allowed },
    { name: 'Contested', tag: contested },
    { name: 'Adult', age: 18, source: 'user' },
    { name: 'Found', age: 18, source: 'embedded' },
  ]
  for (const { name, tag, age, source } of volumes)
    for (const at of [`${name}/Vol 1`, `${name}/Vol 2`]) {
      const isFirst = at.endsWith('1')
      const [series] = await database('series').insert({ library_id: libraryId, path: at, title: at }, ['id'])
      if (isFirst && tag) await database('series_sharing_tags').insert({ series_id: series.id, sharing_tag_id: tag })
      if (isFirst && age)
        await database('series_metadata').insert({ series_id: series.id, age_rating: age, sources: JSON.stringify({ ageRating: source }) })
      for (const [n, file] of ['Batman 001', 'Batman 002', 'Saga 001'].entries()) {
        const facts = {
          file_name: `${file}.cbz`,
          file_format: 'cbz',
          file_size: 1,
          file_mtime_ns: 1,
          title: `${at} ${file}`,
          state: 'analyzed',
        }
        const [book] = await database('books').insert(
          { library_id: libraryId, series_id: series.id, path: `${path}/${at}/${file}.cbz`, ...facts },
          ['id'],
        )
        const hasAge = source === 'embedded' && isFirst && n === 0
        const embedded = { series: { fields: hasAge ? { ageRating: 18 } : {} } }
        await database('book_metadata').insert({ book_id: book.id, embedded: JSON.stringify(embedded) })
      }
    }

  const rows: { id: string; path: string }[] = await database('books').select('id', 'path')
  const placeOf = new Map(rows.map((row) => [row.id, row.path.slice(path.length + 1)]))
  const seenBy = async (token: string) => {
    const response = await fetch(`${url}/api/v1/books?pageSize=100`, { headers: { authorization: `Bearer ${token}` } })
    t.equal(response.status, 200)
    const { data } = (await response.json()) as { data: { id: string }[] }
    return data.map(({ id }) => placeOf.get(id) as string).sort()
  }
  const seen = async () => await Promise.all(users.map(({ accessToken }) => seenBy(accessToken)))
  let before = await seen()
  t.ok(before.some((places) => places.length > 0) && before.every((places) => places.length < 30), 'everybody misses something')
  start()
  for (const seriesStrategy of ['flat', 'series_volume', 'series_volume_chapter', 'auto', 'flat', 'series_volume']) {
    const response = await fetch(`${url}/api/v1/libraries/${libraryId}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ seriesStrategy }),
    })
    t.equal(response.status, 200)
    await until(
      async () => !(await database('tasks').where('type', 'arrange_library').whereIn('status', ['pending', 'processing']).first('id')),
    )
    const after = await seen()
    for (const [index, places] of after.entries())
      t.same(
        places.filter((place) => !before[index]?.includes(place)),
        [],
        `${seriesStrategy}: ${JSON.stringify(WALKERS[index])}`,
      )
    before = after
  }
})
