import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { factsOfFile, fakeAnalysis } from '#test/support/analyses.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { comic, type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'

t.setTimeout(240_000)

/** Texts that PostgreSQL cannot compress: a long name must fit into an index as it is. */
const long = (length: number) => randomBytes(length).toString('hex').slice(0, length)
const [NFC, NFD] = ['Café', 'Cafe\u0301']

/** Names of files and folders, and what their books are called. Each is a book; what cannot be one is in the next test. */
const ODD_NAMES: [path: string, title?: string][] = [
  [`${long(251)}.cbz`],
  [`${long(255)}/${long(251)}.cbz`],
  [`${'本'.repeat(83)}.cbz`],
  [`${Array.from({ length: 8 }, () => long(250)).join('/')}/1.cbz`],
  ['line\nbreak/line\nbreak.cbz', 'line break'],
  ['\r\n.cbz', 'Untitled'],
  ['tab\t.cbz'],
  ['\u001b[31mred.cbz'],
  ['right\u202eto left.cbz', 'right to left'],
  ['\u200f\u200f.cbz', 'Untitled'],
  ['\u200b/\u200b.cbz', 'Untitled'],
  ['\ufeffmark.cbz'],
  ['....cbz'],
  ['.../.....cbz'],
  ['..../1.cbz'],
  ['...And Justice for All.cbz', '...And Justice for All'],
  ['..two.cbz'],
  [' .cbz', 'Untitled'],
  [' / .cbz', 'Untitled'],
  ['back\\slash.cbz'],
  ['%2e%2e%2f.cbz'],
  ['"quotes" and \'others\'.cbz'],
  ['-rf.cbz'],
  ['~.cbz'],
  ['con.cbz'],
  ['\u{1f468}\u200d\u{1f469}\u200d\u{1f467}/\u{1f4da}.cbz'],
  [`z${'\u0301'.repeat(100)}.cbz`],
  ['\ufffd.cbz'],
  ['\u0001.cbz', 'Untitled'],
  [`${NFC}/1.cbz`],
  [`${NFD}/1.cbz`],
  [`${NFC.toUpperCase()}/1.cbz`],
  [`twins/${NFC}.cbz`],
  [`twins/${NFD}.cbz`],
  ['twins/CAFÉ.cbz'],
]

const open = (t: Parameters<typeof openLibraryFixture>[0], files: string[] = []) =>
  openLibraryFixture(t, { files, analyze: async ({ path }) => fakeAnalysis({ file: factsOfFile(path) }) })
const present = async ({ books }: LibraryFixture) =>
  [...(await books())].flatMap(([path, book]) => (book.deleted_at === null ? [path] : [])).sort()

t.test('files with odd names are books with names that people can read, with every strategy', async (t) => {
  const paths = ODD_NAMES.map(([path]) => path).sort()
  const fixture = await open(t, paths)
  for (const strategy of ['auto', 'series_volume', 'series_volume_chapter', 'flat', 'publisher_hierarchy', 'calibre']) {
    await fixture.database('books').delete()
    await fixture.database('series').delete()
    await fixture.database('scanned_folders').delete()
    await fixture.database('folder_layouts').delete()
    await fixture.database('libraries').update({ series_strategy: strategy })
    const status = await fixture.scan()
    t.match(status, { status: 'completed', errors: [], filesTotal: paths.length }, strategy)
    t.same(await present(fixture), paths, strategy)
  }
  const books = await fixture.books()
  for (const [path, title] of ODD_NAMES) if (title !== undefined) t.equal(books.get(path)?.title, title, JSON.stringify(path))
  const titles = [...(await fixture.database('series').pluck('title')), ...(await fixture.database('books').pluck('title'))]
  t.same(
    titles.filter((title: string) => title.trim() === '' || /[\p{Cc}\u202a-\u202e]/u.test(title)),
    [],
  )
})

t.test('what cannot be a book is a line in the report of every scan, and the others are books', async (t) => {
  const fixture = await open(t, ['plain/1.cbz', 'caf\ufffd.cbz', '\ufffd/1.cbz'])
  const { root } = fixture
  const deep = Array.from({ length: 11 }, () => long(240)).join('/')
  fixture.put(`${deep.slice(0, 2_168)}/short.cbz`)
  // Deeper than a path may be for the system: nobody can create it there, but move it there.
  const half = Array.from({ length: 12 }, () => 'd'.repeat(240)).join('/')
  const [above, below] = [join(root, half), join(root, `e/${half}`)]
  for (const folder of [above, below]) mkdirSync(folder, { recursive: true })
  writeFileSync(`${below}/deep.cbz`, comic('deep'))
  renameSync(join(root, 'e'), `${above}/e`)
  // Else it could not be deleted.
  t.teardown(() => renameSync(`${above}/e`, join(root, 'e')))
  fixture.put(`${deep}/too long.cbz`)
  fixture.put(`${deep}/too long 2.cbz`)
  for (const bytes of [[0xe9], [0xff]])
    writeFileSync(Buffer.concat([Buffer.from(`${root}/caf`), Buffer.from(bytes), Buffer.from('.cbz')]), comic('latin'))
  mkdirSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xfe])]))
  for (const round of [1, 2]) {
    const { status, errors } = await fixture.scan()
    t.equal(status, 'completed')
    t.same(
      errors.map((error) => error.replace(/^".*": /s, '')).sort(),
      [
        'its name is not valid UTF-8: rename it',
        'its name is not valid UTF-8: rename it',
        'its name is not valid UTF-8: rename it',
        'its path is longer than 2500 bytes: it is not a book of the library until its folders or names are shorter',
        'its path is longer than 2500 bytes: it is not a book of the library until its folders or names are shorter',
        'its path is too long',
      ],
      `scan ${round}`,
    )
    t.same(await present(fixture), ['plain/1.cbz', `${deep.slice(0, 2_168)}/short.cbz`, 'caf\ufffd.cbz', '\ufffd/1.cbz'].sort())
  }
})

t.test('names that differ only by Unicode form or case are different files and series, and every scan says so once', async (t) => {
  const fixture = await open(t, [
    `${NFC}/1.cbz`,
    `${NFD}/1.cbz`,
    'CAFÉ/1.cbz',
    `twins/${NFC}.cbz`,
    `twins/${NFD}.cbz`,
    'other/1.cbz',
    'Other 2/1.cbz',
  ])
  for (const round of [1, 2]) {
    const { warnings, filesTotal } = await fixture.scan()
    t.equal(filesTotal, 7)
    t.same((await fixture.database('series').pluck('path')).sort(), ['CAFÉ', NFC, NFD, 'Other 2', 'other', 'twins'].sort())
    const pairs = (warnings ?? []).map((warning) => [...warning.matchAll(/"([^"]*)"/g)].map(([, name]) => name).sort())
    t.equal(pairs.length, 3, `scan ${round}`)
    t.strictSame(
      pairs.find(([name]) => name?.startsWith('twins')),
      [`twins/${NFC}`, `twins/${NFD}`].map((name) => `${name}.cbz`).sort(),
    )
    t.equal(
      warnings?.filter((warning) => /only in case/.test(warning)).length,
      warnings?.filter((warning) => !/Unicode form/.test(warning)).length,
    )
  }
})

t.test('a library whose names change between NFD and NFC keeps its books, series and progress', async (t) => {
  const names = ['Cafe\u0301', 'E\u0301te\u0301', 'U\u0308ber', 'か\u3099き\u3099', '한국'.normalize('NFD'), 'plain']
  const fixture = await open(
    t,
    names.flatMap((name) => [1, 2, 3].map((number) => `${name}/${name} ${number}.cbz`)),
  )
  await fixture.scan()
  const { database, root } = fixture
  const [user] = await database('users').insert({ username: 'sam', email: 'sam@example.org', password_hash: 'x', role: 'reader' }, 'id')
  await database('read_progress').insert(
    (await database('books').pluck('id')).map((book_id: string) => ({ user_id: user.id, book_id, current_page: 1 })),
  )
  const byPath = async () =>
    new Map([...(await fixture.books())].map(([path, { id, series_id }]) => [path.normalize('NFC'), { id, series_id }]))
  const before = await byPath()
  for (const form of ['NFC', 'NFD'] as const) {
    for (const folder of readdirSync(root)) {
      for (const file of readdirSync(join(root, folder))) renameSync(join(root, folder, file), join(root, folder, file.normalize(form)))
      renameSync(join(root, folder), join(root, folder.normalize(form)))
    }
    const status = await fixture.scan()
    t.match(status, { status: 'completed', guard: null }, form)
    t.strictSame(await present(fixture), [...before.keys()].map((path) => path.normalize(form)).sort())
    t.same(await byPath(), before, form)
    t.equal((await database('read_progress')).length, before.size)
  }
})

t.test('a folder of very many files is one series with a book for each', async (t) => {
  const count = sizeOf('files in one folder', { main: 2_000, full: 100_000 })
  const fixture = await open(t)
  mkdirSync(join(fixture.root, 'all'))
  for (let index = 0; index < count; index++) writeFileSync(join(fixture.root, 'all', `${index}.cbz`), '')
  await fixture.scans.start(fixture.libraryId)
  // The analyses of so many files take minutes, and are not what this is about.
  const status = await until(async () => {
    const found = await fixture.scans.getStatus(fixture.libraryId)
    return found.completedAt !== null && found
  }, 200_000)
  t.match(status, { status: 'completed', errors: [], filesTotal: count, seriesFound: 1 })
  const [counted] = await fixture.database('books').count({ books: '*' }).countDistinct({ series: 'series_id' })
  t.match([Number(counted?.['books']), Number(counted?.['series'])], [count, 1])
  await fixture.tasks.stop()
})
