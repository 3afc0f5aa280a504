import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { type Device, openDevice } from '#bench/web/device.ts'
import type { WebFigures } from '#bench/web/figures.ts'
import type { ReadBooks } from '#bench/web/library.ts'

/** After this time on a slowed-down processor nothing moves any more. */
const SETTLED_MS = 2_500

/** Measured more often than the rest, which is judged by it. */
const SHELLS = 3

interface Painted {
  paintMs: number
  firstWorkMs: number
  lastLongEndMs: number
  shift: number
}

/** Opens an address and waits until the page is still. */
async function openSettled(device: Device, url: string): Promise<Painted> {
  await device.page.goto(url)
  await sleep(SETTLED_MS)
  return JSON.parse(await device.page.evaluate('JSON.stringify(probe)')) as Painted
}

/** The document and the styles of the interface from the same server, with a script of one line in place of its own. */
async function measureShell(browser: Browser, url: string, figures: WebFigures): Promise<void> {
  const device = await openDevice(browser, url)
  await device.page.route('**/assets/*.js', (route) =>
    route.fulfill({
      contentType: 'text/javascript',
      body: /\/index-/.test(route.request().url()) ? "document.body.append('A page without anything but this line of text')" : '',
    }),
  )
  await device.slowDown(true)
  const { paintMs } = await openSettled(device, `${url}/`)
  if (paintMs === 0) throw new Error(`The bare page shows nothing: ${await device.page.content()}`)
  figures.addBare(paintMs)
  await device.close()
}

/** The home page with an empty cache and with a filled one, after the bare page of this round. */
export async function measureHome(browser: Browser, url: string, figures: WebFigures): Promise<void> {
  for (let shell = 0; shell < SHELLS; shell++) await measureShell(browser, url, figures)
  const device = await openDevice(browser, url)
  await device.slowDown(true)
  for (const kind of ['cold', 'warm'] as const) {
    const { paintMs, firstWorkMs, lastLongEndMs } = await openSettled(device, `${url}/`)
    if (firstWorkMs === 0) throw new Error(`The home page shows no book: ${await device.page.innerText('body')}`)
    figures.add(`home, ${kind}: largest paint ms`, paintMs)
    figures.add(`home, ${kind}: interactive ms`, Math.max(firstWorkMs, lastLongEndMs))
  }
  await device.close()
}

/** How far what is seen moves by itself while a page loads. */
export async function measureShifts(browser: Browser, url: string, books: ReadBooks, figures: WebFigures): Promise<void> {
  const device = await openDevice(browser, url)
  const addresses = [
    ...['', 'libraries', 'series', 'books', 'search', 'collections', 'read-lists', 'want-to-read', 'work', 'profile', 'admin'],
    ...[`series/${books.series}`, `books/${books.scans}`, `books/${books.scans}/read`, `books/${books.text}/read`],
  ]
  const shifts: [string, number][] = []
  for (const address of addresses) shifts.push([address, (await openSettled(device, `${url}/${address}`)).shift])
  const worst = shifts.toSorted(([, a], [, b]) => b - a).slice(0, 3)
  console.log(`layout shift: ${worst.map(([address, shift]) => `/${address} ${shift.toFixed(3)}`).join(', ')}`)
  figures.add('layout shift, worst page', worst[0]?.[1] ?? 0)
  await device.close()
}
