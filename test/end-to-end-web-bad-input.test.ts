import type { Page } from 'playwright-core'
import t from 'tap'
import { announce } from '#core/events/event-store.ts'
import { goAndFollow, withoutChromium } from '#test/support/browser.ts'
import { until } from '#test/support/library-fixture.ts'
import { addBook, addSeries } from '#test/support/library-rows.ts'
import { makePicture } from '#test/support/pictures.ts'
import { openReaders } from '#test/support/web-readers.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const LIBRARIES = 1000
/** Three pages of a list. */
const SERIES = 250
const YEAR_MS = 365 * 86_400_000

async function makeBooks(): Promise<Record<string, Uint8Array>> {
  const data = await makePicture({ width: 300, height: 450 })
  return { 'Tide/Tide.cbz': buildZip([1, 2, 3].map((number) => ({ name: `${number}.jpg`, data }))) }
}

const answer = (status: number, message: string) => ({
  status,
  contentType: 'application/json',
  body: JSON.stringify({ error: 'refused', message, requestId: `request-${status}` }),
})

/** What a proxy may answer in the place of the server, and what is said of it. */
const ANSWERS: readonly [string, object | null, words: string, requestId: string | null][] = [
  ['404', answer(404, 'It is gone.'), 'It is gone.', 'request-404'],
  ['412', answer(412, 'It was changed meanwhile.'), 'It was changed meanwhile.', 'request-412'],
  ['422', answer(422, 'That is no order.'), 'That is no order.', 'request-422'],
  ['429', answer(429, 'Too many requests.'), 'Too many requests.', 'request-429'],
  ['500 without words', { status: 500, body: '' }, 'The server answered with status 500 and no explanation.', null],
  ['503', answer(503, 'The server is busy.'), 'The server is busy.', 'request-503'],
  ['another page', { status: 200, contentType: 'text/html', body: '<h1>Sign in to the network</h1>' }, 'sent an answer that is not', null],
  ['half an answer', { status: 200, contentType: 'application/json', body: '{"data":[{"id":"' }, 'sent an answer that is not', null],
  ['none', null, 'The server cannot be reached.', null],
]

/** The titles of the list that are on the screen. The item with the focus stays in the document when it leaves. */
const titlesOf = (page: Page) =>
  page.evaluate(`[...document.querySelectorAll('[role="gridcell"]')].filter((cell) => {
    const { top, bottom } = cell.getBoundingClientRect()
    return bottom > 0 && top < innerHeight
  }).map((cell) => cell.querySelector('a')?.textContent ?? '')`) as Promise<string[]>

t.test('Pages say what the server, the browser and others did wrong, and go on', { skip: withoutChromium() }, async (t) => {
  const { url, database, browser, idOf, openDevice } = await openReaders(t, await makeBooks())
  const { page } = await openDevice()

  await t.test('A list that cannot be loaded says why, names the request, and shows after another try', async (t) => {
    for (const [name, instead, words, requestId] of ANSWERS) {
      await page.route('**/api/v1/series/list*', (route) => (instead ? route.fulfill(instead) : route.abort('connectionreset')))
      // A stream that opens loads again what has failed: later it would take the button away.
      await goAndFollow(page, `${url}/series`)
      const failure = page.getByRole('main').getByRole('alert').filter({ hasText: words })
      await failure.first().waitFor()
      if (requestId) await failure.getByText(`Request ${requestId}`).first().waitFor()
      await page.unroute('**/api/v1/series/list*')
      await failure.getByRole('button', { name: 'Retry' }).first().click()
      await page.getByRole('gridcell').getByRole('link', { name: 'Tide' }).waitFor()
      t.pass(name)
    }
  })

  await t.test('A server that is away for a while is said in a line, which goes when it is back', async () => {
    await page.goto(url)
    await page.getByRole('heading', { name: 'Recently added' }).waitFor()
    await page.route('**/api/v1/**', (route) => route.abort('connectionrefused'))
    await page.evaluate(`dispatchEvent(new Event('online'))`)
    await page.getByText(/^No connection to the server\./).waitFor()
    await page.getByRole('heading', { name: 'Recently added' }).waitFor()
    await page.unroute('**/api/v1/**')
    await page.getByText(/^No connection to the server\./).waitFor({ state: 'detached' })
  })

  await t.test('Where storage is refused and the clock is a year off, books are found and read', async (t) => {
    for (const off of [-YEAR_MS, YEAR_MS]) {
      const context = await browser.newContext()
      await context.addInitScript(`for (const name of ['localStorage', 'sessionStorage'])
        Object.defineProperty(window, name, { get() { throw new DOMException('The operation is insecure.', 'SecurityError') } })`)
      await context.clock.setSystemTime(Date.now() + off)
      const { page: strict, complaints } = await openDevice(context)
      await strict.goto(`${url}/series`)
      await strict.getByRole('gridcell').getByRole('link', { name: 'Tide' }).click()
      await strict.getByRole('heading', { level: 1, name: 'Tide' }).waitFor()
      await strict.goto(`${url}/books/${idOf('Tide')}/read?page=2`)
      await strict.getByRole('figure', { name: /^Pages? 2/ }).waitFor()
      await strict.goto(`${url}/history`)
      await strict.getByRole('heading', { level: 1 }).waitFor()
      t.same(complaints, [])
      await context.close()
    }
  })

  await t.test('Preferences of another version or of nonsense are as if there were none', async (t) => {
    const nonsense = [7, 'words', [], { views: 7, order: {}, hidden: 'all' }, { global: [], series: 'x', books: null, views: [{}] }]
    const { page: other, complaints } = await openDevice()
    for (const value of nonsense) {
      for (const key of ['web.home', 'web.views', 'web.reader.pages', 'web.reader.text', 'web.pace'])
        await other.request.put(`${url}/api/v1/user/preferences/${key}`, { data: { value }, headers: { origin: url } })
      await other.goto(url)
      await other.getByRole('heading', { name: 'Recently added' }).waitFor()
      await other.goto(`${url}/series?view=cube&size=-4&sort=&columns=,,&where=%7B`)
      await other.getByRole('gridcell').getByRole('link', { name: 'Tide' }).waitFor()
      await other.goto(`${url}/books/${idOf('Tide')}/read?page=x`)
      await other.getByRole('figure', { name: /^Page/ }).first().waitFor()
    }
    t.same(complaints, [])
  })

  await t.test('A list that changes while it is scrolled shows no row twice and loses none', async (t) => {
    const { id: libraryId } = await database('libraries').first('id')
    const add = async (title: string) => {
      const seriesId = await addSeries(database, { library_id: libraryId, title })
      await addBook(database, { library_id: libraryId, series_id: seriesId, title })
      return seriesId
    }
    const titleOf = (number: number) => `Row ${String(number).padStart(3, '0')}`
    for (let number = 0; number < SERIES; number++) await add(titleOf(number))
    await goAndFollow(page, `${url}/series?view=list`)
    // The rows on the screen, once all of them are there: one after the other.
    const numbersAt = async (share: number) => {
      await page.evaluate(`scrollTo(0, document.documentElement.scrollHeight * ${share})`)
      return await until(async () => {
        const numbers = (await titlesOf(page)).flatMap((title) => /^Row (\d+)$/.exec(title)?.slice(1).map(Number) ?? [])
        return numbers.length > 5 && numbers.every((each, at) => at === 0 || each === numbers[at - 1]! + 1) && numbers
      })
    }
    await until(async () => (await titlesOf(page)).includes(titleOf(0)))
    for (const share of [0.3, 0.7]) t.ok((await numbersAt(share)).length > 5)
    const added = await add('Aardvark')
    await database.transaction((trx) => announce(trx, [{ event: { type: 'series_created', seriesId: added, libraryId } }]))
    await page
      .getByText(`${SERIES + 2} series`, { exact: true })
      .first()
      .waitFor()
    for (const share of [0.7, 0.45, 0.3]) t.ok((await numbersAt(share)).length > 5)
    await numbersAt(0)
    // What was read before is shown until the answer is here.
    await until(async () => (await titlesOf(page))[0] === 'Aardvark')
  })

  await t.test('A thousand libraries are found by their names, and a page says so to somebody who sees none', async (t) => {
    const rows = Array.from({ length: LIBRARIES }, (_, at) => ({ name: `Many ${at}`, path: `/many/${at}` }))
    await database('libraries').insert(rows)
    await page.goto(`${url}/admin/libraries`)
    await page.getByText('The first 40 of 1,001 are shown.').waitFor()
    await page.getByRole('searchbox', { name: 'Find a library' }).fill('many 777')
    await page.getByRole('button', { name: 'More for Many 777' }).waitFor()
    t.equal(await page.getByRole('button', { name: /^More for / }).count(), 1)
    await page.getByRole('navigation').getByRole('link', { name: 'Administration' }).scrollIntoViewIfNeeded()
    await page
      .getByRole('navigation')
      .getByRole('link', { name: /^All libraries/ })
      .click()
    await page
      .getByRole('main')
      .getByRole('link', { name: /^Many 999/ })
      .waitFor()
    await database('libraries').where('path', 'like', '/many/%').delete()

    const eve = { username: 'eve', email: 'eve@example.org', password: 'correct horse 2', role: 'reader' }
    const made = (await (await page.request.post(`${url}/api/v1/users`, { data: eve, headers: { origin: url } })).json()) as { id: string }
    const access = { allLibraries: false, libraryIds: [], age: null }
    await page.request.put(`${url}/api/v1/users/${made.id}/access`, { data: access, headers: { origin: url } })
    const { page: hers } = await openDevice(await browser.newContext())
    const data = { username: eve.username, password: eve.password, session: 'cookie' }
    await hers.request.post(`${url}/api/v1/auth/login`, { data, headers: { origin: url } })
    await hers.goto(`${url}/libraries`)
    await hers.getByText('No library is shared with you yet.').waitFor()
    await hers.goto(`${url}/series`)
    await hers.getByRole('main').getByRole('heading', { level: 2 }).waitFor()
  })
})
