import type { Page } from 'playwright-core'
import t from 'tap'
import { withoutChromium } from '#test/support/browser.ts'
import { buildEpub, textPage } from '#test/support/epub-builder.ts'
import { buildFixedLayoutEpub, xhtmlPage } from '#test/support/fixed-layout-epub.ts'
import { until } from '#test/support/library-fixture.ts'
import { chapterOf, openReaders } from '#test/support/web-readers.ts'

/** A small screen holds two of them, so that a hundredth of the chapter is several screens. */
const PARAGRAPHS = 900
const SCREENS_MIN = 220
const WORDS = 'Every evening at six the archivist went down to the cellar and asked the two barometers what they remembered. '

const drawing = (body: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 200 300">${body}</svg>`
const drawnText = (text: string): string => `<text x="10" y="40">${text}</text>`

/** A chapter of each kind that packages name: a drawing, a book of another language of markup, a font, and a page without a body. */
const MIXED: readonly [file: string, mediaType: string, content: string][] = [
  ['cover.svg', 'image/svg+xml', drawing(`${drawnText('A drawn cover')}<a xlink:href="end.xhtml"><text y="90">To the end</text></a>`)],
  ['story.xml', 'application/x-dtbook+xml', '<dtbook xmlns="http://www.daisy.org/z3986/2005/dtbook/"><p>A told story.</p></dtbook>'],
  ['face.woff2', 'font/woff2', 'wOF2'],
  ['bare.xhtml', 'application/xhtml+xml', '<html xmlns="http://www.w3.org/1999/xhtml"><section>Without a body.</section></html>'],
  ['end.xhtml', 'application/xhtml+xml', textPage('The end.')],
]
const DRAWN: typeof MIXED = ['First', 'Second'].map((name) => [`${name}.svg`, 'image/svg+xml', drawing(drawnText(`${name} drawing`))])

const bookOf = (chapters: typeof MIXED): Uint8Array =>
  buildEpub({
    manifest: chapters.map(([file, type], at) => `<item id="c${at}" href="${file}" media-type="${type}"/>`).join(''),
    spine: chapters.map((_, at) => `<itemref idref="c${at}"/>`).join(''),
    files: { 'c1.xhtml': null, ...Object.fromEntries(chapters.map(([file, , content]) => [file, content])) },
  })

const VIEWPORT = '<meta name="viewport" content="width=600, height=800"/>'
const fixedPages = (count: number): string[] => Array.from({ length: count }, (_, at) => xhtmlPage(`<p>Picture ${at + 1}.</p>`, VIEWPORT))
const longText = (): string => Array.from({ length: PARAGRAPHS }, (_, at) => `<p>${at}. ${WORDS.repeat(3)}</p>`).join('')

const makeBooks = (): Record<string, Uint8Array> => ({
  'Long/Long.epub': bookOf([['one.xhtml', 'application/xhtml+xml', xhtmlPage(longText())]]),
  'Mixed/Mixed.epub': bookOf(MIXED),
  'Drawn/Drawn.epub': bookOf(DRAWN),
  'Five/Five.epub': buildFixedLayoutEpub(fixedPages(5)),
  'Three/Three.epub': buildFixedLayoutEpub(fixedPages(3), { direction: 'rtl' }),
})

/** Once the reader says so, below the text. */
const saysPage = (page: Page, words: string): Promise<void> => page.getByText(words, { exact: true }).waitFor({ state: 'attached' })

/** Presses a key until something is so: the paginator ignores one for a moment after each turn. */
const pressUntil = (page: Page, key: string, isSo: () => Promise<boolean>): Promise<boolean> =>
  until(async () => {
    if (await isSo()) return true
    await page.keyboard.press(key)
    return await isSo()
  })

const endCard = (page: Page) => page.getByRole('button', { name: 'Stay in the book' })
const isEnded = (page: Page) => () => endCard(page).isVisible()
/** It does nothing while the reader does not know its place. */
const nextChapter = (page: Page) => page.getByRole('button', { name: 'Next chapter', includeHidden: true, disabled: false })

/** What the paginator of the page says. */
const paginator = (page: Page, expression: string): Promise<unknown> =>
  page.evaluate(`(({ page, pages }) => ${expression})(document.querySelector('foliate-paginator'))`)

type Progress = { currentPage: number; completed: boolean } | null

t.test('Texts of every shape are read from the first page to the last', { skip: withoutChromium() }, async (t) => {
  const { url, idOf, openDevice } = await openReaders(t, makeBooks())
  const { page } = await openDevice()
  const read = (name: string) => page.goto(`${url}/books/${idOf(name)}/read`)
  const recorded = (name: string, isSo: (progress: NonNullable<Progress>) => boolean) =>
    until(async () => {
      const progress = (await (await page.request.get(`${url}/api/v1/books/${idOf(name)}/progress`)).json()) as Progress
      return progress !== null && isSo(progress)
    })

  await t.test('Every screen of a long last chapter is shown before the book ends', async (t) => {
    await page.setViewportSize({ width: 480, height: 480 })
    await read('Long')
    const chapter = await chapterOf(page, '0. Every evening')
    // Another face makes another number of screens.
    await chapter.evaluate('document.fonts.ready.then(() => true)')
    await pressUntil(page, 'End', async () => Boolean(await paginator(page, 'page === pages - 2')))
    const last = Number(await paginator(page, 'page'))
    t.ok(last > SCREENS_MIN, `${last} screens`)
    const turnTo = (key: string, at: number) => pressUntil(page, key, async () => (await paginator(page, 'page')) === at)
    for (const at of [last - 1, last - 2]) await turnTo('ArrowLeft', at)
    for (const at of [last - 1, last]) await turnTo('ArrowRight', at)
    await pressUntil(page, 'ArrowRight', isEnded(page))
    await page.setViewportSize({ width: 1200, height: 800 })
  })

  await t.test('Chapters that are drawings, other XML, no documents or without a body are shown, or say why not, and turn', async () => {
    await read('Mixed')
    const cover = await chapterOf(page, 'A drawn cover')
    await saysPage(page, 'Page 1 of 5')
    await cover.getByText('To the end').dispatchEvent('click')
    await saysPage(page, 'Page 5 of 5')
    await chapterOf(page, 'The end.')
    await page.keyboard.press('Home')
    await saysPage(page, 'Page 1 of 5')
    await nextChapter(page).dispatchEvent('click')
    await saysPage(page, 'Page 2 of 5')
    await chapterOf(page, 'A told story.')
    await nextChapter(page).dispatchEvent('click')
    await saysPage(page, 'Page 3 of 5')
    await page.getByText(/^Browsers cannot show its file/).waitFor()
    await nextChapter(page).dispatchEvent('click')
    await saysPage(page, 'Page 4 of 5')
    await chapterOf(page, 'Without a body.')
    await page.keyboard.press('ArrowRight')
    await saysPage(page, 'Page 5 of 5')
    await chapterOf(page, 'The end.')
  })

  await t.test('A book of drawings alone is read as a text, for the server offers none of them as a page', async () => {
    await read('Drawn')
    await chapterOf(page, 'First drawing')
    await saysPage(page, 'Page 1 of 2')
    await nextChapter(page).dispatchEvent('click')
    await chapterOf(page, 'Second drawing')
  })

  await t.test('On an upright screen each page of a fixed layout is recorded as itself, and the last is shown before the end', async () => {
    await page.setViewportSize({ width: 600, height: 900 })
    await read('Five')
    for (const number of [1, 2, 3, 4, 5]) {
      await chapterOf(page, `Picture ${number}.`)
      await saysPage(page, `Page ${number} of 5`)
      if (number === 2) await recorded('Five', ({ currentPage }) => currentPage === 2)
      await page.keyboard.press('ArrowRight')
    }
    await endCard(page).click()
    await recorded('Five', ({ completed }) => completed)
    // Both are of one pair.
    await page.keyboard.press('ArrowLeft')
    await saysPage(page, 'Page 4 of 5')
    await page.keyboard.press('End')
    await saysPage(page, 'Page 5 of 5')
    await chapterOf(page, 'Picture 5.')
    await page.keyboard.press('ArrowLeft')
    await saysPage(page, 'Page 4 of 5')
    await page.setViewportSize({ width: 1200, height: 800 })
    await saysPage(page, 'Page 5 of 5')
    await page.keyboard.press('ArrowRight')
    await endCard(page).waitFor()
  })

  await t.test('The last pair of a fixed layout that is read to the left ends the book', async () => {
    await read('Three')
    await saysPage(page, 'Page 1 of 3')
    await page.keyboard.press('ArrowLeft')
    await chapterOf(page, 'Picture 2.')
    await chapterOf(page, 'Picture 3.')
    await saysPage(page, 'Page 3 of 3')
    await recorded('Three', ({ completed }) => completed)
    await page.keyboard.press('ArrowLeft')
    await endCard(page).waitFor()
  })
})
