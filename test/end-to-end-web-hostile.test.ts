import type { Page } from 'playwright-core'
import t from 'tap'
import { withoutChromium } from '#test/support/browser.ts'
import { hostileBook, hugeBook } from '#test/support/hostile-books.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { makePicture } from '#test/support/pictures.ts'
import { openStranger } from '#test/support/stranger.ts'
import { chapterOf, openReaders } from '#test/support/web-readers.ts'
import { buildZip } from '#test/support/zip-builder.ts'

/** Whether a script of a book ran, in the page or in a chapter. */
async function ranIn(page: Page): Promise<unknown[]> {
  const found = await Promise.all(page.frames().map((frame) => frame.evaluate('globalThis.ran').catch(() => undefined)))
  return found.filter((each) => each !== undefined)
}

async function brokenComic(): Promise<Uint8Array> {
  const whole = await makePicture({ width: 600, height: 900, noise: true })
  return buildZip([
    { name: '1.jpg', data: whole },
    { name: '2.jpg', data: whole.subarray(0, 200) },
    { name: '3.png', data: await makePicture({ width: 1, height: 30_000, format: 'png' }) },
    { name: '4.jpg', data: whole },
  ])
}

t.test('Hostile books run nothing, reach nobody, and stay readable', { skip: withoutChromium() }, async (t) => {
  const stranger = await openStranger(t)
  const books = {
    'By name/By name.epub': hostileBook('http://stranger.example'),
    'By number/By number.epub': hostileBook(stranger.address),
    'Safe/Safe.epub': hostileBook('https://stranger.example'),
    'Huge/Huge.epub': hugeBook(sizeOf('letters of a huge chapter', { main: 1_000_000, full: 5_000_000 })),
    'Broken/Broken.cbz': await brokenComic(),
  }
  const { url, idOf, openDevice } = await openReaders(t, books, stranger.host)
  const { page } = await openDevice()
  const read = (name: string) => page.goto(`${url}/books/${idOf(name)}/read`)
  const stepTo = (name: string) => page.getByRole('button', { name, includeHidden: true, disabled: false })

  for (const name of ['By name', 'By number', 'Safe'])
    await t.test(`${name}: nothing of a hostile chapter runs or leaves, also when it is clicked and turned to its end`, async (t) => {
      await read(name)
      const chapter = await chapterOf(page, 'The first words of it.')
      for (const link of ['script link', 'data link', 'svg link', 'drawn link', 'math link', 'remote'])
        await chapter.getByText(link).or(chapter.getByAltText(link)).first().dispatchEvent('click')
      await chapter.getByText('far link').dispatchEvent('click')
      await page.getByRole('button', { name: 'Stay in the book' }).click()
      await page.keyboard.press('c')
      await page.getByRole('complementary', { name: 'Contents' }).getByRole('button', { name: 'Close' }).click()
      await page.keyboard.press('End')
      await chapterOf(page, 'The last words of it.')
      await stepTo('Previous chapter').dispatchEvent('click')
      await chapterOf(page, 'A drawn page')
      // There is a next chapter as soon as the reader knows where it is.
      await stepTo('Next chapter').waitFor({ state: 'attached' })
      await page.keyboard.press('ArrowRight')
      await chapterOf(page, 'The last words of it.')
      t.equal(new URL(page.url()).pathname, `/books/${idOf(name)}/read`)
      t.same(await ranIn(page), [])
      t.same(stranger.connections, [])
    })

  await t.test('A book that lacks a chapter and names another twice is read to its end', async () => {
    await read('By name')
    await chapterOf(page, 'The first words of it.')
    await page.keyboard.press('End')
    await chapterOf(page, 'The last words of it.')
  })

  await t.test('A book with 10,000 entries of contents and a huge chapter can be read and left', async (t) => {
    await read('Huge')
    await chapterOf(page, 'Huge chapter')
    await page.keyboard.press('c')
    await page.locator('.toc-entry').first().waitFor({ state: 'attached' })
    const entries = await page.locator('.toc-entry').count()
    t.ok(entries > 1000, `${entries} entries`)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Next chapter', includeHidden: true }).dispatchEvent('click')
    await chapterOf(page, 'After the huge chapter.')
  })

  await t.test('A comic with a broken page and one of a single column of pixels is turned to its end', async (t) => {
    await read('Broken')
    await page.getByRole('figure', { name: 'Page 1' }).waitFor()
    await page.keyboard.press('1')
    await page.keyboard.press('ArrowRight')
    await page.getByRole('heading', { name: 'Page 2 cannot be shown' }).waitFor()
    await page.getByText(/damaged/).waitFor()
    await page.getByRole('button', { name: 'Skip page' }).click()
    const figure = page.getByRole('figure', { name: 'Page 3' })
    await figure.waitFor()
    const { width = 0, height = 0 } = (await figure.boundingBox()) ?? {}
    t.ok(width > 4 && height <= 800, `${width} × ${height}`)
    await page.keyboard.press('ArrowRight')
    await page
      .getByRole('figure', { name: 'Page 4' })
      .getByRole('img', { name: /Page 4 of 4/ })
      .waitFor()
  })

  t.same(stranger.connections, [])
})
