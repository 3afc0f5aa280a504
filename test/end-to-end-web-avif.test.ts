import type { Frame, Page } from 'playwright-core'
import t from 'tap'
import { withoutChromium } from '#test/support/browser.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { until } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { chapterOf, openReaders } from '#test/support/web-readers.ts'
import { buildZip } from '#test/support/zip-builder.ts'

/** Pages of their own width, and one that is far wider than a window. */
const WIDTHS = [600, 2400]

async function makeBooks(): Promise<Record<string, Uint8Array>> {
  const pages = await Promise.all(WIDTHS.map((width) => makePicture({ width, height: width * 1.5, format: 'avif' })))
  const chapter =
    '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>One</title></head><body><p>The sea.</p><img src="sea.avif" alt="Waves"/></body></html>'
  const novel = buildEpub({
    metadata: '<dc:title>Novel</dc:title><dc:language>en</dc:language><meta name="cover" content="sea"/>',
    manifest:
      '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/><item id="sea" href="sea.avif" media-type="image/avif" properties="cover-image"/>',
    spine: '<itemref idref="c1"/>',
    files: { 'c1.xhtml': chapter, 'sea.avif': pages[0] as Buffer },
  })
  return { 'Tide/Tide.cbz': buildZip(pages.map((data, at) => ({ name: `${at + 1}.avif`, data }))), 'Novel/Novel.epub': novel }
}

/** The widths of the pictures that a page shows, once all of them are decoded. */
const widthsOf = (page: Page | Frame, selector: string): Promise<number[]> =>
  until(async () => {
    const widths = (await page.evaluate(`[...document.querySelectorAll('${selector}')].map((each) => each.naturalWidth)`)) as number[]
    return widths.length > 0 && widths.every((width) => width > 0) && widths
  })

t.test(
  'Pages, covers and pictures of AVIF are shown, and sent as something else where that is wanted',
  { skip: withoutChromium() },
  async (t) => {
    const { url, idOf, openDevice } = await openReaders(t, await makeBooks())
    const { page, complaints } = await openDevice()
    const [tide, novel] = [idOf('Tide'), idOf('Novel')]
    const sent = new Map<string, string>()
    page.on('response', (response) => {
      const { pathname, searchParams } = new URL(response.url())
      const width = searchParams.has('width') ? ` ${searchParams.get('width')}` : ''
      sent.set(`${pathname.replace('/api/v1/books/', '')}${width}`, response.headers()['content-type'] ?? '')
    })
    const sentOf = (pattern: RegExp) => [...new Set([...sent].flatMap(([name, type]) => (pattern.test(name) ? [type] : [])))]

    await t.test('A page that fits is sent as it is in the file, a wide one smaller', async (t) => {
      await page.goto(`${url}/books/${tide}/read`)
      await page.keyboard.press('1')
      await page.getByRole('img', { name: /^Page 1 of 2/ }).waitFor()
      await page.keyboard.press('ArrowRight')
      await page.getByRole('img', { name: /^Page 2 of 2/ }).waitFor()
      t.same(sentOf(/\/pages\/1$/), ['image/avif'])
      t.same(sentOf(/\/pages\/2 \d+$/), ['image/jpeg'])
      t.notOk(sent.has(`${tide}/pages/2`), 'the wide page itself is not sent')
    })

    await t.test('Covers are smaller pictures of a kind that each browser shows', async (t) => {
      await page.goto(`${url}/books`)
      await page.getByRole('gridcell').first().waitFor()
      t.equal((await widthsOf(page, '[role="gridcell"] img')).length, 2)
      t.same(sentOf(/\/thumbnail/), ['image/webp'])
      await page.goto(`${url}/books/${tide}`)
      await widthsOf(page, 'main img')
    })

    await t.test('A picture of a text is shown by the browser', async (t) => {
      await page.goto(`${url}/books/${novel}/read`)
      t.same(await widthsOf(await chapterOf(page, 'The sea.'), 'img'), [600])
      t.same(sentOf(/sea\.avif$/), ['image/avif'])
    })

    await t.test('Who takes no AVIF gets what they take', async (t) => {
      for (const type of ['image/webp', 'image/png', 'image/jpeg'])
        for (const address of [`pages/1`, `pages/2`, `pages/2?width=320`]) {
          const answer = await page.request.get(`${url}/api/v1/books/${tide}/${address}`, { headers: { accept: type } })
          t.equal(answer.headers()['content-type'], type, address)
          t.equal(answer.headers()['vary']?.includes('Accept'), true, address)
        }
      const cover = await page.request.get(`${url}/api/v1/books/${tide}/thumbnail?width=320`, { headers: { accept: 'image/jpeg' } })
      t.equal(cover.headers()['content-type'], 'image/jpeg')
    })

    t.same(complaints, [], 'no script fails')
  },
)
