import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core'
import { findChromium } from '#test/support/browser.ts'
import { ADMIN } from '#test/support/running-server.ts'

const PROBE = fileURLToPath(new URL('page-probe.js', import.meta.url))
/** As a phone of the middle class compares with a desk. */
const SLOW_DOWN = 4

/** A browser of one person, with an empty cache. */
export interface Device {
  page: Page
  context: BrowserContext
  protocol: CDPSession
  /** Answers with the status 429. */
  refused: () => number
  /** Runs an expression of page-probe.js. */
  probe<T>(expression: string): Promise<T>
  /** The time in milliseconds from an input to the frame with its result. @param wait one of WAITS of page-probe.js */
  timeOf(wait: 'page' | 'text' | 'search', input: () => Promise<unknown>): Promise<number>
  slowDown(on: boolean): Promise<void>
  close(): Promise<void>
}

/** @throws without Chromium */
export async function launchChromium(): Promise<Browser> {
  const executablePath = findChromium()
  if (!executablePath) throw new Error('The interface is measured in Chromium, which was not found. Install it: apt-get install chromium')
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  })
}

/** Opens a signed-in browser. */
export async function openDevice(browser: Browser, url: string): Promise<Device> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 } })
  await context.addInitScript({ path: PROBE })
  const answer = await context.request.post(`${url}/api/v1/auth/login`, { data: { ...ADMIN, session: 'cookie' }, headers: { origin: url } })
  if (!answer.ok()) throw new Error(`Signing in failed: ${answer.status()} ${await answer.text()}`)
  const page = await context.newPage()
  let refused = 0
  page.on('response', (response) => (refused += response.status() === 429 ? 1 : 0))
  const protocol = await context.newCDPSession(page)
  const probe = <T>(expression: string) => page.evaluate(`probe.${expression}`) as Promise<T>
  return {
    ...{ page, context, protocol, probe },
    refused: () => refused,
    async timeOf(wait, input) {
      const time = probe<number>(`after('${wait}')`)
      // Answered after the page has begun to wait.
      await page.evaluate('0')
      await input()
      return time
    },
    slowDown: async (on) => void (await protocol.send('Emulation.setCPUThrottlingRate', { rate: on ? SLOW_DOWN : 1 })),
    close: () => context.close(),
  }
}
