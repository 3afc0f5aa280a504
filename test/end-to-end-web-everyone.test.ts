import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { accessibilityFaults, sidewaysPixels, spacingFaults } from '#test/support/accessibility.ts'
import { withoutChromium } from '#test/support/browser.ts'
import { oneOfEach, onlyFull, someOf } from '#test/support/lane-size.ts'
import { openEveryPage } from '#test/support/web-pages.ts'
import { chapterOf } from '#test/support/web-readers.ts'

const WIDE = { width: 1200, height: 800 }
const NARROW = { width: 320, height: 640 }
/** 400 % of a window of 1280 by 1024 pixels (WCAG 1.4.10). */
const ENLARGED = { width: 320, height: 256 }

t.test('The web interface can be used by everyone', { skip: withoutChromium() }, async (t) => {
  const { url, page, complaints, idOf, paths, readers, show } = await openEveryPage(t)
  const closing = page.getByRole('button', { name: 'Close', exact: true })
  const someOfPages = (all: readonly string[]) => oneOfEach(5, 'pages', all)

  interface Look {
    paths?: readonly string[]
    colorScheme: 'light' | 'dark'
    forcedColors?: 'active' | 'none'
  }
  const lookAtPages = async (t: Test, size: typeof WIDE, { paths: seen = paths, colorScheme, forcedColors = 'none' }: Look) => {
    await page.setViewportSize(size)
    await page.emulateMedia({ colorScheme, forcedColors, reducedMotion: 'reduce' })
    for (const path of someOfPages(seen)) {
      await show(path)
      const faults = await accessibilityFaults(page, { hasSystemColors: forcedColors === 'active' })
      t.same(faults, [], `${path}, ${size.width} pixels, ${colorScheme}`)
      t.equal(await sidewaysPixels(page), 0, `${path}, ${size.width} pixels`)
    }
    await page.emulateMedia({ forcedColors: 'none' })
  }
  await t.test('Pages have no fault that axe finds', (t) => lookAtPages(t, WIDE, { colorScheme: 'light' }))
  await t.test('At 400 % and in the dark they have none either, and nothing is beside the window', onlyFull, (t) =>
    lookAtPages(t, ENLARGED, { paths: [...paths, ...readers], colorScheme: 'dark' }),
  )
  await t.test('With the colors of the system, light and dark, they have none either', onlyFull, async (t) => {
    for (const colorScheme of ['light', 'dark'] as const)
      await lookAtPages(t, WIDE, { paths: [...paths, ...readers], colorScheme, forcedColors: 'active' })
  })

  const giveSpace = async (t: Test, size: typeof WIDE, seen: readonly string[]) => {
    await page.setViewportSize(size)
    await page.emulateMedia({ colorScheme: 'light' })
    for (const path of seen) {
      await show(path)
      t.same(await spacingFaults(page), [], `${path}, ${size.width} pixels`)
      t.equal(await sidewaysPixels(page), 0, `${path}, ${size.width} pixels`)
    }
  }
  await t.test('With more space between letters, words and lines nothing is cut on pages of each kind', async (t) => {
    await giveSpace(t, NARROW, ['/', '/series?view=list', '/profile', '/admin/libraries', `/books/${idOf('Tide 1')}`])
    await page.evaluate(`document.querySelector('h1').style.cssText = 'block-size: 1rem; overflow: hidden'`)
    t.match(await spacingFaults(page), [/^Tide 1: higher than H1/], 'words that are cut are found')
  })
  await t.test('With more space between letters, words and lines nothing is cut on any page', onlyFull, async (t) => {
    for (const size of [WIDE, NARROW]) await giveSpace(t, size, [...paths, ...readers])
  })

  await t.test('Dialogs of the administration and of selections have none either', async (t) => {
    for (const size of someOf('sizes of windows', [NARROW, WIDE], 1)) {
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
    await page.goto(`${url}/books/${idOf('Tide 1')}/read?page=1`)
    await page.getByRole('figure', { name: 'Page 1' }).waitFor()
    await look('pages')
    for (const key of ['s', 't', '?']) await lookAtPanel(key)
    await page.goto(`${url}/books/${idOf('Novel')}/read`)
    await chapterOf(page, 'The sea.')
    await look('text')
    for (const key of ['s', 'c', '/']) await lookAtPanel(key)
  })

  await t.test('A dialog closes by a click beside it, until something was entered, and not where a selection of text ends', async () => {
    await page.setViewportSize(WIDE)
    await page.goto(`${url}/admin/users`)
    const dialog = page.getByRole('dialog', { name: 'Add a user' })
    const open = async () => {
      await page.getByRole('button', { name: 'Add a user' }).click()
      await dialog.waitFor()
    }
    await open()
    await page.mouse.click(5, 5)
    await dialog.waitFor({ state: 'detached' })
    await open()
    const name = dialog.getByRole('textbox', { name: 'Name', exact: true })
    const { x = 0, y = 0, height = 0 } = (await name.boundingBox()) ?? {}
    await page.mouse.move(x + 10, y + height / 2)
    await page.mouse.down()
    await page.mouse.move(5, 5, { steps: 4 })
    await page.mouse.up()
    await name.fill('zoe')
    await page.mouse.click(5, 5)
    await name.press('End')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    await page.goto(`${url}/series`)
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    const panel = page.getByRole('dialog', { name: 'Filter' })
    await panel.getByRole('button', { name: 'Condition', exact: true }).click()
    await page.mouse.click(5, 5)
    await panel.getByLabel('Field').selectOption({ label: 'Year' })
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
  })

  await t.test('Compact pages have more rows, also when they are loaded again, and no fault that axe finds', async (t) => {
    await page.setViewportSize(WIDE)
    await page.emulateMedia({ colorScheme: 'light' })
    const rowHeight = async () => {
      await show('/books?view=list')
      return (await page.getByRole('row').first().boundingBox())?.height ?? 0
    }
    const usual = await rowHeight()
    await show('/profile')
    await page.getByText('Compact', { exact: true }).click()
    const compact = await rowHeight()
    t.ok(compact > 0 && compact < usual, `${compact} pixels instead of ${usual}`)
    for (const size of [WIDE, NARROW]) {
      await page.setViewportSize(size)
      for (const path of someOfPages(['/', '/series', '/series?view=list', '/books?view=table', '/profile', '/admin/users'])) {
        await show(path)
        t.same(await accessibilityFaults(page), [], `${path}, ${size.width} pixels`)
        t.equal(await sidewaysPixels(page), 0, `${path}, ${size.width} pixels`)
      }
    }
    await show('/series?view=list')
    t.same(await spacingFaults(page), [])
    await page.setViewportSize(WIDE)
    await show('/profile')
    await page.getByText('Comfortable', { exact: true }).click()
    t.equal(await rowHeight(), usual)
  })

  await t.test('Letters, digits and signs are no keys once they are turned off', async (t) => {
    await page.goto(`${url}/profile`)
    await page.getByRole('switch', { name: /^Letters, digits and signs are keys/ }).uncheck()
    await page.keyboard.press('/')
    t.equal(new URL(page.url()).pathname, '/profile')
    await page.goto(`${url}/books/${idOf('Tide 1')}/read?page=1`)
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
    for (const path of someOfPages(paths)) {
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
