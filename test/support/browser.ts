import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

/** Where Debian, other distributions and Google install it. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/opt/google/chrome/chrome']

/** How long a browser on a busy machine may take for one thing. */
const PATIENCE_MS = 30_000

/** The path of the installed Chromium; null without one. */
export const findChromium = (): string | null => PLACES.find((place) => existsSync(place)) ?? null

/** For `skip` of a test that needs a browser: false with one, else a reason that nobody overlooks. */
export const withoutChromium = (): string | false =>
  findChromium() === null &&
  `NO CHROMIUM (looked at ${PLACES.join(', ')}): the web interface is NOT tested. Install it: apt-get install chromium`

/**
 * A browser that cannot reach anything but this machine. It is closed after the test.
 * @param strangers where all other hosts are found, such as 'localhost:8080'; by itself nowhere
 */
export async function openBrowser(t: Test, strangers = '~NOTFOUND'): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: findChromium() as string,
    args: [
      // Tests run as root in containers, where Chromium cannot confine its processes.
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      // Chromium itself asks Google who is signed in there, and about fields of forms.
      `--host-resolver-rules=MAP *.google.com ~NOTFOUND, MAP *.googleapis.com ~NOTFOUND, MAP * ${strangers}, EXCLUDE 127.0.0.1`,
    ],
  })
  t.teardown(() => browser.close())
  return browser
}

/** Goes to an address and waits until the page follows events: it shows nothing of a change that was announced before. */
export async function goAndFollow(page: Page, address: string): Promise<void> {
  await Promise.all([page.waitForResponse(/\/api\/v1\/events/), page.goto(address)])
}

/** What a page did that it must not. */
export interface Watched {
  page: Page
  /** Errors of scripts, violations of the policy, and addresses of other servers. */
  complaints: string[]
}

/** A page of a browser of its own user. @param url of the server */
export async function openPage(browser: Browser | BrowserContext, url: string): Promise<Watched> {
  const context = 'contexts' in browser ? await browser.newContext({ viewport: { width: 1200, height: 800 } }) : browser
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(`${error.message}\n${error.stack}`))
  page.on('console', (message) => {
    // Chromium logs every answer of 400 and more; a visitor who is not signed in gets one.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) complaints.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`) && !/^(blob|data):/.test(request.url())) complaints.push(`request to ${request.url()}`)
  })
  return { page, complaints }
}
