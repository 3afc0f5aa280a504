import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { CreateLibraryRequest } from '#core/catalog/library.ts'
import { previewScan } from '#core/scan/preview-scan.ts'
import { countHangingThreads, walk } from '#core/scan/walk.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { findRules } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

t.test('few previews run at the same time, and none starts while disks do not answer', async (t) => {
  const { database } = await openTestDatabase(t)
  const folder = mkdtempSync(join(tmpdir(), 'carrel-previews-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'Saga'))
  writeFileSync(join(folder, 'Saga', 'Saga 1.cbz'), '')
  const parts = { database, rules: findRules(), settings: { dataFolder: '/nonexistent' } }
  const callers = { ada: await addCaller(database), bo: await addCaller(database), cleo: await addCaller(database) }
  const preview = (user: keyof typeof callers, path = folder) =>
    previewScan(parts, { caller: callers[user], folder: path }, new AbortController().signal)

  const codesOf = (all: PromiseSettledResult<unknown>[]) => all.map((one) => (one.status === 'rejected' ? one.reason.code : 'done'))
  const began = (['ada', 'ada', 'ada', 'bo', 'bo', 'cleo'] as const).map((user) => preview(user))
  t.same(codesOf(await Promise.allSettled(began)), ['done', 'done', 'rate_limit_exceeded', 'done', 'done', 'unavailable'])
  // Threads that are not needed any more end a moment later.
  await until(() => countHangingThreads() === 0)
  await t.rejects(preview('ada', join(folder, 'nowhere')), { code: 'invalid_value' }, 'what fails gives its place back')
  t.same(codesOf(await Promise.allSettled([preview('ada'), preview('ada'), preview('cleo')])), ['done', 'done', 'done'])

  // An abandoned thread counts until it has ended, which takes a moment here, and forever in a call to a dead drive.
  const stop = new AbortController()
  const options = { root: folder, excludedPatterns: null, allowedFormats: null, known: new Map<string, string>() }
  const left = Array.from({ length: 5 }, () => walk(options, stop.signal).next())
  stop.abort()
  await Promise.allSettled(left)
  t.ok(countHangingThreads() > 4, String(countHangingThreads()))
  await t.rejects(preview('ada'), { code: 'unavailable', message: /does not answer/ })
  await until(() => countHangingThreads() === 0)
  t.match(await preview('ada'), { totalFiles: 1 })
})

t.test('series and books have the titles and numbers that the library gives them', async (t) => {
  const files = ['Saga [Digital]/Saga 01.cbz', 'Saga [Digital]/Saga 02.cbz', 'Plain/alpha.cbz', 'Plain/beta.cbz', 'Plain/Extras/omake.cbz']
  const { database, root, scan } = await openLibraryFixture(t, { files: [...files, 'Alone.cbz'] })
  const titlePreprocessingRules = [{ pattern: ' \\[.*\\]$', replacement: '' }]
  const custom = { pattern: '(?P<series>\\w+) (?P<number>\\d+)$', titleTemplate: '{series}, issue {number}' }
  const requests: Partial<CreateLibraryRequest>[] = [
    {},
    { titlePreprocessingRules, bookStrategy: 'series_name' },
    { titlePreprocessingRules, bookStrategy: 'custom', bookConfig: { ...custom, fallback: 'series_name' }, numberStrategy: 'filename' },
    { bookStrategy: 'series_name', bookConfig: { chapterPadding: 1 }, numberStrategy: 'file_order', numberConfig: { start: 7 } },
    { numberStrategy: 'metadata' },
    { numberStrategy: 'smart', numberConfig: { usePosition: false } },
  ]
  const seen: string[] = []
  for (const request of requests) {
    for (const table of ['books', 'series', 'scanned_folders', 'folder_layouts']) await database(table).delete()
    const { titlePreprocessingRules: rules, bookStrategy, bookConfig, numberStrategy, numberConfig } = request
    await database('libraries').update({
      series_strategy: 'auto',
      title_preprocessing_rules: rules ? JSON.stringify(rules) : null,
      book_strategy: bookStrategy ?? 'metadata_first',
      book_config: bookConfig ? JSON.stringify(bookConfig) : null,
      number_strategy: numberStrategy ?? 'smart',
      number_config: numberConfig ? JSON.stringify(numberConfig) : null,
    })
    await scan()
    const rows = await database('books AS b')
      .join('series AS s', 's.id', 'b.series_id')
      .select('s.path', 's.title AS name', 'b.file_name', 'b.title', 'b.number')
    // Without a database there is no library, which the folder would overlap.
    const parts = { database: null, rules: findRules(), settings: { dataFolder: '/nonexistent' } }
    const { series } = await previewScan(parts, { ...request, caller: null, folder: root }, new AbortController().signal)
    const shown = series.flatMap(({ path, name, books }) =>
      books.map(({ fileName, title, number }) => ({ path, name, file_name: fileName, title, number })),
    )
    const lines = (all: readonly object[]) => all.map((one) => JSON.stringify(one)).sort()
    t.same(lines(shown), lines(rows), JSON.stringify(request))
    seen.push(...lines(shown))
  }
  t.ok(new Set(seen).size >= 15, 'the settings make a difference')
})

t.test('settings that a new library would not get are refused', async (t) => {
  const { database } = await openTestDatabase(t)
  const parts = { database, rules: findRules(), settings: { dataFolder: '/nonexistent' } }
  const cases: [request: Partial<CreateLibraryRequest>, path: string][] = [
    [{ numberConfig: { start: 1 } }, '/numberConfig'],
    [{ bookStrategy: 'custom', bookConfig: { pattern: '(', titleTemplate: '{title}' } }, '/bookConfig/pattern'],
    [{ titlePreprocessingRules: [{ pattern: '(', replacement: '' }] }, '/titlePreprocessingRules'],
  ]
  for (const [request, path] of cases) {
    const refused = previewScan(parts, { ...request, caller: null, folder: tmpdir() }, new AbortController().signal)
    await t.rejects(refused, { code: 'invalid_value', details: [{ path: new RegExp(`^${path}`) }] }, path)
  }
})
