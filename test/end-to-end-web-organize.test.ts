import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openBrowser, openPage, withoutChromium } from '#test/support/browser.ts'
import { until } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { openWebServer } from '#test/support/web-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const ADA = { username: 'ada', email: 'ada@example.org', password: 'correct horse 1' }
const GUEST = { username: 'bea', email: 'bea@example.org', password: 'correct horse 2' }
/** Series with their genres, each with one book. */
const SERIES = { Atlas: 'Drama', Brine: 'Drama', Cinder: 'Comedy' }

async function openServer(t: Test) {
  const books = await mkdtemp(path.join(os.tmpdir(), 'carrel-organize-'))
  t.teardown(() => rm(books, { recursive: true, force: true }))
  const data = await makePicture({ width: 300, height: 450 })
  for (const [name, genre] of Object.entries(SERIES)) {
    await mkdir(path.join(books, 'First', name), { recursive: true })
    const info = `<ComicInfo><Series>${name}</Series><Number>1</Number><Genre>${genre}</Genre></ComicInfo>`
    const parts = [
      { name: 'ComicInfo.xml', data: Buffer.from(info) },
      { name: `${name}.jpg`, data },
    ]
    await writeFile(path.join(books, 'First', name, `${name} 1.cbz`), buildZip(parts))
  }
  await mkdir(path.join(books, 'Second'))
  const { url, database, services } = await openWebServer(t, { books })
  await services.accounts.initialize(ADA)
  const rows = ['First', 'Second'].map((name) => ({ name, path: path.join(books, name) }))
  const [{ id: libraryId }] = await database('libraries').insert(rows, 'id')
  await services.scans.start(libraryId)
  await until(async () => (await database('books').whereNotNull('analyzed_at')).length === Object.keys(SERIES).length)
  const browser = await openBrowser(t)
  const signIn = async (account: typeof ADA) => {
    const opened = await openPage(browser, url)
    const { username, password } = account
    await opened.page.request.post(`${url}/api/v1/auth/login`, {
      data: { username, password, session: 'cookie' },
      headers: { origin: url },
    })
    return opened
  }
  return { url, database, libraryId: libraryId as string, signIn, ...(await signIn(ADA)) }
}

async function choose(page: Page, titles: readonly string[], action: string): Promise<void> {
  await page.getByRole('gridcell').getByRole('link').first().waitFor()
  for (const title of titles) await page.getByRole('checkbox', { name: `Select ${title}` }).click()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: action }).click()
}

t.test('Series are tagged, shared by tags, limited by chips, and read lists imported', { skip: withoutChromium() }, async (t) => {
  const { url, database, libraryId, signIn, page, complaints } = await openServer(t)

  await t.test('Selected series get and lose tags and genres; others stay as they are', async (t) => {
    await page.goto(`${url}/series`)
    await choose(page, ['Atlas', 'Cinder'], 'Tags and genres')
    const dialog = page.getByRole('dialog', { name: 'Tags and genres of 2 series' })
    await dialog.getByRole('button', { name: 'Change' }).click()
    await dialog.getByText('Write a tag or a genre first.').waitFor()
    await dialog.getByLabel('Add tags').fill('sea')
    await dialog.getByLabel('Remove genres').fill('Comedy')
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: 'Change' }).click()
    await page.getByText('The tags and genres of 2 series are changed').waitFor()
    await page.goto(`${url}/series?tag=sea`)
    await page.getByText('2 series', { exact: true }).waitFor()
    await page.goto(`${url}/series?genre=Comedy`)
    await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
    t.ok(true, 'the lists agree')
  })

  await t.test('Chips lead to a genre and to a library', async (t) => {
    await page.goto(`${url}/series`)
    await page.getByRole('button', { name: 'Genre', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Drama · 2' }).click()
    await page.getByText('2 series', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Library', exact: true }).click()
    await page.getByRole('menuitem', { name: 'First' }).click()
    await page.getByRole('heading', { name: 'First', level: 1 }).waitFor()
    t.same([new URL(page.url()).pathname, new URL(page.url()).search], [`/libraries/${libraryId}`, '?genre=Drama'])
    await page.getByText('2 series', { exact: true }).waitFor()
  })

  await t.test('A sharing tag is made, given to a series, and decides what a user sees', async () => {
    await page.goto(`${url}/admin/sharing-tags`)
    await page.getByRole('button', { name: 'Add a sharing tag' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Grown-ups')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('Grown-ups is added').waitFor()
    await page.goto(`${url}/series`)
    await choose(page, ['Brine'], 'Sharing tags')
    await page.getByLabel('Grown-ups').selectOption({ label: 'Give' })
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByText('The sharing tags of 1 series are changed').waitFor()
    const made = await page.request.post(`${url}/api/v1/users`, { data: { ...GUEST, role: 'reader' }, headers: { origin: url } })
    const { id: userId } = (await made.json()) as { id: string }
    await page.goto(`${url}/admin/users`)
    await page.getByRole('button', { name: 'More for bea' }).click()
    await page.getByRole('menuitem', { name: 'What they see' }).click()
    await page.getByLabel('Grown-ups').selectOption({ label: 'Denied' })
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await until(async () => (await database('user_sharing_grants').where({ user_id: userId })).length === 1)
    const guest = await signIn(GUEST)
    await guest.page.goto(`${url}/series`)
    await guest.page.getByText('2 series', { exact: true }).waitFor()
    await page.goto(`${url}/admin/sharing-tags`)
    await page.getByText('1 series · a rule for 1 user').waitFor()
    await page.getByRole('button', { name: 'More for Grown-ups' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('bea would see more series without this tag.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove it anyway' }).click()
    await page.getByRole('heading', { name: 'No sharing tags yet' }).waitFor()
    // The button that opened the question is gone with the row of the tag.
    await until(async () => (await page.evaluate('document.activeElement.tagName')) === 'MAIN')
    await guest.page.reload()
    await guest.page.getByText('3 series', { exact: true }).waitFor()
  })

  await t.test('What a user sees stays as it was chosen while it is asked for again, and when the session has ended', async (t) => {
    const { id: userId } = await database('users').where({ username: GUEST.username }).first('id')
    await page.goto(`${url}/admin/users`)
    await page.getByRole('button', { name: 'More for bea' }).click()
    await page.getByRole('menuitem', { name: 'What they see' }).click()
    const dialog = page.getByRole('dialog', { name: 'What bea sees' })
    await dialog.getByRole('switch', { name: 'All libraries, also future ones' }).uncheck()
    const first = dialog.getByRole('checkbox', { name: 'First' })
    await first.check()
    /** As when somebody comes back from another window. */
    const comeBack = async () => {
      const asked = page.waitForResponse(/\/access$/)
      await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
      await asked
    }
    await comeBack()
    t.ok(await first.isChecked())
    await first.focus()
    await page.context().clearCookies()
    await comeBack()
    const ended = page.getByRole('dialog', { name: 'Sign in again' })
    await ended.getByLabel('Password for ada').fill(ADA.password)
    await ended.getByRole('button', { name: 'Sign in', exact: true }).click()
    await ended.waitFor({ state: 'detached' })
    await until(async () => (await page.evaluate(`document.activeElement.closest('label')?.textContent`)) === 'First')
    t.ok(await first.isChecked())
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    await until(async () => (await page.evaluate(`document.activeElement.getAttribute('aria-label')`)) === 'More for bea')
    const access = await (await page.request.get(`${url}/api/v1/users/${userId}/access`)).json()
    t.match(access, { allLibraries: false, libraryIds: [libraryId] })
  })

  await t.test('A reading list is imported, and says which books are not here', async (t) => {
    await page.goto(`${url}/read-lists`)
    const books = ['Atlas', 'Brine', 'Nowhere'].map((series) => `<Book Series="${series}" Number="1" Volume="" Year="1999"/>`)
    const list = `<?xml version="1.0"?><ReadingList><Name>Summer</Name><Books>${books.join('')}</Books></ReadingList>`
    const file = { name: 'summer.cbl', mimeType: 'application/xml', buffer: Buffer.from(list) }
    await page.locator('input[type="file"]').setInputFiles({ ...file, buffer: Buffer.from('no list') })
    await page.getByText(/This is not a reading list in CBL format/).waitFor()
    await page.locator('input[type="file"]').setInputFiles(file)
    const report = page.getByRole('dialog', { name: 'Summer is imported' })
    await report.getByText('2 of 3 books are in your libraries.').waitFor()
    await report.getByText('Nowhere (1999) 1').waitFor()
    await report.getByRole('button', { name: 'Open the list' }).click()
    await page.getByRole('heading', { name: 'Summer', level: 1 }).waitFor()
    t.match(new URL(page.url()).pathname, /^\/read-lists\//)
  })

  t.same(complaints, [], 'no script fails, the policy forbids nothing, and no other server is asked')
})
