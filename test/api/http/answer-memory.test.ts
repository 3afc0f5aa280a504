import type { Knex } from 'knex'
import t from 'tap'
import { AnswerMemory } from '#api/http/answer-memory.ts'
import { computeSeriesNumbers } from '#core/catalog/series-numbers-store.ts'
import { memoryBytes } from '#core/foundation/memory-bytes.ts'
import { CATALOG_TABLES, USER_TABLES } from '#migrations/baseline/numbers.ts'
import { rateSeries, setTestRule } from '#test/support/access-rules.ts'
import { KOMGA_NAMES } from '#test/support/komga-switch.ts'
import { sizeOf, someOf } from '#test/support/lane-size.ts'
import { until } from '#test/support/library-fixture.ts'
import { addBook } from '#test/support/library-rows.ts'
import { type Asked, ask, openFresh, openWorld, REMEMBERED, requestsOf } from '#test/support/remembered-answers.ts'
import { onRequestStatement } from '#test/support/request-statements.ts'

/** As many requests as a user has connections. */
const AT_ONCE = 4

/**
 * Tables that change together with those that have a version, or that tell who asks, what they may see and whether the Komga API is enabled, which each
 * request checks. Of the settings only the name of the library is in answers, and it has a version.
 */
const OTHER_TABLES = [
  ...[
    'kept_numbers',
    'kept_number_changes',
    'series_numbers',
    'series_numbers_due',
    'series_totals',
    'series_reading',
    'series_reading_due',
    'book_pages',
    'readings',
  ],
  ...['users', 'sessions', 'chosen_settings', 'api_keys', 'access_rules', 'access_libraries', 'user_sharing_grants'],
]

t.test('remembered answers depend on nothing without a version', async (t) => {
  const { database, url, known, users } = await openWorld(t)
  const versioned = new Set<string>([...CATALOG_TABLES, ...USER_TABLES, ...OTHER_TABLES])
  const tables = new Set<string>(
    (await database.raw(`SELECT relname FROM pg_class WHERE relkind = 'r'`)).rows.map(({ relname }: { relname: string }) => relname),
  )
  t.ok(REMEMBERED.length > 40, `${REMEMBERED.length} routes`)
  let statements: string[] = []
  onRequestStatement(database, (sql) => statements.push(sql))
  for (const asked of requestsOf(known)) {
    statements = []
    const { status, text } = await ask(url, asked, users[0]?.accessToken as string)
    t.equal(status, 200, `${asked.name} ${status === 200 ? '' : text}`)
    t.ok(statements.length > 0, `${asked.name} is not remembered yet`)
    const read = statements.flatMap((sql) =>
      [...sql.matchAll(/\b(?:from|join|into|update)\s+"?([a-z_]+)"?/gi)].map(([, name = '']) => name),
    )
    t.same(
      [...new Set(read)].filter((name) => tables.has(name) && !versioned.has(name)),
      [],
      asked.name,
    )
  }
})

/** What happens to a library, one after the other. */
const changes = (
  database: Knex,
  { known, genreId, tagId, users }: Awaited<ReturnType<typeof openWorld>>,
): [name: string, change: () => Promise<unknown>][] => {
  const { bookId, besideBookId, seriesId, libraryId, collectionId } = known
  const userId = users[0]?.id as string
  return [
    ['nothing', async () => {}],
    ['a title', () => database('books').where('id', bookId).update({ title: 'Zwei' })],
    ['progress', () => database('read_progress').insert({ user_id: userId, book_id: bookId, current_page: 1, completed: true })],
    ['a series is hidden', () => database('series_sharing_tags').insert({ series_id: seriesId, sharing_tag_id: tagId })],
    ['an age rule', () => setTestRule(database, { user_id: userId }, { age: { mode: 'not_from', years: 16, unrated: 'show' } })],
    ['a rating that hides', () => rateSeries(database, known.besideSeriesId as string, 18)],
    ['a rating', () => database('series_user_ratings').insert({ user_id: userId, series_id: known.besideSeriesId, rating: 80 })],
    ['numbers are computed', () => computeSeriesNumbers(database)],
    ['a new book', () => addBook(database, { library_id: libraryId as string, series_id: seriesId as string, title: 'Three' })],
    ['a genre', () => database('series_genres').insert({ series_id: seriesId, genre_id: genreId })],
    ['the name of a library', () => database('libraries').where('id', libraryId).update({ name: 'Other' })],
    ['another rating', () => database('series_user_ratings').insert({ user_id: users[1]?.id, series_id: known.besideSeriesId, rating: 2 })],
    ['a wish', () => database('want_to_read').insert({ user_id: userId, series_id: known.besideSeriesId })],
    ['a shelf', () => database('collection_series').insert({ collection_id: collectionId, series_id: known.besideSeriesId, position: 1 })],
    ['progress is removed', () => database('read_progress').delete()],
    ['readings are removed', () => database('readings').delete()],
    ['a book is gone', () => database('books').where('id', besideBookId).update({ deleted_at: new Date() })],
    ['a list without the library', () => setTestRule(database, { user_id: userId }, { libraries: [] })],
    ['no rule', () => setTestRule(database, { user_id: userId }, null)],
    ['a grant is removed', () => database('user_sharing_grants').where('user_id', userId).delete()],
    ['nothing again: all are remembered', async () => {}],
  ]
}

t.test('a remembered answer is the one that a fresh server gives, after any change', async (t) => {
  const world = await openWorld(t)
  const { database, services, url, known, users } = world
  const requests = requestsOf(known)
  for (const [name, change] of someOf('changes', changes(database, world), 4)) {
    await change()
    const fresh = await openFresh(services)
    const different: string[] = []
    const compare = async (asked: Asked, { accessToken, said }: (typeof users)[number]) => {
      const answers = await Promise.all([ask(url, asked, accessToken), ask(fresh.url, asked, accessToken)])
      if (JSON.stringify(answers[0]) !== JSON.stringify(answers[1])) different.push(`${said} ${asked.name}`)
    }
    for (const user of users)
      for (let at = 0; at < requests.length; at += AT_ONCE)
        await Promise.all(requests.slice(at, at + AT_ONCE).map((asked) => compare(asked, user)))
    t.same(different, [], name)
    await fresh.close()
  }
})

t.test('an answer takes little memory beside its bytes, and what it takes counts', async (t) => {
  const memory = new AnswerMemory()
  const answerWith = (headers: [name: string, value: string][]) => ({
    ...{ etag: 'one', bytes: Buffer.alloc(2, '{}'), gzipped: null, mediaType: 'application/json', headers },
  })
  // As of a user with a list of two thousand libraries.
  const long = 'x'.repeat(85_000)
  const state = { catalog: '1', own: '1', averages: '1', sight: `${long}a` }
  memory.keep('short', state, answerWith([]), false)
  const known = memory.find('short', state)
  t.ok(known)
  t.ok(memoryBytes(known) < 2_000, `${memoryBytes(known)} bytes`)
  t.equal(memory.find('short', { ...state, sight: `${long}b` }), null, 'for somebody who sees anything else it is unknown')
  // Ten times what is remembered in all.
  for (let at = 0; at < 1_500; at++) memory.keep(`with links ${at}`, state, answerWith([['Link', long]]), false)
  t.ok(memory.find('with links 1499', state))
  t.equal(memory.find('with links 0', state), null, 'headers count')
})

t.test('ratings of one user let the answers of others be, except those that depend on averages', async (t) => {
  const { database, url, known, users } = await openWorld(t)
  const [rater, other] = users as [(typeof users)[0], (typeof users)[0]]
  const all = requestsOf(known)
  const isOfAverages = ({ name }: Asked) => /community|well rated|series\?full/.test(name)
  await database('series_user_ratings').insert({ user_id: rater.id, series_id: known.seriesId, rating: 10 })
  await computeSeriesNumbers(database)
  for (const asked of all) await ask(url, asked, other.accessToken)
  await database('series_user_ratings').where('user_id', rater.id).update({ rating: 90 })
  let reads = 0
  database.on('query', ({ sql }: { sql: string }) => {
    if (/\b(series|books)\./.test(sql)) reads++
  })
  for (const asked of all) {
    reads = 0
    await ask(url, asked, other.accessToken)
    t.equal(reads > 0, isOfAverages(asked), asked.name)
  }
})

t.test('what changes with time is not remembered', async (t) => {
  const { database, url, users } = await openWorld(t)
  const [admin] = users.map(({ accessToken }) => accessToken) as [string]
  const komga = `/${KOMGA_NAMES.prefix}/api/v1`
  const condition = (operator: string) =>
    JSON.stringify({ condition: { releaseDate: { operator, duration: 'P7D', dateTime: '2024-01-01T00:00:00Z' } } })
  const cases: [isRemembered: boolean, method: string, path: string, body?: string][] = [
    [true, 'GET', '/books?sort=name'],
    [false, 'GET', '/books?sort=random'],
    [false, 'GET', '/series?sort=random,desc'],
    ...['books', 'series'].flatMap((of): [boolean, string, string, string][] => [
      [true, 'POST', `/${of}/list`, condition('after')],
      [false, 'POST', `/${of}/list`, condition('isInTheLast')],
      [false, 'POST', `/${of}/list`, condition('isNotInTheLast')],
    ]),
    [false, 'POST', '/series/list/alphabetical-groups', condition('isInTheLast')],
  ]
  let reads = 0
  onRequestStatement(database, (sql) => {
    if (/series\.|books\./.test(sql)) reads++
  })
  for (const [isRemembered, method, path, body] of cases) {
    const asked = { name: '', method, path: komga + path, ...(body !== undefined && { body }) }
    t.equal((await ask(url, asked, admin)).status, 200, path)
    reads = 0
    t.equal((await ask(url, asked, admin)).status, 200)
    t.equal(reads === 0, isRemembered, `${method} ${path} ${body ?? ''}`)
  }
})

t.test('a client with the same copy gets 304', async (t) => {
  const { database, url, known, users } = await openWorld(t)
  const [admin, reader] = users.map(({ accessToken }) => accessToken) as [string, string]
  const list = { name: '', method: 'GET', path: '/api/v1/books' }
  const first = await ask(url, list, admin)
  const again = (headers: Record<string, string>, token = admin) => ask(url, list, token, headers)
  t.match(first, { status: 200, etag: /^"[\w-]+(-gzip)?"$/ })
  t.match(await again({ 'if-none-match': first.etag as string }), { status: 304, etag: first.etag as string, text: '' })
  t.match(await again({ 'if-none-match': first.etag as string }, reader), { status: 200 }, 'readers see other paths')
  await database('libraries').insert({ name: 'Unrelated', path: '/unrelated' })
  t.match(await again({ 'if-none-match': first.etag as string }), { status: 304 }, 'what changed is not in the answer')
  await database('read_progress').insert({ user_id: users[0]?.id, book_id: known.bookId, current_page: 1 })
  const begun = await again({ 'if-none-match': first.etag as string })
  t.match(begun, { status: 200, text: /"currentPage":1/ })
  t.not(begun.etag, first.etag)
  t.match(await again({ 'if-match': first.etag as string }), { status: 412 })

  const plain = await ask(url, list, admin, { 'accept-encoding': 'identity' })
  t.notMatch(plain.etag, /gzip/)
  t.match(await ask(url, list, admin, { 'accept-encoding': 'identity', 'if-none-match': plain.etag as string }), { status: 304 })
  const head = await fetch(url + list.path, { method: 'HEAD', headers: { authorization: `Bearer ${admin}` } })
  t.match([head.status, head.headers.get('etag'), await head.text()], [200, begun.etag, ''])
})

t.test('an edit with If-Match changes only what the client has read', async (t) => {
  const { database, url, known, users } = await openWorld(t)
  const [admin] = users.map(({ accessToken }) => accessToken) as [string]
  const read = (path: string) => ask(url, { name: '', method: 'GET', path }, admin)
  const edit = (method: string, path: string, body: object, ifMatch: string) =>
    ask(url, { name: '', method, path, body: JSON.stringify(body) }, admin, { 'if-match': ifMatch })
  const cases: [path: string, method: string, body: object][] = [
    [`/api/v1/books/${known.bookId}/metadata`, 'PATCH', { publisher: 'House' }],
    [`/api/v1/books/${known.bookId}/metadata`, 'PUT', { publisher: 'Other' }],
    [`/api/v1/books/${known.bookId}`, 'PATCH', { title: 'Drei' }],
    [`/api/v1/series/${known.seriesId}/metadata`, 'PATCH', { publisher: 'House' }],
    [`/api/v1/series/${known.seriesId}`, 'PATCH', { title: 'Gamma' }],
    [`/api/v1/collections/${known.collectionId}`, 'PATCH', { name: 'D' }],
    [`/api/v1/books/${known.bookId}/genres`, 'PUT', { genres: ['Space', 'Time'] }],
    [`/api/v1/libraries/${known.libraryId}`, 'PATCH', { name: 'New name' }],
  ]
  for (const [path, method, body] of cases) {
    const { etag } = await read(path)
    t.match(await edit(method, path, body, '"0.another"'), { status: 412, text: /precondition_failed/ }, `${method} ${path}`)
    await database('read_progress')
      .insert({ user_id: users[0]?.id, book_id: known.bookId, current_page: 2 })
      .onConflict(['user_id', 'book_id'])
      .merge()
    const done = await edit(method, path, body, etag as string)
    t.equal(done.status, 200, `${method} ${path}: progress is no change of the record ${done.text}`)
    t.match(await edit(method, path, body, etag as string), { status: 412 }, `${method} ${path}: it is another now`)
    t.match(await edit(method, path, body, '*'), { status: 200 })
  }
})

t.test('of edits that compare the same version, one wins', async (t) => {
  const { url, known, users } = await openWorld(t)
  const [admin] = users.map(({ accessToken }) => accessToken) as [string]
  const path = `/api/v1/books/${known.bookId}/metadata`
  const { etag } = await ask(url, { name: '', method: 'GET', path }, admin)
  const edits = await Promise.all(
    Array.from({ length: 6 }, (_, at) =>
      ask(url, { name: '', method: 'PATCH', path, body: JSON.stringify({ publisher: `House ${at}` }) }, admin, {
        'if-match': etag as string,
      }),
    ),
  )
  t.same(edits.map(({ status }) => status).sort(), [200, 412, 412, 412, 412, 412])
})

t.test('what another edit adds meanwhile is not overwritten', async (t) => {
  const { url, known, users } = await openWorld(t)
  const [admin] = users.map(({ accessToken }) => accessToken) as [string]
  const path = `/api/v1/series/${known.seriesId}/genres`
  const rounds = sizeOf('rounds', { main: 10, full: 40 })
  for (let round = 0; round < rounds; round++) {
    const { etag } = await ask(url, { name: '', method: 'GET', path }, admin)
    const put = { name: '', method: 'PUT', path, body: JSON.stringify({ genres: ['Space'] }) }
    const post = { name: '', method: 'POST', path, body: JSON.stringify({ name: `Added ${round}` }) }
    const [replaced, added] = await Promise.all([ask(url, put, admin, { 'if-match': etag as string }), ask(url, post, admin)])
    t.ok(added.status < 300, added.text)
    // The replacement came first, or it was refused.
    const { text } = await ask(url, { name: '', method: 'GET', path }, admin)
    t.ok(text.includes(`Added ${round}`), `${round}: ${replaced.status}`)
  }
})

t.test('an edit with If-Match is refused where nothing can be compared', async (t) => {
  const { url, known, users } = await openWorld(t)
  const [admin] = users.map(({ accessToken }) => accessToken) as [string]
  const wanted = { name: '', method: 'PUT', path: `/api/v1/user/want-to-read/${known.seriesId}` }
  t.match(await ask(url, wanted, admin, { 'if-match': '"a"' }), { status: 412, text: /Omit If-Match/ })
  t.ok((await ask(url, wanted, admin)).status < 300)
})

t.test('any version fulfills If-Match: *, also while others edit the record', async (t) => {
  const { database, url, known, users } = await openWorld(t)
  const [admin] = users.map(({ accessToken }) => accessToken) as [string]
  const path = `/api/v1/books/${known.bookId}/metadata`
  const edit = (at: number, headers = {}) =>
    ask(url, { name: '', method: 'PATCH', path, body: JSON.stringify({ publisher: `House ${at}` }) }, admin, headers)
  // Both wait for the record; the second has read its version before the first changes it.
  const holder = await database.transaction()
  await holder.raw('SELECT FROM books WHERE id = ? FOR UPDATE', [known.bookId])
  const waiting = (count: number) =>
    until(async () => {
      const { rows } = await database.raw(
        `SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FOR NO KEY UPDATE%'`,
      )
      return rows.length === count
    })
  const first = edit(1)
  await waiting(1)
  const second = edit(2, { 'if-match': '*' })
  await waiting(2)
  await holder.commit()
  t.same([(await first).status, (await second).status], [200, 200])
})

t.test('edits of one record are compared one at a time, however its address is spelled', async (t) => {
  const { url, known, users } = await openWorld(t)
  const [admin] = users.map(({ accessToken }) => accessToken) as [string]
  const id = known.seriesId as string
  const spellings = [id, id.toUpperCase(), id.replace('-', '%2D')].map((spelled) => `/api/v1/series/${spelled}/genres`)
  for (let round = 0; round < 10; round++) {
    const { etag } = await ask(url, { name: '', method: 'GET', path: spellings[0] as string }, admin)
    const edits = await Promise.all(
      spellings.map((path, at) =>
        ask(url, { name: '', method: 'PUT', path, body: JSON.stringify({ genres: [`Genre ${round} ${at}`] }) }, admin, {
          'if-match': etag as string,
        }),
      ),
    )
    t.same(edits.map(({ status }) => status).sort(), [200, 412, 412])
  }
})
