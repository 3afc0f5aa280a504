import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { makeRoom } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.setTimeout(60_000)

t.test('the command lists missing books, and removes those that are named or all that are marked', async (t) => {
  const { database, url } = await openTestDatabase(t)
  const data = path.join(await makeRoom(t), 'data')
  await mkdir(data)
  const library_id = await addLibrary(database, { name: 'Manga', path: '/shelf/manga' })
  const series_id = await addSeries(database, { library_id, title: 'Saga' })
  const add = async (name: string, gone: object) => {
    const id = await addBook(database, { library_id, series_id, title: name, path: `/shelf/manga/Saga/${name}` })
    await database('books')
      .where({ id })
      .update({ title: name, ...gone })
    return id
  }
  const [missing_since, deleted_at] = [new Date('2026-03-04T12:00:00Z'), new Date()]
  const one = await add('1.cbz', { deleted_at, missing_since, missing_why: 'file' })
  const two = await add('2.cbz', { deleted_at, missing_since, missing_why: 'folder' })
  const three = await add('3.cbz', { missing_since, missing_why: 'withheld' })
  await add('4.cbz', {})
  const run = async (...words: string[]) =>
    await runInProcess(['library', 'missing', 'Manga', ...words, '--data-dir', data], { env: { DATABASE_URL: url } })

  const listed = await run()
  t.match(listed, { code: 0, output: new RegExp(`Saga/1.cbz\n  ${one}  since 2026-03-04: its file is gone`) })
  t.match(listed.output, /2.cbz\n.*its folder is gone or empty\n.*3.cbz\n.*its disk may be missing/)
  t.notMatch(listed.output, /4\.cbz/)
  t.match(await run('--remove', 'one'), { code: 1, output: /"one" is not the id of a book/ })
  t.match(await run('--remove', three), { code: 1, output: /its disk may be missing/ })
  t.match(await run('--remove', one), { code: 0, output: /Removed 1 book\./ })
  t.match(await run('--remove-all'), { code: 1, output: /To confirm: .*library missing Manga --remove-all --yes/ })
  t.match(await run('--remove-all', '--yes'), { code: 0, output: /Removed 1 book\./ })
  t.same(await database('books').where('id', two), [])
  t.match((await run()).output, /^Saga\/3.cbz\n[^\n]*\n$/)
})
