import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { makeRoom } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'

t.setTimeout(120_000)

const FILES = [
  'Berserk/Vol 1/a.cbz',
  'Berserk/Vol 2/b.cbz',
  'In/Batman 001.cbz',
  'In/Batman 002.cbz',
  'In/Saga 001.cbz',
  'In/Saga 002.cbz',
  ...[1, 2, 3, 4, 5, 6].map((n) => `x${n}.part`),
]

t.test('a folder is previewed, and added with a layout', async (t) => {
  const { database, url } = await openTestDatabase(t)
  const room = await makeRoom(t)
  const books = path.join(room, 'books')
  await mkdir(path.join(room, 'data'))
  for (const file of FILES) {
    await mkdir(path.dirname(path.join(books, file)), { recursive: true })
    await writeFile(path.join(books, file), '')
  }
  const run = async (...words: string[]) =>
    await runInProcess([...words, '--data-dir', path.join(room, 'data')], { env: { DATABASE_URL: url }, cwd: room })

  const preview = await run('library', 'preview', 'books')
  t.equal(preview.code, 0)
  for (const said of [
    /^Berserk {2}Berserk: 2 books\n {2}Its folders are parts/m,
    /a\.cbz {2}volume 1, number 1$/m,
    /^Batman {2}In: 2 books\n {2}Its folder holds files of several series/m,
    /^Left out \(incomplete\): 6\n {4}x1\.part\n(?: {4}x\d\.part\n){4} {4}and 1 more$/m,
    /^6 files in 3 series\.$/m,
    /^ {2}auto +3 series, 0 of one book, 0 with mixed titles {2}\(suggested\)$/m,
    /^ {2}series_volume +3 series, 2 of one book, 1 with mixed titles$/m,
  ])
    t.match(preview.output, said)
  t.match(await run('library', 'preview', 'books', '--series-strategy', 'flat'), {
    code: 0,
    output: /The names of the files name the series\./,
  })
  t.match(await run('library', 'preview', 'books', '--exclude', '*.{part,tmp},In', '--formats', 'cbz'), {
    code: 0,
    output: /^Left out \(excluded\): 1\n {4}In\n(?:.*\n)*2 files in 1 series\.$/m,
  })
  t.match(await run('library', 'preview', 'books', '--book-strategy', 'series_name', '--number-strategy', 'file_order'), {
    code: 0,
    output: /b\.cbz {2}"Berserk v\.02", volume 2, number 2$/m,
  })
  t.same(await database('libraries'), [], 'nothing was stored')

  const config = async (content: unknown) =>
    await writeFile(path.join(room, 'library.json'), typeof content === 'string' ? content : JSON.stringify(content))
  const add = (...words: string[]) => run('library', 'add', 'books', '--config', 'library.json', ...words)
  const wrong: [content: unknown, words: string[], problem: RegExp][] = [
    ['{', [], /library\.json is no JSON/],
    [{ seriesConfg: {} }, [], /a library has no setting "seriesConfg"/],
    [{ seriesConfig: { skipDepth: 2 } }, ['--series-strategy', 'flat'], /The settings of the strategy "flat" are invalid: \/seriesConfig/],
    [{}, ['--series-strategy', 'publisher'], /There is no series strategy "publisher"/],
    [{ seriesConfig: { pattern: '(?P<series>' } }, ['--series-strategy', 'custom'], /pattern/],
  ]
  for (const [content, words, problem] of wrong) {
    await config(content)
    t.match(await add(...words), { code: 1, output: problem }, String(problem))
  }
  t.same(await database('libraries'), [])
  t.notOk(existsSync(path.join(room, 'nowhere.json')))
  t.match(await run('library', 'add', 'books', '--config', 'nowhere.json'), { code: 1, output: /nowhere\.json cannot be read \(ENOENT\)/ })

  await config({ seriesConfig: { skipDepth: 2, storeSkippedAs: 'imprint' }, excludedPatterns: '*.pdf' })
  t.match(await add('--series-strategy', 'publisher_hierarchy'), { code: 0, output: /Added the library "books"/ })
  t.match(await database('libraries').first(), {
    series_strategy: 'publisher_hierarchy',
    series_config: { skipDepth: 2, storeSkippedAs: 'imprint' },
  })
})

t.test('a folder is previewed before a server has ever run', async (t) => {
  const room = await makeRoom(t)
  await mkdir(path.join(room, 'books', 'Saga'), { recursive: true })
  await writeFile(path.join(room, 'books', 'Saga', 'Saga 1.cbz'), '')
  const preview = await runInProcess(['library', 'preview', 'books', '--data-dir', path.join(room, 'data')], { cwd: room })
  t.match(preview, { code: 0, output: /^1 file in 1 series\.$/m })
  t.notOk(existsSync(path.join(room, 'data')), 'and it makes no data folder')
})
