import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { renderCommandHelp } from '#api/cli/help.ts'
import { libraryAdd, libraryEdit } from '#api/cli/library.ts'
import { LIBRARY_FLAGS } from '#api/cli/library-flags.ts'
import { makeRoom } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'

t.setTimeout(120_000)

t.test('a library is added and changed with all of its settings', async (t) => {
  const { database, url } = await openTestDatabase(t)
  const room = await makeRoom(t)
  for (const folder of ['data', 'books']) await mkdir(path.join(room, folder))
  const config = { numberConfig: { start: 0 }, scanningConfig: { enabled: false, scanMode: 'deep', scanOnStart: true } }
  await writeFile(path.join(room, 'library.json'), JSON.stringify(config))
  const run = async (line: string, ...more: string[]) =>
    await runInProcess([...line.split(' '), ...more, '--data-dir', path.join(room, 'data')], { env: { DATABASE_URL: url }, cwd: room })
  const stored = async () => await database('libraries').first()

  const add = 'library add books --config library.json --series-strategy flat --book-strategy smart --number-strategy file_order'
  for (const [flag, value, problem] of [
    ['--book-strategy', 'smrt', /There is no book strategy "smrt". Did you mean "?smart"?.* All: filename, /],
    ['--number-strategy', 'x', /There is no number strategy "x"/],
    ['--formats', 'cbz,doc', /"doc" is not a book format/],
    ['--schedule', '* * * * *', /every 5 minutes|more often/],
    ['--exclude', '{a,b}'.repeat(9), /more than 100 variants/],
  ] as const)
    t.match(await run('library add books', flag, value), { code: 1, output: problem }, flag)
  t.equal(await stored(), undefined)

  t.match(await run(add, '--exclude', 'Extras, *.{pdf,txt}', '--formats', 'cbz,EPUB', '--schedule', '0 3 * * *'), { code: 0 })
  const first = await stored()
  t.match(first, {
    series_strategy: 'flat',
    book_strategy: 'smart',
    number_strategy: 'file_order',
    number_config: { start: 0 },
    excluded_patterns: 'Extras\n*.{pdf,txt}',
    allowed_formats: ['cbz', 'epub'],
    scanning_config: { enabled: true, scanMode: 'deep', scanOnStart: true, cronSchedule: '0 3 * * *' },
    next_scan_at: Date,
  })

  t.match(await run('library edit books --schedule none --formats all --exclude none --book-strategy filename'), { code: 0 })
  t.match(await stored(), {
    book_strategy: 'filename',
    number_strategy: 'file_order',
    excluded_patterns: null,
    allowed_formats: null,
    scanning_config: { scanMode: 'deep', scanOnStart: true, cronSchedule: null },
    next_scan_at: null,
  })
  t.match(await run('library edit books'), { code: 1, output: /--series-strategy, .*--schedule/ })
})

t.test('the help of both commands says what each flag takes', async (t) => {
  for (const command of [libraryAdd, libraryEdit])
    for (const { name } of LIBRARY_FLAGS)
      t.match(renderCommandHelp(command), new RegExp(`--${name} <\\w+>\\n +\\S`), `${command.name} --${name}`)
})
