import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { makeRoom } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.setTimeout(120_000)

t.test('parents set and read from the command line what a child may see', async (t) => {
  const { database, url } = await openTestDatabase(t)
  const room = await makeRoom(t)
  const data = path.join(room, 'data')
  await mkdir(data)
  await writeFile(path.join(room, 'word'), 'a long password\n')
  const run = async (...words: string[]) => await runInProcess([...words, '--data-dir', data], { env: { DATABASE_URL: url }, cwd: room })
  const access = (...flags: string[]) => run('user', 'access', 'ada', ...flags)
  t.match(await run('user', 'add', 'ada', '--password-file', 'word'), { code: 0 })
  t.match(await run('user', 'add', 'mum', '--role', 'admin', '--password-file', 'word'), { code: 0 })
  t.match(await access('--libraries', 'Kids'), { code: 1, output: /no library "Kids".*no library yet.*library add/s })

  const [kids, comics] = [await addLibrary(database, { name: 'Kids' }), await addLibrary(database, { name: 'Comics' })]
  const adults = await addLibrary(database, { name: 'Adults, really' })
  for (const [library_id, title, age] of [
    [kids, 'Bear', 6],
    [kids, 'Noir', 18],
    [comics, 'Cat', null],
    [adults, 'Dusk', 18],
  ] as const) {
    const series_id = await addSeries(database, { library_id, title })
    await addBook(database, { library_id, series_id, title })
    await database('series_metadata').insert({ series_id, age_rating: age })
  }
  t.match(await run('user', 'show', 'ada'), {
    code: 0,
    output:
      /^ada .*reader {2}last signed in never\nLibraries: +all\nAges: +all\nSharing tags: no rules\n {2}Adults, really: 1 series, 1 book\n {2}Comics: .*\n {2}Kids: 2 series, 2 books\n$/,
  })
  t.match(await access('--libraries', 'kids, Comics', '--age-up-to', '12'), {
    code: 0,
    output:
      /Libraries: +Comics, Kids\nAges: +up to 12; series without a rating are hidden\n.*\n {2}Adults, really: hidden\n {2}Comics: 0 series, 0 books; 1 series hidden by age\n {2}Kids: 1 series, 1 book; 1 series hidden by age\n$/,
  })
  t.match(await access('--unrated', 'show'), { output: /Comics, Kids\nAges: +up to 12; series without a rating are shown\n/ })
  t.match(await access('--age-up-to', '10'), { output: /up to 10; series without a rating are shown\n/ }, 'what no flag names stays')
  t.match(await access('--age-not-from', '18'), { output: /Comics, Kids\nAges: +not from 18; series without a rating are shown\n/ })
  t.match(
    await access('--libraries', adults),
    { output: /Libraries: +Adults, really\nAges: +not from 18/ },
    'a name with a comma has an id too',
  )
  t.match(await access('--all-libraries'), { output: /Libraries: +all\nAges: +not from 18/ })
  t.match(await access('--no-age'), { output: /Libraries: +all\nAges: +all/ })
  t.equal((await database('access_rules')).length, 0)

  for (const [flags, wrong] of [
    [[], /at least one of --libraries.*--no-age/],
    [
      ['--libraries', 'Kids,Comic'],
      /no library "Comic". Did you mean Comics\? There are: Adults, really \(give its id, [\da-f-]{36}\), Comics, Kids\./,
    ],
    [['--libraries', ' , '], /at least one library.*There are: Adults/],
    [['--libraries', 'Kids', '--all-libraries'], /not both/],
    [['--no-all-libraries'], /with --libraries/],
    [['--age-up-to', '12.5'], /whole number from 0 to 99, not "12.5"/],
    [['--age-up-to', '-1'], /whole number from 0 to 99, not "-1"/],
    [['--age-not-from', '200'], /whole number from 0 to 99/],
    [['--age-up-to', '6', '--age-not-from', '18'], /one of --age-up-to/],
    [['--age-up-to', '6', '--no-age'], /one of --age-up-to/],
    [['--age'], /no flag --age\./],
    [['--no-age=off'], /--no-age removes it/],
    [['--library', 'Kids', '--age-up-to', '12'], /with --libraries, not with --library/],
    [['--unrated', 'show'], /needs an age/],
    [['--age-up-to', '6', '--unrated', 'maybe'], /show or hide, not "maybe"/],
  ] as const)
    t.match(await access(...flags), { code: 1, output: wrong }, flags.join(' '))
  t.equal((await database('access_rules')).length, 0)
  t.match(await run('user', 'access', 'adda', '--no-age'), { code: 1, output: /Did you mean ada\?/ })
  t.match(await run('user', 'access', 'mum', '--age-up-to', '12'), {
    code: 1,
    output: /mum is an administrator.*Change the role first: .*user role mum reader/,
  })
  await addLibrary(database, { name: 'KIDS' })
  t.match(await access('--libraries', 'Kids'), { code: 1, output: /More than one library.*Give the id/ })

  t.match(await run('api-key', 'create', 'mum', 'tablet', '--libraries', kids, '--age-up-to', '12'), { code: 0 })
  t.match(await database('access_rules').select(), [{ all_libraries: false, age_mode: 'up_to', age_years: 12, shows_unrated: false }])
  t.notOk((await database('api_keys').first('permissions')).permissions.includes('system-admin'))
  t.match(await run('api-key', 'create', 'mum', 'x', '--library', kids), { code: 1, output: /with --libraries, not with --library/ })
  t.match(await run('api-key', 'create', 'mum', 'phone'), { code: 0 })
  t.match(await run('api-key', 'list', 'mum'), {
    output:
      /tablet {2}valid, last used never; libraries: Kids; ages: up to 12; series without a rating are hidden\n.*phone {2}valid, last used never\n/,
  })
  t.match(await run('api-key', 'create', 'mum', 'x', '--libraries', 'Cids'), { code: 1, output: /no library "Cids"/ })
})
