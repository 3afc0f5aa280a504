import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { goAndFollow, openBrowser, openPage, withoutChromium } from '#test/support/browser.ts'
import { until } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { openWebServer } from '#test/support/web-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const ADA = { username: 'ada', email: 'ada@example.org', password: 'correct horse 1' }
/** Series with their tags and numbers of books. */
const SERIES = [
  { name: 'Atlas', tags: 'Sea', year: 1990, books: 1 },
  { name: 'Brine', tags: 'Sea, Folklore', year: 1995, books: 2 },
  { name: 'Cinder', tags: 'Folklore', year: 2001, books: 1 },
  { name: 'Dune Grass', tags: 'Trains', year: 2010, books: 1 },
  { name: 'Ember', tags: 'Trains', year: 2010, books: 1 },
]

async function writeBooks(t: Test): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'carrel-browse-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  for (const { name, tags, year, books } of SERIES) {
    await mkdir(path.join(folder, name))
    const info = `<ComicInfo><Series>${name}</Series><Tags>${tags}</Tags><Genre>Drama</Genre><Year>${year}</Year></ComicInfo>`
    for (let at = 1; at <= books; at++) {
      const data = await makePicture({ width: 400 + at + name.length, height: 600 })
      await writeFile(
        path.join(folder, name, `${name} ${at}.cbz`),
        buildZip([
          { name: 'ComicInfo.xml', data: Buffer.from(info) },
          { name: '1.jpg', data },
        ]),
      )
    }
  }
  return folder
}

/** A signed-in page of a server with scanned books. */
async function openLibrary(t: Test) {
  const books = await writeBooks(t)
  const { url, database, services } = await openWebServer(t, { books })
  await services.accounts.initialize(ADA)
  const [{ id: libraryId }] = await database('libraries').insert({ name: 'Shelf', path: books }, 'id')
  await services.scans.start(libraryId)
  await until(async () => {
    const rows: { analyzed_at: Date | null }[] = await database('books').select('analyzed_at')
    return rows.length === 6 && rows.every((row) => row.analyzed_at !== null)
  })
  const { page, complaints } = await openPage(await openBrowser(t), url)
  const data = { username: ADA.username, password: ADA.password, session: 'cookie' }
  await page.request.post(`${url}/api/v1/auth/login`, { data, headers: { origin: url } })
  return { url, page, complaints, libraryId: libraryId as string }
}

const mark = (page: Page, title: string) => page.getByRole('checkbox', { name: `Select ${title}` })
const bar = (page: Page) => page.getByRole('region', { name: 'Selection' })
const opened = (page: Page) => page.getByRole('gridcell').getByRole('link').first().waitFor()
const unread = async (page: Page, url: string): Promise<number> => {
  const condition = { readStatus: { operator: 'is', value: 'unread' } }
  const answer = await page.request.post(`${url}/api/v1/books/list`, { data: { condition }, headers: { origin: url } })
  return ((await answer.json()) as { total: number }).total
}

/** Keeps the answers of a search back until they are let go. */
async function holdSearch(page: Page, words: string): Promise<() => void> {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  await page.route(new RegExp(`/api/v1/search\\?q=${words}$`), async (route) => {
    await held
    await route.continue()
  })
  return letGo
}

t.test('Lists are selected, filtered by any condition, saved as views and pinned', { skip: withoutChromium() }, async (t) => {
  const { url, page, complaints, libraryId } = await openLibrary(t)

  await t.test('Marks, shift and keys select series, and the bar marks all their books as read', async (t) => {
    await page.goto(`${url}/series`)
    await opened(page)
    await mark(page, 'Atlas').click()
    await bar(page).getByText('1 of 5 selected').waitFor()
    await page
      .getByRole('gridcell')
      .getByRole('link', { name: 'Cinder' })
      .click({ modifiers: ['Shift'] })
    await bar(page).getByText('3 of 5 selected').waitFor()
    await page.getByRole('gridcell').getByRole('link', { name: 'Ember' }).click()
    await bar(page).getByText('4 of 5 selected').waitFor()
    t.equal(new URL(page.url()).pathname, '/series', 'while something is selected a click opens nothing')
    await bar(page).getByRole('button', { name: 'Mark as read' }).click()
    await page.getByText('4 series are marked as read').waitFor()
    t.equal(await unread(page, url), 1)
    await bar(page).waitFor({ state: 'hidden' })
  })

  await t.test('Ctrl+A selects all of the view by its condition, space takes one out, Escape ends it', async (t) => {
    await page.goto(`${url}/libraries/${libraryId}?of=books&view=table`)
    await opened(page)
    await page.keyboard.press('Control+a')
    await bar(page).getByText('6 of 6 selected').waitFor()
    await page.getByRole('gridcell').getByRole('link', { name: 'Atlas 1' }).focus()
    await page.keyboard.press(' ')
    await bar(page).getByText('5 of 6 selected').waitFor()
    await bar(page).getByRole('button', { name: 'Mark as unread' }).click()
    await page.getByText('5 books are marked as unread').waitFor()
    t.equal(await unread(page, url), 5)
    await page.getByRole('gridcell').getByRole('link').first().focus()
    await page.keyboard.press(' ')
    await page.keyboard.press('Shift+ArrowDown')
    await bar(page).getByText('2 of 6 selected').waitFor()
    await page.keyboard.press('Escape')
    await bar(page).waitFor({ state: 'hidden' })
  })

  await t.test('Selected series go into a new collection', async (t) => {
    await page.goto(`${url}/series`)
    await opened(page)
    await mark(page, 'Brine').click()
    await bar(page).getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Add to collection' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Salt')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('1 series added to “Salt”').waitFor()
    const { data } = (await (await page.request.get(`${url}/api/v1/collections`)).json()) as { data: { seriesCount: number }[] }
    t.match(data, [{ seriesCount: 1 }])
  })

  await t.test('A list that somebody else makes meanwhile does not change which one is chosen', async (t) => {
    await goAndFollow(page, `${url}/series`)
    await opened(page)
    await mark(page, 'Cinder').click()
    await bar(page).getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Add to collection' }).click()
    const lists = page.getByRole('dialog').getByRole('combobox')
    t.equal(await lists.locator('option:checked').textContent(), 'Salt')
    const { series } = (await (await page.request.get(`${url}/api/v1/search?q=brine`)).json()) as { series: { id: string }[] }
    const data = { name: 'Ashes', seriesIds: [series[0]?.id] }
    await page.request.post(`${url}/api/v1/collections`, { data, headers: { origin: url } })
    await lists.locator('option').filter({ hasText: 'Ashes' }).waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('1 series added to “Salt”').waitFor()
  })

  await t.test('The builder suggests values, counts matches, names faults, and its condition is in the address', async (t) => {
    await page.goto(`${url}/series`)
    await opened(page)
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    const panel = page.getByRole('dialog', { name: 'Filter' })
    await panel.getByRole('button', { name: 'Any' }).click()
    await panel.getByRole('button', { name: 'Condition', exact: true }).click()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.type('folk')
    await panel.getByRole('option', { name: /Folklore/ }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await panel.getByText('2 series').first().waitFor()
    await panel.getByRole('button', { name: 'Condition', exact: true }).click()
    await panel.getByLabel('Field').last().selectOption({ label: 'Year' })
    await panel.getByLabel('Comparison').last().selectOption({ label: 'is more than' })
    await panel.getByLabel('Value').last().fill('soon')
    await panel.getByText('Write a number, for example 30.').waitFor()
    await panel.getByRole('button', { name: /^Show/ }).click()
    t.ok(await panel.isVisible(), 'with a fault nothing is shown')
    await panel.getByLabel('Value').last().fill('2005')
    await panel.getByRole('button', { name: 'Show 4 series' }).click()
    await page.getByText('4 series', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('4 series', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Remove the filter Tag: Folklore or Year is more than 2005' }).waitFor()
  })

  await t.test('A view is saved, pinned to the home page, and opens by its own address', async (t) => {
    await page.getByRole('button', { name: 'Saved views' }).click()
    await page.getByRole('menuitem', { name: 'Save this view…' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Lore and late')
    await page.getByRole('checkbox', { name: 'Pin to the home page' }).check()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('heading', { name: 'Lore and late', level: 1 }).waitFor()
    await page.goto(url)
    await page.getByRole('region', { name: 'Lore and late' }).getByRole('link', { name: 'Cinder' }).waitFor()
    const { preferences } = (await (await page.request.get(`${url}/api/v1/user/preferences`)).json()) as {
      preferences: { key: string; value: { views: { id: string }[] } }[]
    }
    const id = preferences.find(({ key }) => key === 'web.views')?.value.views[0]?.id
    await page.goto(`${url}/views/${id}`)
    await page.getByRole('heading', { name: 'Lore and late', level: 1 }).waitFor()
    t.equal(new URL(page.url()).pathname, '/series')
    await page.goto(`${url}/views/nobody`)
    await page.getByRole('heading', { name: 'This view does not exist' }).waitFor()
  })

  await t.test('Shelves of the home page move and hide', async (t) => {
    await page.goto(url)
    await page.getByRole('button', { name: 'Arrange this page' }).click()
    await page.getByRole('button', { name: 'Move Lore and late up' }).focus()
    for (let step = 0; step < 6; step++) await page.keyboard.press('Enter')
    await page.getByRole('checkbox', { name: 'Recently updated' }).uncheck()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.reload()
    await page.getByRole('heading', { name: 'Recently added' }).waitFor()
    t.equal(await page.getByRole('main').getByRole('heading', { level: 2 }).first().innerText(), 'Lore and late')
    t.equal(await page.getByRole('heading', { name: 'Recently updated' }).count(), 0)
  })

  await t.test('Years and letters lead to their places; a filter with nonsense is said and left out', async (t) => {
    await page.goto(`${url}/books`)
    await page.getByRole('navigation', { name: 'Letters' }).getByRole('button', { name: /^C:/ }).click()
    await page.goto(`${url}/books?sort=release_date,desc`)
    await page.getByRole('navigation', { name: 'Years' }).getByRole('button', { name: 'Go to 1995' }).click()
    await until(async () => (await page.locator('[role="gridcell"] a[tabindex="0"]').first().innerText()).startsWith('Brine'))
    await page.goto(`${url}/books?where=%7B"color"%3A1%7D`)
    await page.getByText('This address has a filter that cannot be understood. It is left out.').waitFor()
    await page.getByRole('button', { name: 'Remove it' }).click()
    await page.getByText('6 books', { exact: true }).waitFor()
    t.equal(new URL(page.url()).search, '')
  })

  await t.test('Chips lead to a tag, a format and a year, and series have no format', async (t) => {
    await page.goto(`${url}/books`)
    const choose = async (chip: string, value: string) => {
      await page.getByRole('button', { name: chip, exact: true }).click()
      await page.getByRole('menuitem', { name: value, exact: true }).click()
    }
    await choose('Tag', 'Sea · 3')
    await page.getByText('3 books', { exact: true }).waitFor()
    await choose('Format', 'CBZ · 6')
    await choose('Year', '1995 · 2')
    await page.getByText('2 books', { exact: true }).waitFor()
    t.equal(new URL(page.url()).search, '?tag=Sea&format=cbz&year=1995')
    await page.getByRole('button', { name: 'Remove the filter Year: 1995' }).click()
    await page.getByText('3 books', { exact: true }).waitFor()
    await page.goto(`${url}/series`)
    await page.getByRole('button', { name: 'Year', exact: true }).click()
    const years = page.getByRole('menuitem')
    await years.first().waitFor()
    t.same(await years.allTextContents(), ['2010 · 2', '2001 · 1', '1995 · 1', '1990 · 1'], 'the newest first')
    t.equal(await page.getByRole('button', { name: 'Format', exact: true }).count(), 0)
    await page.keyboard.press('Escape')
  })

  await t.test('Enter means what is typed, although the answer for the text before is still shown', async (t) => {
    await page.goto(`${url}/search?q=atlas`)
    await page.getByRole('main').getByRole('link', { name: 'Atlas', exact: true }).first().waitFor()
    const letCinderGo = await holdSearch(page, 'cinder')
    await page.getByRole('searchbox').fill('cinder')
    await page.keyboard.press('Enter')
    letCinderGo()
    await page.getByRole('heading', { name: 'Cinder', level: 1 }).waitFor()
    await page.goBack()
    await page.getByRole('main').getByRole('link', { name: 'Cinder', exact: true }).first().waitFor()
    t.equal(new URL(page.url()).search, '?q=cinder', 'the way back leads to what was searched for')

    await page.goto(`${url}/books`)
    await opened(page)
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    const panel = page.getByRole('dialog', { name: 'Filter' })
    await panel.getByRole('button', { name: 'Condition', exact: true }).click()
    await panel.getByLabel('Field').selectOption({ label: 'Series' })
    const value = panel.getByLabel('Value', { exact: true })
    await value.fill('atlas')
    await panel.getByRole('option', { name: 'Atlas' }).waitFor()
    const letEmberGo = await holdSearch(page, 'ember')
    await value.fill('ember')
    await value.press('Enter')
    letEmberGo()
    await panel.getByRole('button', { name: 'Remove Ember' }).waitFor()
    t.equal(await panel.getByRole('button', { name: 'Remove Atlas' }).count(), 0)
  })

  await t.test('The table of a narrow window has room for titles, and marks when series are being selected', async (t) => {
    await page.setViewportSize({ width: 320, height: 640 })
    await page.goto(`${url}/series?view=table`)
    await opened(page)
    const title = page.getByRole('gridcell').getByRole('link', { name: 'Dune Grass' })
    t.ok(((await title.boundingBox())?.width ?? 0) > 60, 'the whole title is seen')
    t.notOk(await mark(page, 'Dune Grass').isVisible())
    await title.focus()
    await page.keyboard.press(' ')
    await bar(page).getByText('1 of 5 selected').waitFor()
    t.ok(await mark(page, 'Dune Grass').isVisible())
  })

  await t.test('A page is where it was on the way back, also in browsers without the event scrollend', async () => {
    await page.addInitScript(`addEventListener('scrollend', (event) => event.stopImmediatePropagation(), true)`)
    await page.setViewportSize({ width: 1200, height: 300 })
    const { data } = (await (await page.request.get(`${url}/api/v1/books`)).json()) as { data: { id: string }[] }
    await page.goto(`${url}/books/${data[0]?.id}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.evaluate('scrollTo(0, 120)')
    await until(async () => (await page.evaluate('scrollY')) === 120)
    // The page hears of it with the next frame, and a key may come before that.
    await page.evaluate('new Promise(requestAnimationFrame)')
    await page.getByRole('navigation', { name: 'Main', exact: true }).getByRole('link', { name: 'Collections' }).press('Enter')
    await page.getByRole('heading', { name: 'Collections', level: 1 }).waitFor()
    await page.goBack()
    await until(async () => (await page.evaluate('scrollY')) === 120)
  })

  t.same(complaints, [], 'no script fails, the policy forbids nothing, and no other server is asked')
})
