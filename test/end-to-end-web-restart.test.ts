import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { announce } from '#core/events/event-store.ts'
import { openBrowser, openPage, withoutChromium } from '#test/support/browser.ts'
import { makeRoom } from '#test/support/carrel-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { freePort } from '#test/support/free-port.ts'
import { until } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { ADMIN, awaitScan, type RunningServer, startServer } from '#test/support/running-server.ts'
import { chapterOf } from '#test/support/web-readers.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const PAGES = 30
const SCAN_MS_MAX = 120_000
/** The build of the interface, where no other test has made it. */
const BUILD_MS_MAX = 180_000

const chapter = (name: string): string =>
  `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head><body><h1>${name}</h1><p>${name} words.</p></body></html>`

async function writeBooks(folder: string): Promise<void> {
  const data = await makePicture({ width: 600, height: 900 })
  const comic = buildZip(Array.from({ length: PAGES }, (_, at) => ({ name: `p${100 + at}.jpg`, data })))
  const books = {
    'Tide/Tide.cbz': comic,
    'Ash/Ash.cbz': comic,
    'Novel/Novel.epub': buildEpub({
      metadata: '<dc:title>Novel</dc:title><dc:language>en</dc:language>',
      manifest: ['c1', 'c2'].map((id) => `<item id="${id}" href="${id}.xhtml" media-type="application/xhtml+xml"/>`).join(''),
      spine: '<itemref idref="c1"/><itemref idref="c2"/>',
      files: { 'c1.xhtml': chapter('First'), 'c2.xhtml': chapter('Second') },
    }),
  }
  for (const [name, content] of Object.entries(books)) {
    await mkdir(path.join(folder, path.dirname(name)), { recursive: true })
    await writeFile(path.join(folder, name), content)
  }
}

/** A server process that can be killed, with scanned books and pages of a signed-in browser. */
async function openKillable(t: Test) {
  const { database, url: databaseUrl } = await openTestDatabase(t)
  const room = await makeRoom(t)
  const library = path.join(room, 'library')
  await writeBooks(library)
  const port = await freePort()
  const start = () =>
    startServer({
      dataFolder: path.join(room, 'data'),
      port,
      args: ['--workers', '1', '--library', library],
      env: { DATABASE_URL: databaseUrl, CARREL_WEB_BUILD: 'true' },
    })
  let server: RunningServer = await start()
  t.teardown(() => server.stop())
  const { url } = server
  const { id: libraryId } = await database('libraries').first('id')
  await awaitScan(server, libraryId, { analyzed: true, timeoutMs: SCAN_MS_MAX })
  await until(async () => (await fetch(`${url}/series`, { headers: { accept: 'text/html' } })).ok, BUILD_MS_MAX)
  const context = await (await openBrowser(t)).newContext({ viewport: { width: 1200, height: 800 } })
  await context.request.post(`${url}/api/v1/auth/login`, { data: { ...ADMIN, session: 'cookie' }, headers: { origin: url } })
  const idOf = async (name: string): Promise<string> => (await database('books').where('file_name', name).first('id')).id
  return {
    ...{ database, libraryId: libraryId as string, idOf },
    open: async (address: string): Promise<Page> => {
      const { page } = await openPage(context, url)
      await page.goto(url + address)
      return page
    },
    kill: () => server.kill(),
    restart: async () => {
      server = await start()
    },
  }
}

const row = (page: Page, name: string) => page.getByRole('gridcell').getByRole('link', { name })
const noConnection = (page: Page) => page.getByText(/^No connection/)

t.test('Open pages say that the server was killed, and go on by themselves when it is back', { skip: withoutChromium() }, async (t) => {
  const { database, libraryId, idOf, open, kill, restart } = await openKillable(t)
  const [tide, novel, ash] = [await idOf('Tide.cbz'), await idOf('Novel.epub'), await idOf('Ash.cbz')]
  const { series_id: seriesId } = await database('books').where('id', tide).first('series_id')
  const pageOf = async (bookId: string): Promise<number> =>
    (await database('read_progress').where('book_id', bookId).first('current_page'))?.current_page ?? 0
  const rename = (title: string) => database('series').where('id', seriesId).update({ title })

  const list = await open('/series')
  await row(list, 'Tide').waitFor()
  const home = await open('/')
  await home.getByRole('heading', { name: 'Recently added' }).waitFor()
  const text = await open(`/books/${novel}/read`)
  await chapterOf(text, 'First words.')
  const comic = await open(`/books/${tide}/read`)
  await comic.getByRole('img', { name: /^Page 1 of 30/ }).waitFor()
  const recorded = comic.waitForResponse(/\/progress$/)
  await comic.keyboard.press('ArrowRight')
  await until(
    () => comic.evaluate(`performance.getEntriesByType('resource').some(({ name }) => /\\/pages\\/5\\b/.test(name))`) as Promise<boolean>,
  )
  await recorded
  const left = await open(`/books/${ash}/read`)
  await left.getByRole('img', { name: /^Page 1 of 30/ }).waitFor()

  await kill()
  await t.test('Pages that are there are turned, places are kept, and what is missing says why', async (t) => {
    await noConnection(home).waitFor()
    // Somebody comes back to the page, whose records are old by now.
    await home.clock.setSystemTime(Date.now() + 60_000)
    await home.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
    // Longer than three attempts to load the records again.
    const attempts = sleep(4_000)
    await comic.keyboard.press('ArrowRight')
    await comic.getByRole('img', { name: /^Page 4 of 30/ }).waitFor()
    await noConnection(comic).waitFor()
    await comic.keyboard.press('g')
    await comic.getByRole('textbox', { name: 'Go to page' }).fill('20')
    await comic.keyboard.press('Enter')
    await comic.getByRole('region', { name: 'Page 20' }).getByText('The server cannot be reached.').waitFor()
    await left.keyboard.press('End')
    await left.getByText('Your place is kept on this device').waitFor()
    await left.keyboard.press('Escape')
    await left.keyboard.press('Escape')
    await left.locator('main.reader').waitFor({ state: 'detached' })
    await left.close()
    await text.getByRole('button', { name: 'Next chapter', includeHidden: true }).dispatchEvent('click')
    await text.getByRole('alert').getByText('The server cannot be reached.').waitFor()
    await noConnection(list).waitFor()
    await row(list, 'Tide').waitFor()
    await attempts
    t.ok(await home.getByRole('heading', { name: 'Recently added' }).isVisible(), 'what was there is shown')
    await home.getByRole('navigation', { name: 'Main', exact: true }).getByRole('link', { name: 'Collections' }).click()
    await home.getByText('A part of it could not be loaded.').waitFor()
  })

  await rename('Low water')
  await restart()
  await t.test('Nobody does anything, and all of it is there', async (t) => {
    await comic.getByRole('img', { name: /^Page 20 of 30/ }).waitFor()
    await until(async () => (await pageOf(tide)) === 20)
    await noConnection(comic).waitFor({ state: 'detached' })
    // Another tab sends what the closed one kept.
    await until(async () => (await pageOf(ash)) === PAGES)
    t.equal(await comic.getByRole('dialog').count(), 0, 'the place that was kept is not taken for one of another device')
    await chapterOf(text, 'Second words.')
    await until(() => database('read_progress').where('book_id', novel).first('book_id'))
    await home.getByRole('heading', { name: 'Collections', level: 1 }).waitFor()
    await noConnection(list).waitFor({ state: 'detached' })
    await row(list, 'Low water').waitFor()
    await rename('High water')
    await database.transaction((trx) => announce(trx, [{ event: { type: 'series_updated', seriesId, libraryId, fields: ['title'] } }]))
    await row(list, 'High water').waitFor()
  })
})
