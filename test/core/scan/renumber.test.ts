import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { comic } from '#test/support/library-fixture.ts'
import { openLibraryServer } from '#test/support/library-server.ts'
import { ADMIN } from '#test/support/server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(300_000)

const page = { name: '1.gif', data: Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64') }
const described = (members: string) =>
  buildZip([page, { name: 'ComicInfo.xml', data: Buffer.from(`<?xml version="1.0"?><ComicInfo>${members}</ComicInfo>`) }])

const FILES = {
  'Saga/Saga 01.cbz': comic('a'),
  'Saga/Saga 10.5.cbz': comic('b'),
  'Saga/Saga v02.cbz': comic('c'),
  'Plain/alpha.cbz': comic('d'),
  'Plain/beta 2nd.cbz': comic('e'),
  'Plain/beta 10th.cbz': comic('f'),
  'Told/Told 07.cbz': described('<Title>The seventh</Title><Number>3</Number>'),
  'Told/other.cbz': described('<Title>The other</Title><Number>4.5</Number>'),
}

async function open(t: Parameters<typeof openLibraryServer>[0], files: Readonly<Record<string, Uint8Array>> = FILES) {
  const server = await openLibraryServer(t, files)
  const { ask, ended, database, libraryId } = server
  const values = async (folder: string): Promise<[file: string, number: number | null, title: string][]> => {
    const rows = await database('books')
      .whereLike('path', `%/${folder}/%`)
      .orderByRaw('file_name COLLATE carrel_natural')
      .whereNull('deleted_at')
    return rows.map(({ file_name, number, title }) => [file_name.replace('.cbz', ''), number === null ? null : Number(number), title])
  }
  const numbers = async (folder: string) => (await values(folder)).map(([, number]) => number)
  /** Changes the strategies, and waits for the task that follows. */
  const change = async (body: object) => {
    const done = await ask('PATCH', `libraries/${libraryId}`, body)
    t.equal(done.status, 200, JSON.stringify(body))
    const task = await database('tasks').where('type', 'renumber_library').orderBy('created_at', 'desc').first('id')
    return await ended(task.id)
  }
  return { ...server, values, numbers, change }
}

t.test('the strategy for numbers', async (t) => {
  const { ask, database, libraryId, numbers, change, put, scan, books } = await open(t)
  t.same(await numbers('Saga'), [1, 10.5, 2], 'a name counts before a position')
  t.same(await numbers('Plain'), [1, 2, 3], 'without any number, the natural order counts')
  t.same(await numbers('Told'), [4.5, 3], 'metadata counts before a name')

  put('Plain/aardvark.cbz', comic('g'))
  await scan()
  t.same(await numbers('Plain'), [1, 2, 3, 4], 'a new book in front moves the others')
  const idOf = async (path: string) => (await books()).get(path)?.id as string
  t.equal((await ask('PATCH', `books/${await idOf('Plain/alpha.cbz')}`, { number: 50 })).status, 200)

  t.match(await change({ numberStrategy: 'file_order', numberConfig: { start: 0 } }), { status: 'completed', result: { processed: 9 } })
  t.same(await numbers('Saga'), [0, 1, 2])
  t.same(await numbers('Told'), [0, 1])
  t.same(await numbers('Plain'), [0, 50, 2, 3], 'what a person entered stays')
  await scan()
  t.same(await numbers('Saga'), [0, 1, 2], 'a scan changes nothing')

  await change({ numberStrategy: 'filename' })
  t.match(
    (await ask('GET', `libraries/${libraryId}`)).json,
    { numberStrategy: 'filename', numberConfig: null },
    'settings of another strategy are gone',
  )
  t.same(await numbers('Saga'), [1, 10.5, 2])
  t.same(await numbers('Told'), [null, 7])
  t.same(await numbers('Plain'), [null, 50, null, null])

  await change({ numberStrategy: 'metadata' })
  t.same(await numbers('Saga'), [null, null, null])
  t.same(await numbers('Told'), [4.5, 3])

  await change({ numberStrategy: 'smart', numberConfig: { usePosition: false } })
  t.same(await numbers('Saga'), [1, 10.5, 2])
  t.same(await numbers('Plain'), [null, 50, null, null])
  await change({ numberConfig: null })
  t.same(await numbers('Plain'), [1, 50, 3, 4])
  const last = await change({ numberConfig: { usePosition: true } })
  t.match(last, { result: { processed: 9, changed: 0 } }, 'the same again changes nothing')
  t.equal((await database('books').whereNotNull('position')).length, 3)
})

t.test('a book with metadata that moved has the position of its new place, and keeps the number that a person gave', async (t) => {
  const names = { Plain: ['alpha', 'beta', 'gamma'], Other: ['delta', 'epsilon'] }
  const files = Object.entries(names).flatMap(([folder, all]) =>
    all.map((name) => [`${folder}/${name}.cbz`, described(`<Title>The ${name}</Title>`)] as const),
  )
  const { ask, books, numbers, root, scan } = await open(t, Object.fromEntries(files))
  const before = await books()
  const move = async (from: string, to: string) => {
    renameSync(join(root, `${from}.cbz`), join(root, `${to}.cbz`))
    await scan()
    // An analysis that wrote while the first scan ended may have left a book without a number.
    await scan()
    t.equal((await books()).get(`${to}.cbz`)?.id, before.get(`${from}.cbz`)?.id, `${from} is at ${to}`)
  }
  t.same(await numbers('Plain'), [1, 2, 3])
  await move('Plain/beta', 'Plain/zeta')
  t.same(await numbers('Plain'), [1, 2, 3], 'renamed')
  await move('Plain/gamma', 'Other/aardvark')
  t.same(await numbers('Other'), [1, 2, 3], 'moved to another series')
  const id = (await books()).get('Plain/alpha.cbz')?.id
  t.equal((await ask('PATCH', `books/${id}`, { number: 50 })).status, 200)
  await move('Plain/alpha', 'Other/omega')
  t.same(await numbers('Other'), [1, 2, 3, 50])
})

t.test('where the numbers of names begin anew with seasons or years, the order of the files numbers the books', async (t) => {
  const { database, put, scan, change } = await open(t, { 'alone.cbz': comic('c') })
  await database('libraries').update({ series_strategy: 'auto' })
  const add = (...paths: string[]) => paths.map((path) => put(`${path}.cbz`, comic(path)))
  const inOrder = async (folder: string) =>
    (await database('books').whereLike('path', `%/${folder}/%`).orderByRaw('path COLLATE carrel_natural').pluck('number')).map(Number)
  for (const season of [1, 2]) add(...[1, 2, 3].map((number) => `Tower/Season ${season}/Ep ${number}`))
  add(...['2019-11', '2019-12', '2020-11'].map((month) => `Wired/Wired ${month}`))
  add('Saga/Saga 001', 'Saga/Saga 002', 'Saga/Omnibus/Saga Omnibus 01')
  await scan()
  t.same(await inOrder('Tower'), [1, 2, 3, 4, 5, 6])
  t.same(await inOrder('Wired'), [1, 2, 3])
  t.same(await inOrder('Saga'), [1, 1, 2], 'an edition beside the issues is none of these')
  add('Tower/Season 2/Ep 4', 'Wired/Wired 2020-12')
  await scan()
  t.same(await inOrder('Tower'), [1, 2, 3, 4, 5, 6, 7], 'a new book goes on')
  t.same(await inOrder('Wired'), [1, 2, 3, 4])
  await change({ numberStrategy: 'filename' })
  t.same(await inOrder('Tower'), [1, 2, 3, 1, 2, 3, 4], 'another strategy takes the names')
  await change({ numberStrategy: 'smart' })
  t.same(await inOrder('Tower'), [1, 2, 3, 4, 5, 6, 7])
  t.same(await inOrder('Wired'), [1, 2, 3, 4])
})

t.test('a book beside the numbered ones, and a single one, have no position', async (t) => {
  const { numbers, database, put, scan } = await open(t, { 'alone.cbz': comic('c') })
  await database('libraries').update({ series_strategy: 'auto' })
  put('Saga/alpha.cbz', comic('a'))
  put('Saga/Extras/aardvark.cbz', comic('b'))
  await scan()
  t.same(await numbers('Saga'), [null, 1])
  t.same(await database('books').where('file_name', 'alone.cbz').pluck('number'), [null])
})

t.test('the strategy for titles', async (t) => {
  const { ask, values, change, put, scan, books } = await open(t)
  const titles = async (folder: string) => (await values(folder)).map(([, , title]) => title)
  t.same(await titles('Told'), ['The other', 'The seventh'])
  await change({ bookStrategy: 'series_name' })
  t.same(await titles('Saga'), ['Saga #1', 'Saga #10.5', 'Saga v.02'])
  t.same(await titles('Told'), ['other', 'Told #7'], 'one without any number has the name of its file')
  await change({ bookConfig: { volumePadding: 4 } })
  t.same(await titles('Saga'), ['Saga #1', 'Saga #10.5', 'Saga v.0002'])
  put('Saga/Saga v03 c7.5.cbz', comic('h'))
  await scan()
  t.match((await values('Saga')).at(-1), ['Saga v03 c7.5', 7.5, 'Saga v.0003 c.007.5'])

  await change({ bookStrategy: 'custom' })
  t.same(await titles('Told'), ['other', 'Told 07'], 'without a pattern, names are titles')
  const custom = { pattern: '^(?P<series>\\w+) (?P<number>\\d\\d)$', titleTemplate: '{series}, issue {number}' }
  await change({ bookStrategy: 'custom', bookConfig: { ...custom, fallback: 'metadata_first' } })
  t.same(await titles('Saga'), ['Saga, issue 01', 'Saga 10.5', 'Saga v02', 'Saga v03 c7.5'])
  t.same(await titles('Told'), ['The other', 'Told, issue 07'])
  await scan()
  t.same(await titles('Told'), ['The other', 'Told, issue 07'], 'a scan changes nothing')

  const id = (await books()).get('Saga/Saga 01.cbz')?.id
  t.equal((await ask('PATCH', `books/${id}`, { title: 'Mine' })).status, 200)
  await change({ bookStrategy: 'filename' })
  t.same(await titles('Saga'), ['Mine', 'Saga 10.5', 'Saga v02', 'Saga v03 c7.5'])
  t.same(await titles('Told'), ['other', 'Told 07'])
})

t.test('settings of strategies are checked when they are stored', async (t) => {
  const { ask, libraryId, database } = await open(t, { 'Saga/1.cbz': comic('a') })
  const pattern = '(?P<title>.+)'
  const table: [body: object, path: string][] = [
    [{ numberConfig: { start: 1 } }, '/numberConfig'],
    [{ numberStrategy: 'file_order', numberConfig: { start: -1 } }, '/numberConfig/start'],
    [{ numberStrategy: 'file_order', numberConfig: { start: '1' } }, '/numberConfig/start'],
    [{ numberStrategy: 'file_order', numberConfig: [] }, '/numberConfig'],
    [{ numberStrategy: 'smart', numberConfig: { usePosition: 'no' } }, '/numberConfig/usePosition'],
    [{ bookConfig: { volumePadding: 2 } }, '/bookConfig'],
    [{ bookStrategy: 'series_name', bookConfig: { volumePadding: 7 } }, '/bookConfig/volumePadding'],
    [{ bookStrategy: 'custom', bookConfig: { pattern } }, '/bookConfig'],
    [{ bookStrategy: 'custom', bookConfig: { pattern: '(', titleTemplate: '{title}' } }, '/bookConfig/pattern'],
    [{ bookStrategy: 'custom', bookConfig: { pattern: 'x{1000}{1000}', titleTemplate: '{title}' } }, '/bookConfig/pattern'],
    [{ bookStrategy: 'custom', bookConfig: { pattern, titleTemplate: '{nothing}' } }, '/bookConfig/titleTemplate'],
    [{ bookStrategy: 'custom', bookConfig: { pattern, titleTemplate: 'always' } }, '/bookConfig/titleTemplate'],
    [{ bookStrategy: 'custom', bookConfig: { pattern, titleTemplate: '{title}', fallback: 'custom' } }, '/bookConfig/fallback'],
  ]
  for (const [body, path] of table) {
    const { status, json } = await ask<{ error: { code: string; details: { path: string }[] } }>('PATCH', `libraries/${libraryId}`, body)
    t.ok(status === 422 || status === 400, `${status} for ${JSON.stringify(body)}`)
    t.match(JSON.stringify(json), `"${path}`, JSON.stringify(body))
  }
  t.same(await database('tasks').where('type', 'renumber_library'), [], 'nothing was stored or queued')
  t.match(await database('libraries').first(), { book_strategy: 'metadata_first', book_config: null, number_config: null })
})

t.test('a fractional number in each interface', async (t) => {
  const { ask, url, books } = await open(t, { 'Saga/Saga 10.5.cbz': comic('a'), 'Saga/Saga 11.cbz': comic('b') })
  const id = (await books()).get('Saga/Saga 10.5.cbz')?.id as string
  const { json } = await ask<{ data: { number: number; numberLabel: string }[] }>('GET', 'books?sort=number,asc')
  t.same(
    json.data.map(({ number, numberLabel }) => [number, numberLabel]),
    [
      [10, '10.5'],
      [11, '11'],
    ],
    'a list has the whole part, and the exact number as a text',
  )
  t.match((await ask('GET', `books/${id}`)).json, { book: { number: 10, numberLabel: '10.5' } })
  const basic = { authorization: `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}` }
  const feed = await fetch(`${url}/opds/v2/books/${id}`, { headers: basic }).then((answer) => answer.text())
  t.match(feed, /"position":\s*10\.5/, 'OPDS has the exact number')
})

t.test('an edit during a scan, or one whose task was canceled, counts after the scan', async (t) => {
  const { ended, database, numbers, scan, put } = await open(t)
  const last = async () => await database('tasks').where('type', 'renumber_library').orderBy('created_at', 'desc').first()
  await database('libraries').update({ number_strategy: 'file_order', updated_at: database.fn.now() })
  await scan()
  await ended((await last()).id)
  t.same(await numbers('Saga'), [1, 2, 3], 'as if its task had been lost')
  const { id } = await last()
  put('Saga/late.cbz', comic('z'))
  await scan()
  t.equal((await last()).id, id, 'a scan of a library that nobody has edited queues nothing')
})

t.test(
  'a renumbering that was canceled is made up for by the next scan, also of a part, and by the next PATCH of its strategies',
  async (t) => {
    const { ask, ended, change, database, libraryId, numbers, services } = await open(t)
    const last = async () => await database('tasks').where('type', 'renumber_library').orderBy('created_at', 'desc').first()
    const cancel = async (numberStrategy: string) => {
      // As if the strategy had been sent, and its task canceled before it began.
      await database('libraries').update({ number_strategy: numberStrategy })
      await database('tasks')
        .where('id', (await last()).id)
        .update({ status: 'cancelled' })
    }
    await change({ numberStrategy: 'filename' })
    t.same(await numbers('Saga'), [1, 10.5, 2])
    await cancel('file_order')
    const { taskId } = await services.scans.start(libraryId, 'normal', null, { path: 'Plain' })
    await ended(taskId)
    await ended((await last()).id)
    t.same(await numbers('Saga'), [1, 2, 3])
    await cancel('filename')
    t.match(await change({ numberStrategy: 'filename' }), { status: 'completed' })
    t.same(await numbers('Saga'), [1, 10.5, 2])
    const { id } = await last()
    await ask('PATCH', `libraries/${libraryId}`, { numberStrategy: 'filename' })
    t.equal((await last()).id, id, 'one that has done its work is not repeated')
  },
)

t.test('strategies change neither what is locked nor what somebody or a plugin has entered', async (t) => {
  const { ask, change, database, values, books, numbers } = await open(t)
  const idOf = async (path: string) => (await books()).get(path)?.id as string
  const edit = async (path: string, body: object, what = '') => {
    const answer = await ask('PATCH', `books/${await idOf(path)}${what}`, body)
    t.ok(answer.status < 300, JSON.stringify(answer.json))
  }
  const locks = async (path: string, ...names: string[]) =>
    await database('book_metadata')
      .insert({ book_id: await idOf(path), locks: names })
      .onConflict('book_id')
      .merge(['locks'])
  await locks('Saga/Saga 01.cbz', 'number', 'title')
  await edit('Saga/Saga 10.5.cbz', { number: 11, title: 'Eleven' })
  // Cleared and locked: it stays without a number.
  await edit('Plain/alpha.cbz', { number: 9 })
  await edit('Plain/alpha.cbz', { number: null })
  const before = await values('Saga')
  for (const body of [
    { numberStrategy: 'file_order', numberConfig: { start: 100 }, bookStrategy: 'series_name' },
    { numberStrategy: 'metadata', bookStrategy: 'filename' },
    { numberStrategy: 'smart', bookStrategy: 'metadata_first' },
  ]) {
    t.match(await change(body), { status: 'completed' })
    const after = await values('Saga')
    t.same([after[0], after[1]], [before[0], before[1]], JSON.stringify(body))
    t.equal((await numbers('Plain'))[0], null, `cleared and locked: ${JSON.stringify(body)}`)
  }
  await database('book_metadata')
    .insert({ book_id: await idOf('Plain/beta 2nd.cbz'), sources: { number: 'plugin' } })
    .onConflict('book_id')
    .merge(['sources'])
  await database('books')
    .where('id', await idOf('Plain/beta 2nd.cbz'))
    .update({ number: 77, position: null })
  await change({ numberStrategy: 'file_order' })
  t.equal((await numbers('Plain'))[1], 77, 'what a plugin has given')
})
