import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { getTask } from '#core/tasks/task-query.ts'
import { goAndFollow, openBrowser, openPage, withoutChromium } from '#test/support/browser.ts'
import { until } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { openWebServer } from '#test/support/web-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const ADA = { username: 'ada', email: 'ada@example.org', password: 'correct horse 1' }
/** Whole seconds, which every file system keeps. */
const WRITTEN_AT = 1_000_000_000

/** @param note of one letter, so that the size stays */
async function writeComic(file: string, note = 'a'): Promise<void> {
  const data = await makePicture({ width: 300, height: 450 })
  await mkdir(path.dirname(file), { recursive: true })
  // Books with equal pages are copies of one another, and follow one another.
  const own = Buffer.concat([data, Buffer.from(file)])
  const pages = ['1.jpg', '2.jpg'].map((name) => ({ name, data: own }))
  await writeFile(file, buildZip([...pages, { name: 'note.txt', data: Buffer.from(note) }]))
  await utimes(file, WRITTEN_AT, WRITTEN_AT)
}

const HULK = ['Vol 1/Hulk 001.cbz', 'Vol 1/Hulk 002.cbz', 'Vol 1/Hulk 003.cbz', 'Vol 1/Hulk 004.cbz', 'Vol 2/Hulk 005.cbz']
/** A scan withholds a folder that held at least five books and is empty. */
const THOR = [1, 2, 3, 4, 5].map((number) => `Thor 00${number}.cbz`)
const DOWNLOADS = ['Batman 001 (2016).cbz', 'Batman 002 (2016).cbz', 'Batman 003 (2016).cbz', 'Saga 001 (2012).cbz', 'Saga 002 (2012).cbz']

/** The publisher and the year stand above the series. */
const ARCHIVE = [
  'DC/2016/Batman/Batman 001.cbz',
  'DC/2016/Batman/Batman 002.cbz',
  'Image/2012/Saga/Saga 001.cbz',
  'Image/extras/Poster.cbz',
]

async function openShelf(t: Test) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'carrel-web-libraries-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const shelf = path.join(folder, 'Shelf')
  for (const name of HULK) await writeComic(path.join(shelf, 'Hulk', name))
  for (const name of THOR) await writeComic(path.join(shelf, 'Thor', name))
  for (const name of DOWNLOADS) await writeComic(path.join(folder, 'Downloads', name))
  for (const name of ARCHIVE) await writeComic(path.join(folder, 'Archive', name))
  await writeFile(path.join(folder, 'Downloads', 'notes.txt'), 'of a person')
  const { url, database, services } = await openWebServer(t, { books: folder })
  await services.accounts.initialize(ADA)
  const [{ id: libraryId }] = await database('libraries').insert({ name: 'Shelf', path: shelf, series_strategy: 'auto' }, 'id')
  /** As long as a scan runs, also one that a person has started, no other of its library can be started. */
  const awaitScans = () => until(async () => (await services.scans.listActive()).length === 0)
  const scan = async () => {
    await awaitScans()
    const { taskId } = await services.scans.start(libraryId)
    await until(async () => (await getTask(database, taskId)).status === 'completed')
    await until(async () => (await database('books').whereNull('analyzed_at')).length === 0)
  }
  await scan()
  const { page, complaints } = await openPage(await openBrowser(t), url)
  const data = { username: ADA.username, password: ADA.password, session: 'cookie' }
  await page.request.post(`${url}/api/v1/auth/login`, { data, headers: { origin: url } })
  return { url, folder, shelf, database, libraryId, awaitScans, scan, page, complaints }
}

const menuOf = async (page: Page, entry: string) => {
  await page.getByRole('button', { name: 'More for Shelf' }).click()
  await page.getByRole('menuitem', { name: entry, exact: true }).click()
}

t.test('Libraries are added, arranged, cleared of missing books and verified', { skip: withoutChromium() }, async (t) => {
  const { url, folder, shelf, database, libraryId, awaitScans, scan, page, complaints } = await openShelf(t)

  await t.test('The form for a library compares the ways to find series, and says why and what is left out', async (t) => {
    await page.goto(`${url}/admin/libraries`)
    await page.getByRole('button', { name: 'Add a library' }).click()
    await page.getByRole('button', { name: folder }).click()
    await page.getByRole('button', { name: 'Downloads' }).click()
    const found = page.getByRole('region', { name: 'What this folder becomes' })
    await found.getByText('Batman', { exact: true }).waitFor()
    await found
      .getByText(/told apart by the names of the files/)
      .first()
      .waitFor()
    await found.getByText('Several series', { exact: true }).first().waitFor()
    await found.getByText('Batman 001 (2016).cbz').waitFor()
    await found.getByText('Number 1', { exact: true }).first().waitFor()
    await found.getByText('notes.txt').waitFor()
    await page.getByRole('radio', { name: 'What the folders say Suggested' }).waitFor()
    await page.getByText('5 series, each with one book').first().waitFor()
    await page.getByRole('radio', { name: 'The folder of a file' }).check()
    await found.getByText('The file lies directly in the library: it is a series of one.').first().waitFor()
    await page.getByRole('radio', { name: 'What the files say' }).check()
    await found.getByText('The names of the files name the series.').first().waitFor()
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('Downloads is being scanned').waitFor()
    t.equal((await database('libraries').where({ name: 'Downloads' }).first()).series_strategy, 'flat')
  })

  await t.test('A pattern for paths, exclusions, formats and a schedule are entered, and the preview follows', async (t) => {
    await page.getByRole('dialog').first().waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Add a library' }).click()
    await page.getByRole('button', { name: folder }).click()
    await page.getByRole('button', { name: 'Archive', exact: true }).click()
    const found = page.getByRole('region', { name: 'What this folder becomes' })
    await page.getByRole('radio', { name: 'What a pattern says' }).check()
    await found.getByRole('heading', { name: 'Write the pattern' }).waitFor()
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    t.ok(await page.getByRole('dialog').isVisible(), 'nothing is added without the pattern')
    const pattern = page.getByRole('textbox', { name: 'Pattern', exact: true })
    await pattern.fill('(?P<series>')
    await found.getByRole('alert').waitFor()
    await pattern.fill('(?P<publisher>[^/]+)/[^/]+/(?P<series>[^/]+)/.*')
    await page.getByRole('textbox', { name: 'Name of the series' }).fill('{publisher}: {series}')
    await found.getByText('DC: Batman', { exact: true }).waitFor()
    await page.getByText('Titles, numbers, formats, exclusions, schedule').click()
    await page.getByRole('textbox', { name: 'Files and folders to leave out' }).fill('extras')
    await found.getByText('Folders of systems and disks, and what patterns leave out').waitFor()
    await page.getByRole('checkbox', { name: 'EPUB' }).uncheck()
    await page.getByLabel('Numbers of books').selectOption({ label: 'Place among the files' })
    await page.getByRole('spinbutton', { name: 'Number of the first book' }).fill('0')
    await page.getByLabel('Notice new and changed files').selectOption({ label: 'By regular scans' })
    await page.getByRole('spinbutton', { name: 'Minutes between two scans' }).fill('15')
    await page.getByLabel('Scan by itself').selectOption({ label: 'Every day at 4:00' })
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('Archive is being scanned').waitFor()
    const added = await database('libraries').where({ name: 'Archive' }).first()
    t.match(added, {
      series_strategy: 'custom',
      series_config: { pattern: /publisher/, seriesNameTemplate: '{publisher}: {series}' },
      excluded_patterns: 'extras',
      number_strategy: 'file_order',
      number_config: { start: 0 },
      scanning_config: { cronSchedule: '0 4 * * *', watch: 'poll', pollMinutes: 15 },
    })
    t.same(added.allowed_formats, ['cbz', 'cbr', 'pdf'])
    await until(async () => (await database('books').where({ library_id: added.id }).whereNull('analyzed_at')).length === 0)
    await page
      .getByRole('listitem')
      .filter({ hasText: 'Archive' })
      .getByText(/^Next /)
      .waitFor()
  })

  await t.test('Another strategy shows what it moves and asks before it does', async (t) => {
    await menuOf(page, 'Edit')
    await page.getByLabel('A series is').selectOption({ label: 'The folder of a file' })
    await page.getByText('1 book moves to another series.').waitFor()
    await page.getByRole('status').getByText('Folder', { exact: true }).first().waitFor()
    await page.getByLabel('Numbers of books').selectOption({ label: 'Place among the files' })
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const question = page.getByRole('dialog', { name: 'Sort the books of Shelf into series again?' })
    await question.getByText('1 book moves to another series.').waitFor()
    await question.getByRole('button', { name: 'Save and move the books' }).click()
    await page.getByRole('dialog').first().waitFor({ state: 'detached' })
    await until(async () => (await database('series').where({ library_id: libraryId })).length === 3)
    const { series_strategy, number_strategy } = await database('libraries').where({ id: libraryId }).first()
    t.same({ series_strategy, number_strategy }, { series_strategy: 'series_volume', number_strategy: 'file_order' })
  })

  await t.test('Books of an empty folder are withheld until somebody says that they are gone', async (t) => {
    for (const name of THOR) await rm(path.join(shelf, 'Thor', name))
    await scan()
    await page.goto(`${url}/admin/libraries`)
    await page.getByText(/^5 books of Shelf are missing\. Nothing was removed\./).waitFor()
    const folders = page.getByRole('list', { name: 'Folders whose books are missing' })
    await folders.getByRole('checkbox', { name: /^Thor 5 books, it is empty/ }).uncheck()
    t.ok(await page.getByRole('button', { name: /^They are gone/ }).isDisabled(), 'nothing is confirmed that is not chosen')
    await page.getByRole('link', { name: 'Show the 5 books' }).click()
    await page
      .getByText(/its disk is probably missing/)
      .first()
      .waitFor()
    t.equal(await page.getByRole('button', { name: /^Remove/ }).count(), 0)
    t.equal(await page.getByRole('checkbox').count(), 0)
    await page.getByRole('link', { name: 'Thor 001' }).click()
    await page.getByText('The file of this book was not found.').waitFor()
    await page.goto(`${url}/admin/libraries`)
    await page.getByRole('button', { name: 'They are gone: remove 5 books' }).click()
    await until(async () => (await database('books').whereNotNull('deleted_at')).length === THOR.length)
    await menuOf(page, 'Missing books')
    await page
      .getByText(/its whole folder is gone or empty/)
      .first()
      .waitFor()
    await page.getByLabel('Select the 5 that are shown and can be removed').check()
    await page.getByRole('button', { name: 'Remove 5 selected' }).click()
    await page.getByRole('dialog', { name: 'Remove 5 missing books?' }).getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByRole('heading', { name: 'No file is missing' }).waitFor()
    await page.goto(`${url}/admin/libraries`)
  })

  await t.test('Missing books say since when and why, and their records are removed one by one or all', async () => {
    for (const name of ['Hulk 002.cbz', 'Hulk 003.cbz']) await rm(path.join(shelf, 'Hulk', 'Vol 1', name))
    await scan()
    await menuOf(page, 'Missing books')
    await page.getByText('The files of 2 books are missing').waitFor()
    await page
      .getByText(/^Since .*: the file is gone\.$/)
      .first()
      .waitFor()
    await page.getByLabel('Select Hulk 002').check()
    await page.getByRole('button', { name: 'Remove 1 selected' }).click()
    await page.getByRole('dialog', { name: 'Remove Hulk 002?' }).getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('The file of 1 book is missing').waitFor()
    await page.getByRole('button', { name: 'Remove all' }).click()
    await page.getByRole('dialog', { name: 'Remove 1 missing book?' }).getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByRole('heading', { name: 'No file is missing' }).waitFor()
  })

  await t.test('A folder of a library is scanned alone, and the report says so and what was left out', async (t) => {
    await writeComic(path.join(shelf, 'Hulk', 'Vol 3', 'Hulk 006.cbz'))
    await writeComic(path.join(shelf, 'Loki', 'Loki 001.cbz'))
    await page.goto(`${url}/admin/libraries`)
    await menuOf(page, 'Scan a folder of it')
    const dialog = page.getByRole('dialog', { name: 'Scan a part of Shelf' })
    await dialog.getByRole('button', { name: 'Hulk', exact: true }).click()
    await dialog.getByRole('button', { name: 'Scan this folder' }).click()
    await page.getByText('Hulk is being scanned').waitFor()
    await until(async () => (await database('books').where({ file_name: 'Hulk 006.cbz' }).whereNotNull('analyzed_at')).length === 1)
    await awaitScans()
    t.equal((await database('books').where({ file_name: 'Loki 001.cbz' })).length, 0, 'other folders are not looked at')
    await page.goto(`${url}/admin/libraries`)
    await menuOf(page, 'What the last scan found')
    const report = page.getByRole('dialog', { name: 'Last scan of Shelf' })
    for (const words of ['Completed', 'New and changed files', 'Hulk', 'Left out']) await report.getByText(words, { exact: true }).waitFor()
    await report.getByRole('button', { name: 'Scan now' }).click()
    await until(async () => (await database('books').where({ file_name: 'Loki 001.cbz' }).whereNotNull('analyzed_at')).length === 1)
  })

  await t.test('The page of a series scans its folder', async () => {
    await awaitScans()
    const { series_id: seriesId } = await database('books').where({ file_name: 'Loki 001.cbz' }).first()
    await writeComic(path.join(shelf, 'Loki', 'Loki 002.cbz'))
    await page.goto(`${url}/series/${seriesId}`)
    await page.getByRole('button', { name: 'More for Loki' }).first().click()
    await page.getByRole('menuitem', { name: 'Scan its folder' }).click()
    await page.getByText('The folder of Loki is being scanned').waitFor()
    await until(async () => (await database('books').where({ file_name: 'Loki 002.cbz' })).length === 1)
  })

  await t.test('Tasks that begin and end show at once, and the top bar counts them', async () => {
    const watching = await page.context().newPage()
    // Nothing is asked for from time to time: what shows was brought by events.
    await watching.addInitScript('window.setInterval = () => 0')
    await goAndFollow(watching, `${url}/work`)
    await watching.getByRole('combobox', { name: 'Show' }).waitFor()
    await watching.waitForLoadState('load')
    // Not due: each minute, the server runs waiting tasks that have no job.
    const waiting = {
      type: 'renumber_series',
      status: 'pending',
      scheduled_for: new Date(Date.now() + 3_600_000),
      dedupe_key: 'waiting',
      priority: 0,
      max_attempts: 1,
      library_id: libraryId,
    }
    const [{ id }] = await database('tasks').insert(waiting, 'id')
    await page.goto(`${url}/admin/libraries`)
    await menuOf(page, 'Verify files')
    await watching.getByText('Verify the files of a library').first().waitFor()
    await watching.getByRole('link', { name: '1 task', exact: true }).waitFor()
    await database('tasks').where({ id }).delete()
    await page.goto(`${url}/admin/libraries`)
    await menuOf(page, 'Verify files')
    await watching.getByRole('link', { name: '1 task', exact: true }).waitFor({ state: 'detached' })
    await watching.close()
  })

  await t.test('A library whose folder cannot be watched says why', async () => {
    // The lock of a living node: that of this test.
    await database.transaction(async (trx) => {
      await trx.raw('SELECT pg_advisory_xact_lock(1)')
      const problem = 'Its disk has no room for more watches.'
      await database('library_watches').insert({ library_id: libraryId, node_lock: 1, problem })
      await page.goto(`${url}/admin/libraries`)
      await page.getByText(`The library is not watched. ${problem}`).waitFor()
      await database('library_watches').where({ library_id: libraryId }).update({ problem: null, folders: 3 })
      await page.reload()
      await page.getByText('Changes are noticed at once').waitFor()
    })
    await database('library_watches').delete()
  })

  await t.test('A verification finds a file whose content has changed, and somebody accepts it', async () => {
    const file = path.join(shelf, 'Hulk', HULK[0] as string)
    await writeComic(file, 'b')
    await page.goto(`${url}/admin/libraries`)
    await menuOf(page, 'Verify files')
    await page.getByText('The files of Shelf are being verified').waitFor()
    const id = await until(
      async () => (await database('book_errors').join('books', 'books.id', 'book_id').where({ path: file }).pluck('book_id'))[0],
    )
    await page.goto(`${url}/work`)
    await page.getByText('Verify the files of a library').first().waitFor()
    await page.goto(`${url}/admin/errors`)
    await page.getByRole('button', { name: 'Accept new content' }).waitFor()
    await page.goto(`${url}/books/${id}`)
    await page.getByText('The content of this file has changed.').waitFor()
    await page.getByRole('button', { name: 'Accept new content' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Accept new content' }).click()
    await page.getByText('The content of this file has changed.').waitFor({ state: 'detached' })
  })

  t.same(complaints, [], 'no script fails, and no other server is asked')
})
