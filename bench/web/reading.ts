import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { interactionsP98 } from '#bench/web/browse.ts'
import { openDevice } from '#bench/web/device.ts'
import type { WebFigures } from '#bench/web/figures.ts'
import type { ReadBooks } from '#bench/web/library.ts'

/** Long enough for the pages ahead to be fetched and decoded, also slowed down. */
const PRELOADED_MS = 3_000
const TURNS = 3
/** Turns of the long book between two looks at the memory. */
const TURNS_PER_LOOK = 25

const openReader = (page: Page) => page.locator('a.btn.main').first().click()

/** Pages of a comic: from its page, by a turn to what was loaded ahead, and far away. */
export async function measurePages(browser: Browser, url: string, { scans }: ReadBooks, figures: WebFigures): Promise<void> {
  const device = await openDevice(browser, url)
  const { page } = device
  await device.context.request.delete(`${url}/api/v1/books/${scans}/progress`, { headers: { origin: url } })
  await page.goto(`${url}/books/${scans}`)
  await page.locator('a.btn.main').first().waitFor()
  await sleep(1_000)
  figures.add('book page to the first page ms', await device.timeOf('page', () => openReader(page)))
  await device.slowDown(true)
  for (let turn = 0; turn < TURNS; turn++) {
    await sleep(PRELOADED_MS)
    figures.add('page turn, preloaded ms', await device.timeOf('page', () => page.keyboard.press('ArrowRight')))
  }
  figures.add('interactions: p98 ms', await interactionsP98(device))
  await device.slowDown(false)
  figures.add('page of 700 KB, not preloaded ms', await device.timeOf('page', () => page.keyboard.press('End')))
  figures.add('answers with 429', device.refused())
  await device.close()
}

/** Another chapter of an EPUB, and a turn in it. */
export async function measureText(browser: Browser, url: string, { text }: ReadBooks, figures: WebFigures): Promise<void> {
  const device = await openDevice(browser, url)
  const { page } = device
  await device.context.request.delete(`${url}/api/v1/books/${text}/progress`, { headers: { origin: url } })
  await page.goto(`${url}/books/${text}/read`)
  await page
    .getByText(/Page \d+ of/)
    .first()
    .waitFor({ state: 'attached' })
  await sleep(1_000)
  const next = () => page.getByRole('button', { name: 'Next chapter', includeHidden: true }).dispatchEvent('click')
  figures.add('EPUB chapter of 100 KB ms', await device.timeOf('text', next))
  await device.slowDown(true)
  for (let turn = 0; turn < TURNS; turn++) {
    await sleep(1_000)
    figures.add('EPUB turn ms', await device.timeOf('text', () => page.keyboard.press('ArrowRight')))
  }
  await device.close()
}

/** The memory of the browser while a book of 500 pages is turned to its end, above that at its first page. */
export async function measureLongBook(browser: Browser, url: string, { long }: ReadBooks, figures: WebFigures): Promise<void> {
  const device = await openDevice(browser, url)
  const { page } = device
  const pages = await browser.newBrowserCDPSession()
  const renderersMb = async () => {
    const { processInfo } = await pages.send('SystemInfo.getProcessInfo')
    return processInfo.filter(({ type }) => type === 'renderer').reduce((sum, { id }) => sum + proportionalMb(id), 0)
  }
  await page.goto(`${url}/books/${long}`)
  await page.locator('a.btn.main').first().waitFor()
  await device.timeOf('page', () => openReader(page))
  const startMb = await renderersMb()
  for (let turn = 1; !(await isAtEnd(page)); turn++) {
    await device.timeOf('page', () => page.keyboard.press('ArrowRight'))
    if (turn % TURNS_PER_LOOK === 0) figures.add('long book: renderer MB above its start', (await renderersMb()) - startMb)
  }
  figures.add('answers with 429', device.refused())
  await device.close()
}

const isAtEnd = async (page: Page) => /\b500$/.test((await page.locator('figure.spread').getAttribute('aria-label')) ?? '')

/** Pss: memory that processes share counts once. */
function proportionalMb(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    // A process that ended meanwhile uses nothing.
    return 0
  }
}
