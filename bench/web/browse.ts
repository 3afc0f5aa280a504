import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { type Device, openDevice } from '#bench/web/device.ts'
import type { WebFigures } from '#bench/web/figures.ts'

const WHEEL_TURNS = 80
const WHEEL_PX = 240
const KEYS = 40
/** Between two turns of a wheel or repeats of a key. */
const INPUT_MS = 30
const DRAG_FRAMES = 120
/** Words of the generated library, rare and common; the last letter is typed by itself. */
const WORDS = ['dragon', 'quokka', 'garden', 'empire', 'writer']

interface Smoothness {
  gapP95Ms: number
  longestMs: number
  nodes: number
}

/** Wheel, drag, keys and jumps in the list of all books, slowed down. */
export async function measureList(browser: Browser, url: string, figures: WebFigures): Promise<void> {
  const device = await openDevice(browser, url)
  const { page } = device
  const requested: number[] = []
  page.on('request', (request) => {
    if (/\/books\/list\?/.test(request.url())) requested.push(Number(new URL(request.url()).searchParams.get('page')))
  })
  await page.goto(`${url}/books`)
  await page.locator('[role="gridcell"] a').first().waitFor()
  await device.slowDown(true)
  const moves = {
    wheel: async () => {
      await page.mouse.move(600, 500)
      for (let turn = 0; turn < WHEEL_TURNS; turn++) {
        await page.mouse.wheel(0, WHEEL_PX)
        await sleep(INPUT_MS)
      }
    },
    keys: async () => {
      await page.locator('[role="gridcell"] a').nth(1).focus()
      for (let key = 0; key < KEYS; key++) {
        await page.keyboard.press('PageDown')
        await sleep(INPUT_MS)
      }
    },
    drag: () => device.probe('drag(0.8, ' + DRAG_FRAMES + ')'),
  }
  for (const kind of ['wheel', 'keys', 'drag'] as const) {
    // What the last move asked for at its end is no part of this one.
    await sleep(1_000)
    await device.probe('watch()')
    requested.length = 0
    await moves[kind]()
    const { gapP95Ms, longestMs, nodes } = await device.probe<Smoothness>('stop()')
    figures.add(`${kind}: gap of frames p95 ms`, gapP95Ms)
    figures.add(`${kind}: longest task ms`, longestMs)
    figures.add('list: nodes', nodes)
    if (kind === 'drag') await countPassed(requested, figures)
  }
  for (const part of [0.25, 0.6]) figures.add('list: titles after a jump ms', await device.probe<number>(`jump(${part})`))
  await device.probe('jump(1)')
  figures.add('list: heap after the end MB', await heapMb(device))
  figures.add('answers with 429', device.refused())
  figures.add('interactions: p98 ms', await interactionsP98(device))
  await device.close()
}

/** A window shows books of at most two pages of the list; whatever else was asked for was passed by. */
async function countPassed(requested: readonly number[], figures: WebFigures): Promise<void> {
  // Those of the place where the drag ended are asked for after a pause.
  await sleep(500)
  const last = Math.max(0, ...requested)
  figures.add('pages requested for rows passed', requested.filter((each) => each < last - 1).length)
}

async function heapMb({ protocol }: Device): Promise<number> {
  await protocol.send('HeapProfiler.collectGarbage')
  const { usedSize } = await protocol.send('Runtime.getHeapUsage')
  return usedSize / 1e6
}

/** Of the inputs of this page that took 16 ms or more; the browser reports no others. */
export async function interactionsP98({ page }: Device): Promise<number> {
  const times = (JSON.parse(await page.evaluate('JSON.stringify(probe.interactionsMs)')) as number[]).sort((a, b) => a - b)
  return times[Math.floor(times.length * 0.98)] ?? 0
}

/** From the last letter to the results. @param round chooses the word */
export async function measureSearch(browser: Browser, url: string, round: number, figures: WebFigures): Promise<void> {
  const device = await openDevice(browser, url)
  await device.page.goto(`${url}/search`)
  const word = WORDS[round % WORDS.length] as string
  await device.page.locator('input[type="search"]').pressSequentially(word.slice(0, -1), { delay: 60 })
  await device.page.locator('main [data-result]').first().waitFor()
  await sleep(300)
  figures.add('search after the last key ms', await device.timeOf('search', () => device.page.keyboard.press(word.slice(-1))))
  await device.close()
}
