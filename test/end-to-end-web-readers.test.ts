import type { Page } from 'playwright-core'
import t from 'tap'
import { withoutChromium } from '#test/support/browser.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { until } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { chapterOf, openReaders } from '#test/support/web-readers.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const PAGES = 7
const WORDS = 'Every evening at six the archivist went down to the cellar and asked the two barometers what they remembered. '

const chapter = (title: string): string =>
  `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>${title}</title><script>top.ran = true</script></head><body onload="top.ran = true">` +
  `<h1>${title}</h1><p><a href="https://stranger.example/page">another site</a></p>` +
  Array.from({ length: 40 }, (_, at) => `<p>${title} ${at}. ${WORDS.repeat(3)}</p>`).join('') +
  `</body></html>`

async function makeBooks(): Promise<Record<string, Uint8Array>> {
  const pictures = await Promise.all(Array.from({ length: PAGES }, (_, index) => makePicture({ width: 600 + index, height: 900 })))
  const comic = buildZip(pictures.map((data, index) => ({ name: `page${index + 1}.jpg`, data })))
  const novel = buildEpub({
    metadata: '<dc:title>Novel</dc:title><dc:language>en</dc:language>',
    manifest: ['c1', 'c2'].map((id) => `<item id="${id}" href="${id}.xhtml" media-type="application/xhtml+xml"/>`).join(''),
    spine: '<itemref idref="c1"/><itemref idref="c2"/>',
    files: { 'c1.xhtml': chapter('First'), 'c2.xhtml': chapter('Second') },
  })
  const tanka = buildEpub({
    metadata: '<dc:title>Tanka</dc:title><dc:language>ja</dc:language>',
    manifest:
      '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/>' +
      ['book', 'vertical'].map((id) => `<item id="${id}" href="${id}.css" media-type="text/css"/>`).join(''),
    spine: '<itemref idref="c1"/>',
    files: {
      'c1.xhtml': `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title><link rel="stylesheet" href="book.css"/></head><body><p>Tanka 0.</p></body></html>`,
      'book.css': '@import "vertical.css"; p { color: #300 }',
      'vertical.css': 'html { -epub-writing-mode: vertical-rl }',
    },
  })
  const sheet = buildZip(pictures.slice(0, 1).map((data) => ({ name: 'page1.jpg', data })))
  const comics = { 'Tide/Tide 1.cbz': comic, 'Tide/Tide 2.cbz': comic, 'Sheet/Sheet.cbz': sheet }
  return { ...comics, 'Novel/Novel.epub': novel, 'Tanka/Tanka.epub': tanka }
}

/** The addresses to which a page sends places from now on. */
function placesOf(page: Page): string[] {
  const sent: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'PUT' && /\/(progress|progression)$/.test(request.url())) sent.push(request.url())
  })
  return sent
}

/** Goes to the series from a reader whose bars show, as they do until the first turn. */
async function leave(page: Page): Promise<void> {
  await page.locator('.rbar-back a').click()
  await page.locator('main.reader').waitFor({ state: 'detached' })
  await page.getByRole('heading', { level: 1 }).first().waitFor()
}

type Progress = { currentPage: number; completed: boolean } | null
const progressOf = async (page: Page, url: string, bookId: string): Promise<Progress> =>
  (await (await page.request.get(`${url}/api/v1/books/${bookId}/progress`)).json()) as Progress

t.test('The readers of the web interface keep the place of a book on all devices', { skip: withoutChromium() }, async (t) => {
  const { url, idOf, openDevice } = await openReaders(t, await makeBooks())
  const { page, complaints } = await openDevice()
  const { page: other, complaints: others } = await openDevice()
  const recorded = (bookId: string, expected: number) => until(async () => (await progressOf(page, url, bookId))?.currentPage === expected)
  const spread = (of: Page, label: string) => of.getByRole('figure', { name: label }).waitFor()

  await t.test('A comic goes on where it was left, and asks when another device read further', async (t) => {
    const comic = idOf('Tide 1')
    await page.goto(`${url}/books/${comic}/read`)
    await spread(page, 'Page 1')
    t.equal(await progressOf(page, url, comic), null, 'the first page alone does not begin a book')
    await page.keyboard.press('ArrowRight')
    await spread(page, 'Pages 2–3')
    await recorded(comic, 2)
    await other.goto(`${url}/books/${comic}/read`)
    await spread(other, 'Pages 2–3')
    await other.keyboard.press('ArrowRight')
    await recorded(comic, 4)
    await page.keyboard.press('End')
    await page.getByRole('dialog', { name: 'Continue at page 4?' }).waitFor()
    await page.getByRole('button', { name: 'Continue at 4' }).click()
    await spread(page, 'Pages 4–5')
    t.match(await progressOf(page, url, comic), { currentPage: 4, completed: false })
  })

  await t.test('After the last page comes the next book, and the one before is finished', async (t) => {
    await page.keyboard.press('End')
    await spread(page, 'Pages 6–7')
    await recorded(idOf('Tide 1'), 7)
    await page.keyboard.press('ArrowRight')
    await page.getByRole('link', { name: 'Read Tide 2' }).click()
    await spread(page, 'Page 1')
    t.equal(new URL(page.url()).pathname, `/books/${idOf('Tide 2')}/read`)
    t.match(await progressOf(page, url, idOf('Tide 1')), { completed: true })
  })

  await t.test('A comic that is only opened in pairs keeps its page, and is finished once the reader goes on from its end', async (t) => {
    const comic = idOf('Tide 2')
    const places = placesOf(page)
    for (const [currentPage, label] of [
      [3, 'Pages 2–3'],
      [6, 'Pages 6–7'],
    ] as const) {
      await page.request.put(`${url}/api/v1/books/${comic}/progress`, { data: { currentPage }, headers: { origin: url } })
      await page.goto(`${url}/books/${comic}/read`)
      await spread(page, label)
      await leave(page)
      t.match(await progressOf(page, url, comic), { currentPage, completed: false })
    }
    await page.goto(`${url}/books/${comic}/read?page=7`)
    await spread(page, 'Pages 6–7')
    t.same(places, [])
    await page.keyboard.press('ArrowRight')
    await recorded(comic, 7)
    t.match(await progressOf(page, url, comic), { completed: true })
  })

  await t.test('A book of one page is finished by going on, and stays unread once its end card marks it so', async (t) => {
    const sheet = idOf('Sheet')
    await page.goto(`${url}/books/${sheet}/read`)
    await spread(page, 'Page 1')
    await page.keyboard.press('ArrowRight')
    await until(async () => (await progressOf(page, url, sheet))?.completed === true)
    await page.getByRole('button', { name: 'Mark as unread' }).click()
    await page.getByText('Marked as unread').waitFor()
    const places = placesOf(page)
    await page.getByRole('link', { name: 'Back to the series' }).click()
    await page.locator('main.reader').waitFor({ state: 'detached' })
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    t.same(places, [])
    t.equal(await progressOf(page, url, sheet), null)
  })

  await t.test('A text goes on at the same words, runs no script, and asks before it leaves', async (t) => {
    const novel = idOf('Novel')
    await page.goto(`${url}/books/${novel}/read`)
    const first = await chapterOf(page, 'First 0.')
    await first.getByRole('link', { name: 'another site' }).click()
    await page.getByRole('dialog', { name: 'Open stranger.example?' }).waitFor()
    await page.getByRole('button', { name: 'Stay in the book' }).click()
    t.equal(await page.evaluate('window.ran'), undefined)
    await page.keyboard.press('ArrowRight')
    await until(async () => (await progressOf(page, url, novel)) !== null)
    const { locator } = (await (await page.request.get(`${url}/api/v1/books/${novel}/progression`)).json()) as {
      locator: { text: { highlight: string } }
    }
    await other.goto(`${url}/books/${novel}/read`)
    await other.locator('foliate-paginator').waitFor({ state: 'attached' })
    await other.getByText('Page 1 of').or(other.getByText('Page 2 of')).first().waitFor()
    t.match(locator.text.highlight, /\w+ \w+ \w+/)
    const bookmarked = other.getByRole('button', { name: 'Bookmark (B)', pressed: true })
    // A key that comes before the text has its place does nothing.
    for (let tries = 0; tries < 3 && (await bookmarked.count()) === 0; tries++) {
      await other.keyboard.press('b')
      await bookmarked.waitFor({ timeout: 10_000 }).catch(() => {})
    }
    t.equal(await bookmarked.count(), 1)
  })

  await t.test('A finished text that is only opened, also at a chapter and on another screen, stays finished', async (t) => {
    const novel = idOf('Novel')
    const isFinished = async () => (await progressOf(page, url, novel))?.completed
    await page.request.post(`${url}/api/v1/books/${novel}/read`, { headers: { origin: url } })
    const { readingOrder } = (await (await page.request.get(`${url}/api/v1/books/${novel}/manifest`)).json()) as {
      readingOrder: { href: string }[]
    }
    const places = placesOf(page)
    for (const [search, words] of [
      ['', 'First 0.'],
      [`?chapter=${encodeURIComponent(readingOrder[1]?.href ?? '')}`, 'Second 0.'],
    ] as const) {
      await page.goto(`${url}/books/${novel}/read${search}`)
      const chapter = await chapterOf(page, words)
      // As the renderer lays it out for the screen.
      const readHeight = () => chapter.evaluate('document.documentElement.style.height')
      const height = await readHeight()
      await page.setViewportSize({ width: 700, height: 900 })
      await until(async () => (await readHeight()) !== height)
      await page.setViewportSize({ width: 1200, height: 800 })
      await leave(page)
      t.equal(await isFinished(), true, words)
    }
    t.same(places, [])
    await page.goto(`${url}/books/${novel}/read`)
    await chapterOf(page, 'First 0.')
    await page.keyboard.press('ArrowRight')
    await until(async () => (await isFinished()) === false)
  })

  await t.test('A browser without the names of EPUB 3.0 gets what they say of the writing with plain names', async (t) => {
    // As Firefox answers.
    await page.addInitScript(`const { supports } = CSS; CSS.supports = (...of) => !of[0].startsWith('-epub-') && supports.apply(CSS, of)`)
    await page.goto(`${url}/books/${idOf('Tanka')}/read`)
    // Beside those for highlights, before or after them.
    const rules = `Array.from(document.adoptedStyleSheets).flatMap(({ cssRules }) => Array.from(cssRules, (rule) => rule.cssText))`
    const chapter = await chapterOf(page, 'Tanka 0.')
    const added = await until(async () => {
      const found = ((await chapter.evaluate(rules)) as string[]).filter((rule) => !rule.startsWith('::highlight'))
      return found.length > 0 && found
    })
    t.same(added, ['html { writing-mode: vertical-rl; }'])
  })

  t.same([...complaints, ...others], [], 'no script fails, the policy forbids nothing, and no other server is asked')
})
