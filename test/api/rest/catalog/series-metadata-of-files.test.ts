import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { openComposedServer } from '#test/support/composed-server.ts'
import { until } from '#test/support/library-fixture.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(240_000)

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
function comicOf(info: Record<string, string> | null, seed: string): Buffer {
  const xml = Object.entries(info ?? {}).map(([name, text]) => `<${name}>${text}</${name}>`)
  const parts = [{ name: '1.gif', data: PIXEL }]
  if (info) parts.push({ name: 'ComicInfo.xml', data: Buffer.from(`<ComicInfo>${xml.join('')}</ComicInfo>`) })
  return buildZip(parts, { comment: Buffer.from(seed) })
}

interface Series {
  id: string
  title: string
  titleSort: string | null
  path: string
  publisher: string | null
  summary: string | null
}
interface Status {
  status: string
  pendingAnalysis: number
  errors: string[]
  warnings?: string[]
}

/** A server with one library of these files, scanned. */
async function openScanned(t: Test, files: Record<string, Record<string, string> | null>) {
  const server = await openComposedServer(t)
  await server.start()
  const root = t.testdir()
  const put = (path: string, info: Record<string, string> | null) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), comicOf(info, path))
  }
  for (const [path, info] of Object.entries(files)) put(path, info)
  const ask = async <T = never>(method: string, path: string, body?: unknown): Promise<{ status: number; json: T }> => {
    const headers = { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' }
    const response = await fetch(`${server.url}/api/v1/${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, json: (text === '' ? null : JSON.parse(text)) as T }
  }
  const { json: library } = await ask<{ id: string }>('POST', 'libraries', { name: 'Shelf', path: root })
  const scan = async () => {
    const started = await ask('POST', `libraries/${library.id}/scan`)
    if (started.status >= 300) throw new Error(JSON.stringify(started.json))
    const statusOf = async () => (await ask<Status>('GET', `libraries/${library.id}/scan-status`)).json
    await until(async () => {
      const { status, pendingAnalysis } = await statusOf()
      if (status !== 'completed' || pendingAnalysis > 0) return false
      // A series takes what its last book says after that one was written: this is read after, and what the caller gets after this.
      return !(await server.database('series').where('aggregate_due', true).first('id'))
    })
    return await statusOf()
  }
  const status = await scan()
  const series = async (folder: string) => {
    const { data } = (await ask<{ data: Series[] }>('GET', 'series?pageSize=100')).json
    const found = data.find(({ path }: Series) => path.endsWith(`/${folder}`))
    if (!found) throw new Error(`There is no series ${folder}`)
    return found
  }
  return { ...server, root, put, ask, libraryId: library.id, scan, status, series }
}

t.test('a title is given up: the one in the file or the name of the file stands at once', async (t) => {
  const { ask, series } = await openScanned(t, {
    'Saga/Saga 1.cbz': { Title: 'The first one', Series: 'Saga', Number: '1' },
    'Plain/Plain 1.cbz': null,
  })
  const bookOf = async (folder: string) => {
    const { json } = await ask<{ data: { id: string; title: string }[] } | { id: string; title: string }[]>(
      'GET',
      `series/${(await series(folder)).id}/books`,
    )
    const [book] = Array.isArray(json) ? json : json.data
    return book as { id: string; title: string }
  }
  const known = async (id: string) => {
    const { json } = await ask<{ sources: Record<string, string>; locks: Record<string, boolean> }>(
      'GET',
      `books/${id}/metadata?sources=true`,
    )
    return { source: json.sources.title ?? 'file_name', locked: json.locks.titleLock }
  }
  for (const [folder, title, source] of [
    ['Saga', 'The first one', 'embedded'],
    ['Plain', 'Plain 1', 'file_name'],
  ] as const) {
    const { id } = await bookOf(folder)
    t.equal((await ask('PATCH', `books/${id}`, { title: 'Wrong' })).status, 200)
    t.equal((await bookOf(folder)).title, 'Wrong')
    t.same(await known(id), { source: 'user', locked: true })
    t.equal((await ask('PATCH', `books/${id}`, { title: null, number: 7 })).status, 200)
    t.match(await bookOf(folder), { title, number: 7 })
    t.same(await known(id), { source, locked: false }, folder)
    t.equal((await ask('PUT', `books/${id}/metadata`, { summary: 'Said.' })).status, 200)
    t.equal((await bookOf(folder)).title, title, 'PUT has no title and leaves it alone')
  }
})

t.test('a title is given up of series, by every route that takes one', async (t) => {
  const { ask, series, libraryId } = await openScanned(t, {
    'The Run/1.cbz': { Series: 'A Long Run', Number: '1' },
    'The Run/2.cbz': { Series: 'A Long Run', Number: '2' },
    'The Plain [x]/1.cbz': null,
  })
  await ask('PATCH', `libraries/${libraryId}`, { titlePreprocessingRules: [{ pattern: '\\s*\\[.*\\]$', replacement: '' }] })
  const routes = (id: string) =>
    [
      ['PATCH', `series/${id}`, {}],
      ['PATCH', `series/${id}/metadata`, {}],
      ['PUT', `series/${id}/metadata`, {}],
      ['PATCH', 'series/bulk/metadata', { seriesIds: [id] }],
    ] as const
  for (const [folder, title, titleSort] of [
    ['The Run', 'A Long Run', 'Long Run, A'],
    ['The Plain [x]', 'The Plain', 'Plain, The'],
  ] as const) {
    const { id } = await series(folder)
    for (const [method, path, more] of routes(id)) {
      t.equal((await ask('PATCH', `series/${id}`, { title: 'Wrong' })).status, 200)
      t.match(await series(folder), { title: 'Wrong' })
      t.equal((await ask(method, path, { ...more, title: null })).status, 200, `${method} ${path}`)
      t.match(await series(folder), { title, titleSort })
      t.match((await ask('GET', `series/${id}/metadata/locks`)).json, { title: false })
      const { sources } = (await ask<{ sources: Record<string, string> }>('GET', `series/${id}/metadata?sources=true`)).json
      t.equal(sources.title ?? 'file_name', folder === 'The Run' ? 'embedded' : 'file_name')
    }
  }
})

t.test('one book names no folder of unrelated titles, and the report says what such a folder is', async (t) => {
  const spider = { Series: 'Miles Morales: Spider-Man', Publisher: 'Marvel', Summary: 'Trial by spider.', Genre: 'Superhero', Tags: 'Web' }
  const { ask, put, root, scan, status, series } = await openScanned(t, {
    'Mixed/a.cbz': spider,
    'Mixed/b.cbz': { Series: 'Something Else', Publisher: 'Marvel', Title: 'B' },
    'Mixed/c.cbz': null,
    'Run/1.cbz': { ...spider, Number: '1' },
    'Run/2.cbz': { Series: 'Miles Morales: Spider-Man', Number: '2' },
    'Run/3.cbz': null,
    // So that those which go are less than half of the library.
    ...Object.fromEntries(['1', '2', '3', '4'].map((name) => [`Rest/${name}.cbz`, null])),
  })
  const mixed = await series('Mixed')
  t.match(mixed, { title: 'Mixed', publisher: null, summary: null })
  const names = async (id: string) => {
    const { genres, tags } = (await ask<Record<string, { name: string }[]>>('GET', `series/${id}?full=true`)).json
    return [...(genres ?? []), ...(tags ?? [])].map(({ name }) => name)
  }
  t.same(await names(mixed.id), [], 'nothing else is taken either')
  t.match(await series('Run'), { title: 'Miles Morales: Spider-Man', publisher: null, summary: 'Trial by spider.' }, 'two of three name it')
  t.same(await names((await series('Run')).id), ['Superhero', 'Web'])
  t.same(status.errors, [])
  t.match(status.warnings, [/^"Mixed": this folder contains many unrelated titles/])
  t.equal(status.warnings?.length, 1)

  // Books that come and go change what most say, also those that say nothing.
  put('Run/4.cbz', null)
  const worse = await scan()
  t.match(await series('Run'), { title: 'Run', summary: null })
  t.same(await names((await series('Run')).id), [], 'what was taken goes back')
  t.equal(worse.warnings?.length, 2)
  for (const name of ['3', '4']) rmSync(join(root, `Run/${name}.cbz`))
  for (const name of ['b', 'c']) rmSync(join(root, `Mixed/${name}.cbz`))
  const better = await scan()
  t.match(await series('Run'), { title: 'Miles Morales: Spider-Man' })
  t.same(await names((await series('Run')).id), ['Superhero', 'Web'], 'and comes again')
  t.match(await series('Mixed'), { title: 'Miles Morales: Spider-Man', publisher: 'Marvel' }, 'one book alone is most of them')
  t.equal(better.warnings, undefined)
})
