import type { Page, Route } from 'playwright-core'
import t from 'tap'
import { withoutChromium } from '#test/support/browser.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { until } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { chapterOf, openReaders } from '#test/support/web-readers.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const PAGES = 30

const chapter = (name: string): string =>
  `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head><body><h1>${name}</h1>` +
  Array.from({ length: 40 }, (_, at) => `<p>${name} ${at}. ${'The two barometers had not agreed since the winter. '.repeat(6)}</p>`).join(
    '',
  ) +
  '</body></html>'

async function makeBooks(): Promise<Record<string, Uint8Array>> {
  const ids = ['c1', 'c2', 'c3']
  const picture = await makePicture({ width: 600, height: 900 })
  return {
    'Tide/Tide.cbz': buildZip(Array.from({ length: PAGES }, (_, at) => ({ name: `p${100 + at}.jpg`, data: picture }))),
    'Novel/Novel.epub': buildEpub({
      metadata: '<dc:title>Novel</dc:title><dc:language>en</dc:language>',
      manifest: ids.map((id) => `<item id="${id}" href="${id}.xhtml" media-type="application/xhtml+xml"/>`).join(''),
      spine: ids.map((id) => `<itemref idref="${id}"/>`).join(''),
      files: { 'c1.xhtml': chapter('First'), 'c2.xhtml': chapter('Second'), 'c3.xhtml': chapter('Third') },
    }),
  }
}

const answer = (status: number, message: string) => (route: Route) =>
  route.fulfill({
    status,
    contentType: 'application/json',
    headers: { 'Retry-After': '1' },
    body: JSON.stringify({ error: 'refused', message, requestId: `request-${status}` }),
  })

const figure = (page: Page, name: string) => page.getByRole('figure', { name, exact: true })

/** The box of the spread on screen. */
const boxOf = async (page: Page) => (await page.locator('.spread').boundingBox()) ?? { x: 0, width: 0 }

/** Sends what fingers do to a page. */
async function openTouch(page: Page) {
  const devtools = await page.context().newCDPSession(page)
  return (type: 'touchStart' | 'touchMove' | 'touchEnd', ...touchPoints: { x: number; y: number; id: number }[]) =>
    devtools.send('Input.dispatchTouchEvent', { type, touchPoints })
}

t.test('Readers say what failed while a book is read, and go on when it can go on', { skip: withoutChromium() }, async (t) => {
  const { url, idOf, openDevice, browser, database } = await openReaders(t, await makeBooks())
  const { page } = await openDevice()
  const read = (name: string) => page.goto(`${url}/books/${idOf(name)}/read`)
  const progress = async (name: string) =>
    (await (await page.request.get(`${url}/api/v1/books/${idOf(name)}/progress`)).json()) as { currentPage: number } | null

  await t.test('A page that the server refuses, or whose answer is cut, says why and can be asked for again', async () => {
    await read('Tide')
    await page.keyboard.press('1')
    await page.getByRole('img', { name: /^Page 1 of 30/ }).waitFor()
    for (const [number, words, fail] of [
      [20, 'The server is busy.', answer(503, 'The server is busy.')],
      [25, 'Too many requests.', answer(429, 'Too many requests.')],
      [12, 'The server cannot be reached', (route: Route) => route.abort('connectionreset')],
    ] as const) {
      const pages = `**/pages/${number}?*`
      await page.route(pages, fail)
      await page.keyboard.press('g')
      await page.getByRole('textbox', { name: 'Go to page' }).fill(String(number))
      await page.keyboard.press('Enter')
      const broken = page.getByRole('region', { name: `Page ${number}` })
      await broken.getByText(words).waitFor()
      if (fail !== undefined && number !== 12) await broken.getByText(`Request request-${number === 20 ? 503 : 429}`).waitFor()
      await page.unroute(pages)
      await broken.getByRole('button', { name: 'Retry' }).click()
      await page.getByRole('img', { name: new RegExp(`^Page ${number} of`) }).waitFor()
    }
  })

  await t.test('Without a connection pages that are there can be turned, and the place is sent when it is back', async (t) => {
    await page.keyboard.press('Home')
    await page.getByRole('img', { name: /^Page 1 of 30/ }).waitFor()
    await until(async () => (await progress('Tide'))?.currentPage === 1)
    await page.context().setOffline(true)
    await page.keyboard.press('ArrowRight')
    await page.getByText('No connection. Your place is kept on this device and sent later.').waitFor()
    t.match(await progress('Tide'), { currentPage: 1 })
    await page.context().setOffline(false)
    await until(async () => (await progress('Tide'))?.currentPage === 2)
  })

  await t.test('A chapter that the server refuses says why, and shows after another try', async () => {
    await page.route('**/resource/OPS/c2.xhtml*', answer(429, 'Too many requests.'))
    await read('Novel')
    await chapterOf(page, 'First 0.')
    const next = page.getByRole('button', { name: 'Next chapter', includeHidden: true })
    await next.dispatchEvent('click')
    const broken = page.getByRole('alert').filter({ hasText: 'This chapter cannot be shown' })
    await broken.getByText('Too many requests.').waitFor()
    await broken.getByText('Request request-429').waitFor()
    await page.unroute('**/resource/OPS/c2.xhtml*')
    await broken.getByRole('button', { name: 'Retry' }).click()
    await chapterOf(page, 'Second 0.')
  })

  await t.test('A session that ended asks for the password over the page, and the chapter shows afterwards', async () => {
    await page.request.post(`${url}/api/v1/auth/logout`, { headers: { origin: url } })
    await page.getByRole('button', { name: 'Next chapter', includeHidden: true }).dispatchEvent('click')
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.getByRole('textbox', { name: /^Password/ }).fill('correct horse 1')
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click()
    await dialog.waitFor({ state: 'hidden' })
    await chapterOf(page, 'Third 0.')
  })

  await t.test('A book that was deleted while it was read says so, and there is a way out', async () => {
    await page.route('**/resource/**', answer(404, 'There is no such book.'))
    const gone = page.getByRole('alert').getByText('There is no such book.')
    // The reader hears keys again when the dialog has given the focus back.
    await until(async () => {
      await page.keyboard.press('Home')
      return await gone.waitFor({ timeout: 3000 }).then(
        () => true,
        () => false,
      )
    })
    await page.getByRole('link', { name: 'Novel' }).waitFor()
    await page.unroute('**/resource/**')
    await database('books').where('id', idOf('Novel')).del()
    await page.reload()
    await page.getByRole('heading', { name: 'This book cannot be opened' }).waitFor()
    await page.getByText(/^Request /).waitFor()
    await page.getByRole('link', { name: 'To the home page' }).waitFor()
  })

  await t.test('Two fingers enlarge a page, one moves it, and two taps set it back or enlarge it there', async (t) => {
    const context = await browser.newContext({ viewport: { width: 400, height: 700 }, hasTouch: true })
    const { page: phone } = await openDevice(context)
    await phone.goto(`${url}/books/${idOf('Tide')}/read?page=3`)
    await phone.getByRole('img', { name: /^Page 3 of 30/ }).waitFor()
    const touch = await openTouch(phone)
    const pair = (apart: number) => [
      { x: 200 - apart, y: 350, id: 1 },
      { x: 200 + apart, y: 350, id: 2 },
    ]
    const whole = await boxOf(phone)
    const scaleOf = async () => (await boxOf(phone)).width / whole.width
    await touch('touchStart', ...pair(40))
    for (const apart of [50, 70, 90, 120]) await touch('touchMove', ...pair(apart))
    await touch('touchEnd')
    await until(async () => Math.abs((await scaleOf()) - 3) < 0.2)
    const { x } = await boxOf(phone)
    await touch('touchStart', { x: 200, y: 300, id: 3 })
    for (const to of [215, 240, 260]) await touch('touchMove', { x: to, y: 300, id: 3 })
    await touch('touchEnd')
    await until(async () => (await boxOf(phone)).x > x + 30)
    t.ok(Math.abs((await scaleOf()) - 3) < 0.2, 'moving does not change the size')
    await figure(phone, 'Page 3').waitFor()
    // Two taps that come too slowly are no pair, and are tried again.
    const tapTwice = (scale: number) =>
      until(async () => {
        for (let tap = 0; tap < 2; tap++) {
          await touch('touchStart', { x: 220, y: 330, id: 4 })
          await touch('touchEnd')
        }
        const isReached = async () => Math.abs((await scaleOf()) - scale) < 0.05
        return await until(isReached, 5_000).catch(() => false)
      })
    await tapTwice(1)
    await tapTwice(2.5)
    await context.close()
  })

  await t.test('Pairs moved by one, and turned pages, are kept for the book', async () => {
    await read('Tide')
    await page.getByRole('img', { name: /^Page 2 of 30/ }).waitFor()
    await page.keyboard.press('2')
    await page.keyboard.press('Home')
    await figure(page, 'Page 1').waitFor()
    await page.keyboard.press('o')
    await figure(page, 'Pages 1–2').waitFor()
    await page.keyboard.press('r')
    await page.locator('.page-box[data-angle="90"]').first().waitFor()
    await until(async () => {
      const kept = await page.request.get(`${url}/api/v1/user/preferences/web.reader.pages`)
      return kept.ok() && (await kept.text()).includes('"rotation":"90"')
    })
    await page.reload()
    await page.locator('.page-box[data-angle="90"]').first().waitFor()
    await page.keyboard.press('r')
    await page.keyboard.press('r')
    await page.keyboard.press('r')
    await figure(page, 'Pages 1–2').waitFor()
  })

  await t.test('A strip is made wider by keys, by ctrl and the wheel, and by two fingers, and stays at its place', async (t) => {
    const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, hasTouch: true })
    const { page: tablet } = await openDevice(context)
    const touch = await openTouch(tablet)
    const picture = tablet.getByRole('img', { name: /^Page 5 of 30/ })
    await tablet.goto(`${url}/books/${idOf('Tide')}/read?page=5`)
    await picture.waitFor()
    await tablet.keyboard.press('3')
    const sheet = tablet.locator('.strip li').filter({ has: picture })
    await sheet.waitFor()
    const boxOfSheet = async () => (await sheet.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    const usual = (await boxOfSheet()).width
    const reach = (scale: number) => until(async () => Math.abs((await boxOfSheet()).width / usual - scale) < 0.05)
    /** Which part of the page is in the middle of the screen. */
    const middle = async () => {
      const { x, y, width, height } = await boxOfSheet()
      return { across: (500 - x) / width, down: (400 - y) / height }
    }
    const { down: place } = await middle()
    const isAtPlace = async (words: string) => {
      const { across, down } = await middle()
      t.ok(Math.abs(across - 0.5) < 0.01 && Math.abs(down - place) < 0.01, `${words}: ${across} across, ${down} down after ${place}`)
    }
    await tablet.keyboard.press('+')
    await reach(1.25)
    await isAtPlace('a key')
    await tablet.mouse.move(500, 400)
    await tablet.keyboard.down('Control')
    await tablet.mouse.wheel(0, -120)
    await tablet.keyboard.up('Control')
    await reach(1.25 * Math.exp(120 / 300))
    await isAtPlace('the wheel')
    await tablet.keyboard.press('0')
    await reach(1)
    await isAtPlace('set back')
    const pair = (apart: number) => [
      { x: 500 - apart, y: 400, id: 1 },
      { x: 500 + apart, y: 400, id: 2 },
    ]
    await touch('touchStart', ...pair(50))
    for (const apart of [60, 80, 120, 150]) await touch('touchMove', ...pair(apart))
    await touch('touchEnd')
    await reach(3)
    await isAtPlace('two fingers')
    await context.close()
  })
})
