import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { accessibilityFaults, sidewaysPixels } from '#test/support/accessibility.ts'
import { openBrowser, openPage, withoutChromium } from '#test/support/browser.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { until } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { openPrefixProxy } from '#test/support/prefix-proxy.ts'
import { openWebServer } from '#test/support/web-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const ADA = { username: 'ada', email: 'ada@example.org', password: 'correct horse 1' }
const PAGES = 6

async function writeBooks(t: Test): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'carrel-web-books-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const library = path.join(folder, 'Manga')
  await mkdir(path.join(library, 'The Tidekeeper'), { recursive: true })
  await mkdir(path.join(library, 'Novels'))
  const pictures = await Promise.all(Array.from({ length: PAGES }, (_, index) => makePicture({ width: 600 + index, height: 900 })))
  const comic = buildZip(pictures.map((data, index) => ({ name: `page${index + 1}.jpg`, data })))
  for (const volume of [1, 2]) await writeFile(path.join(library, 'The Tidekeeper', `The Tidekeeper v0${volume}.cbz`), comic)
  await writeFile(path.join(library, 'Novels', 'Fog.epub'), buildEpub())
  await writeFile(path.join(library, 'Novels', 'Broken.cbz'), 'this is no archive')
  return folder
}

/** Asks the API as the page does, with its session. */
const askAs = async <T>(page: Page, url: string, address: string): Promise<T> => (await (await page.request.get(url + address)).json()) as T

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Name or e-mail address').fill(ADA.username)
  await page.getByLabel('Password', { exact: true }).fill(ADA.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** For the pages without the frame; other tests look at the others. At the end the page has the size that it had before. */
async function lookAt(t: Test, page: Page, what: string): Promise<void> {
  for (const size of [
    { width: 320, height: 640 },
    { width: 1200, height: 800 },
  ]) {
    await page.setViewportSize(size)
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      t.same(await accessibilityFaults(page), [], `${what}, ${size.width} pixels, ${colorScheme}`)
    }
    t.equal(await sidewaysPixels(page), 0, `${what}, ${size.width} pixels`)
  }
}

async function setUp(t: Test) {
  const books = await writeBooks(t)
  const { url } = await openWebServer(t, { books })
  const browser = await openBrowser(t)
  const { page, complaints } = await openPage(browser, url)
  await page.goto(url)
  await page.getByRole('button', { name: 'Create account' }).waitFor()
  await lookAt(t, page, 'the first account')
  await page.getByLabel('Name').fill(ADA.username)
  await page.getByLabel('E-mail address').fill(ADA.email)
  await page.getByLabel('Password', { exact: true }).fill(ADA.password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Your first library' }).waitFor()
  return { url, books, browser, page, complaints }
}

t.test(
  'A browser sets the server up, signs in and out, browses, reads, and contacts nobody else',
  { skip: withoutChromium() },
  async (t) => {
    const { url, books, browser, page, complaints } = await setUp(t)

    await t.test('The folder shows what becomes of it, and the scan brings covers and names what could not be read', async (t) => {
      await page.getByRole('button', { name: books }).click()
      await page.getByRole('button', { name: 'Manga' }).click()
      await page.getByText('4 files, looked at just now').waitFor()
      t.equal(await page.getByLabel('Name').inputValue(), 'Manga', 'the library is named after its folder')
      await page.getByRole('region', { name: 'What this folder becomes' }).getByText('The Tidekeeper', { exact: true }).waitFor()
      await lookAt(t, page, 'the first library')
      await page.getByRole('button', { name: 'Add and scan' }).click()
      await page.getByRole('heading', { name: 'Manga is scanned' }).waitFor()
      await page.getByText('Broken', { exact: true }).first().waitFor()
      await page.locator('img[src*="/thumbnail"]').first().waitFor()
      await lookAt(t, page, 'the first scan')
    })

    await t.test('The pages of the frame show the library, and an unknown address says so', async (t) => {
      await page.getByRole('link', { name: 'Start reading' }).click()
      await page.getByRole('heading', { name: 'Recently added' }).waitFor()
      // It follows the heading of the page with the next frame.
      await until(async () => (await page.title()) === 'Home · Carrel')
      await page.getByRole('navigation', { name: 'Main', exact: true }).getByRole('link', { name: 'Manga' }).click()
      await page.getByText('The Tidekeeper').first().waitFor()
      t.equal(await page.evaluate('document.activeElement.tagName'), 'MAIN', 'the focus follows to the new page')
      const response = await page.goto(`${url}/nothing/here`)
      t.equal(response?.status(), 404)
      await page.getByRole('heading', { name: 'There is no page at this address' }).waitFor()
      await page.getByRole('link', { name: 'To the home page' }).click()
      await page.getByRole('heading', { name: 'Recently added' }).waitFor()
    })

    await t.test('A comic is read, and the place is kept', async (t) => {
      const { data } = await askAs<{ data: { id: string; title: string; pageCount: number }[] }>(page, url, '/api/v1/books?pageSize=50')
      const comic = data.find((book) => book.pageCount === PAGES)
      t.ok(comic)
      await page.goto(`${url}/books/${comic?.id}/read`)
      await page.locator('main img').first().waitFor()
      // Null before the first page was left.
      const readPlace = async () =>
        (await askAs<{ currentPage: number } | null>(page, url, `/api/v1/books/${comic?.id}/progress`))?.currentPage ?? 1
      let place = 1
      for (let turn = 0; turn < 2; turn++) {
        const before = place
        await page.keyboard.press('ArrowRight')
        do {
          await page.waitForTimeout(100) // Until the place has been sent.
          place = await readPlace()
        } while (place === before)
        t.ok(place > before, `page ${place} after page ${before}`)
      }
    })

    await t.test('An ended session asks for the password over the page, and signing out ends it in all tabs', async (t) => {
      await page.goto(url)
      await page.getByRole('heading', { name: 'Keep reading' }).waitFor()
      const { page: other, complaints: others } = await openPage(page.context(), url)
      await page.context().clearCookies()
      await page.getByRole('navigation', { name: 'Main', exact: true }).getByRole('link', { name: 'Manga' }).click()
      await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
      await page.getByLabel('Password for ada').fill(ADA.password)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      await page.getByText('The Tidekeeper').first().waitFor()

      await other.goto(url)
      await other.getByRole('button', { name: 'ada: account' }).click()
      await other.getByRole('menuitem', { name: 'Sign out' }).click()
      for (const each of [other, page]) await each.getByLabel('Name or e-mail address').waitFor()
      await page.getByLabel('Name or e-mail address').fill(ADA.username)
      await page.getByLabel('Password', { exact: true }).fill('a wrong one')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('The user name or the password is wrong.').waitFor()
      await lookAt(t, page, 'signing in')
      await page.getByLabel('Password', { exact: true }).fill(ADA.password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      for (const each of [other, page]) await each.getByRole('button', { name: 'ada: account' }).waitFor()
      t.same(others, [])
    })

    await t.test('A page of an old build that misses a file loads itself again', async (t) => {
      // Counted when it is asked for: its files may be asked for before it is loaded.
      let documents = 0
      page.on('request', (request) => {
        if (request.isNavigationRequest()) documents++
      })
      await page.route(/\/assets\/collections-page/, (route) => (documents === 0 ? route.fulfill({ status: 404 }) : route.continue()))
      await page.getByRole('navigation', { name: 'Main', exact: true }).getByRole('link', { name: 'Collections' }).click()
      await page.getByRole('heading', { name: 'Collections', level: 1 }).waitFor()
      t.equal(documents, 1)
    })

    await t.test('Everything works below a path of a proxy that says nothing about itself', async (t) => {
      const below = await openPrefixProxy(t, url, '/home/library')
      const { page: behind, complaints: others } = await openPage(browser, below)
      await behind.goto(`${below}/series?sort=name`)
      await signIn(behind)
      await behind.getByText('The Tidekeeper').first().waitFor()
      await behind.getByRole('navigation', { name: 'Main', exact: true }).getByRole('link', { name: 'Home' }).click()
      await behind.getByRole('heading', { name: 'Recently added' }).waitFor()
      t.equal(behind.url(), `${below}/`)
      await behind.locator('img[src*="/thumbnail"]').first().waitFor()
      t.same(others, [])
    })

    await t.test('Where administrators allow it, a stranger makes an account and is signed in', async (t) => {
      const setting = `${url}/api/v1/admin/settings/auth.registration_enabled`
      const changed = await page.request.put(setting, { data: { value: 'true' }, headers: { origin: url } })
      t.ok(changed.ok(), await changed.text())
      const { page: stranger, complaints: others } = await openPage(browser, url)
      await stranger.goto(url)
      await stranger.getByRole('link', { name: 'Create an account' }).click()
      await lookAt(t, stranger, 'a new account')
      await stranger.getByLabel('Name').fill('rita')
      await stranger.getByLabel('E-mail address').fill('rita@example.org')
      await stranger.getByLabel('Password', { exact: true }).fill('rita has a password')
      // Somebody looks up a password in another window, and comes back.
      const asked = stranger.waitForResponse(/\/auth\/me$/)
      await stranger.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
      await asked
      t.equal(await stranger.getByLabel('Name').inputValue(), 'rita', 'what was typed stays')
      await stranger.getByRole('button', { name: 'Create account' }).click()
      await stranger.getByRole('button', { name: 'rita: account' }).waitFor()
      t.same(others, [])
    })

    t.same(complaints, [], 'no script fails, the policy forbids nothing that a page does, and no other server is asked')
  },
)
