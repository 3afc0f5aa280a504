import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { accessibilityFaults, sidewaysPixels } from '#test/support/accessibility.ts'
import { withoutChromium } from '#test/support/browser.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { makePicture } from '#test/support/pictures.ts'
import { chapterOf, openReaders } from '#test/support/web-readers.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const PAGES = 5

async function makeBooks(): Promise<Record<string, Uint8Array>> {
  const pictures = await Promise.all(Array.from({ length: PAGES }, (_, index) => makePicture({ width: 600 + index, height: 900 })))
  const comic = buildZip(pictures.map((data, index) => ({ name: `page${index + 1}.jpg`, data })))
  const text =
    '<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><title>One</title></head><body><h1>One</h1><p>The sea.</p></body></html>'
  const novel = buildEpub({
    metadata: '<dc:title>Novel</dc:title><dc:language>en</dc:language>',
    manifest: '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/>',
    spine: '<itemref idref="c1"/>',
    files: { 'c1.xhtml': text },
  })
  return { 'Tide/Tide 1.cbz': comic, 'Novel/Novel.epub': novel }
}

const WIDE = { width: 1200, height: 800 }
/** 400 % of a window of 1280 pixels (WCAG 1.4.10). */
const NARROW = { width: 320, height: 640 }

t.test('The web interface can be used by everyone', { skip: withoutChromium() }, async (t) => {
  const { url, database, idOf, openDevice } = await openReaders(t, await makeBooks())
  const { page, complaints } = await openDevice()
  const { series_id: seriesId } = await database('books')
    .where({ id: idOf('Tide 1') })
    .first()
  const show = async (path: string) => {
    await page.goto(url + path)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await page.waitForLoadState('networkidle')
  }
  const closing = page.getByRole('button', { name: 'Close', exact: true })
  const paths = [
    ...['/', '/series', '/books?view=table', '/libraries', `/series/${seriesId}`, `/books/${idOf('Tide 1')}`, `/books/${idOf('Novel')}`],
    ...['/collections', '/read-lists', '/want-to-read', '/people', '/tags', '/history', '/search?q=tide', '/profile', '/work'],
    ...['libraries', 'errors', 'missing', 'users', 'sharing-tags'].map((section) => `/admin/${section}`),
  ]

  const lookAtPages = async (t: Test, size: typeof WIDE, colorScheme: 'light' | 'dark') => {
    await page.setViewportSize(size)
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const path of paths) {
      await show(path)
      t.same(await accessibilityFaults(page), [], `${path}, ${size.width} pixels, ${colorScheme}`)
      t.equal(await sidewaysPixels(page), 0, `${path}, ${size.width} pixels`)
    }
  }
  await t.test('Pages have no fault that axe finds', (t) => lookAtPages(t, WIDE, 'light'))
  await t.test('At 400 % and in the dark they have none either, and nothing is beside the window', onlyFull, (t) =>
    lookAtPages(t, NARROW, 'dark'),
  )

  await t.test('Dialogs of the administration and of selections have none either', async (t) => {
    for (const size of [WIDE, NARROW]) {
      await page.setViewportSize(size)
      const open = async (path: string, button: string, entry: string | null) => {
        await page.goto(url + path)
        await page.getByRole('button', { name: button }).first().click()
        if (entry) await page.getByRole('menuitem', { name: entry, exact: true }).click()
        await page.getByRole('dialog').waitFor()
        t.same(await accessibilityFaults(page), [], `${entry ?? button}, ${size.width} pixels`)
        t.equal(await sidewaysPixels(page), 0, `${entry ?? button}, ${size.width} pixels`)
      }
      await open('/admin/libraries', 'Add a library', null)
      for (const entry of ['Edit', 'Scan a folder of it', 'What the last scan found'])
        await open('/admin/libraries', 'More for Shelf', entry)
      await open('/admin/sharing-tags', 'Add a sharing tag', null)
      await page.goto(`${url}/series`)
      await page.getByRole('gridcell').getByRole('link').first().focus()
      await page.keyboard.press(' ')
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('menuitem', { name: 'Tags and genres' }).click()
      await page.getByRole('dialog').waitFor()
      t.same(await accessibilityFaults(page), [], `tags, ${size.width} pixels`)
    }
  })

  await t.test('Panels of the readers have none', async (t) => {
    await page.setViewportSize(WIDE)
    const look = async (words: string) => t.same(await accessibilityFaults(page), [], words)
    const lookAtPanel = async (key: string) => {
      await page.keyboard.press(key)
      await closing.waitFor()
      await look(`panel of ${key} of ${page.url()}`)
      await page.keyboard.press('Escape')
      await closing.waitFor({ state: 'detached' })
    }
    await page.goto(`${url}/books/${idOf('Tide 1')}/read`)
    await page.getByRole('figure', { name: 'Page 1' }).waitFor()
    await look('pages')
    for (const key of ['s', 't', '?']) await lookAtPanel(key)
    await page.goto(`${url}/books/${idOf('Novel')}/read`)
    await chapterOf(page, 'The sea.')
    await look('text')
    for (const key of ['s', 'c', '/']) await lookAtPanel(key)
  })

  await t.test('Letters, digits and signs are no keys once they are turned off', async (t) => {
    await page.goto(`${url}/profile`)
    await page.getByRole('switch', { name: /^Letters, digits and signs are keys/ }).uncheck()
    await page.keyboard.press('/')
    t.equal(new URL(page.url()).pathname, '/profile')
    await page.goto(`${url}/books/${idOf('Tide 1')}/read`)
    await page.getByRole('figure', { name: 'Page 1' }).waitFor()
    await page.keyboard.press('t')
    await page.keyboard.press('ArrowRight')
    await page.getByRole('figure', { name: 'Pages 2–3' }).waitFor()
    t.equal(await closing.count(), 0, 'the overview was not opened')
    await page.goto(`${url}/profile`)
    await page.getByRole('switch', { name: /^Letters, digits and signs are keys/ }).check()
    await page.keyboard.press('/')
    await page.getByRole('searchbox').waitFor()
  })

  await t.test('Written from right to left, everything is mirrored, and long words stay inside', async (t) => {
    await page.setViewportSize(NARROW)
    for (const path of paths) {
      await show(`${path}${path.includes('?') ? '&' : '?'}pseudo=rtl`)
      t.equal(await sidewaysPixels(page), 0, path)
    }
    await page.setViewportSize(WIDE)
    await show(`/books/${idOf('Tide 1')}?pseudo=rtl`)
    const middleOf = async (found: ReturnType<Page['locator']>) => {
      const { x = 0, width = 0 } = (await found.boundingBox()) ?? {}
      return x + width / 2
    }
    const bar = await middleOf(page.getByRole('navigation').first())
    t.ok(bar > WIDE.width / 2, 'the side bar is at the right')
    const words = (await page.evaluate(`(() => {
      const title = document.querySelector('h1')
      const range = document.createRange()
      range.selectNodeContents(title)
      return range.getBoundingClientRect().right - title.getBoundingClientRect().right
    })()`)) as number
    t.ok(Math.abs(words) < 2, 'a title in Latin letters begins beside its cover')
  })

  t.same(complaints, [], 'no script fails, the policy forbids nothing, and no other server is asked')
})
