import type { Frame, Page } from 'playwright-core'
import t from 'tap'
import { withoutChromium } from '#test/support/browser.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { until } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { chapterOf, openReaders } from '#test/support/web-readers.ts'

const WORDS = 'Every evening at six the archivist went down to the cellar and asked the two barometers what they remembered. '

const page = (body: string): string =>
  `<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>t</title></head><body>${body}</body></html>`
const chapter = (name: string): string =>
  page(
    `<h1>${name}</h1><p>The opening<a href="#own"><sup>1</sup></a> has a note<a epub:type="noteref" href="notes.xhtml#n1">*</a> elsewhere.</p>` +
      `<p><img src="map.jpg" alt="A map of the coast"/></p>` +
      Array.from({ length: 30 }, (_, at) => `<p id="p${at}">${name} ${at}. ${WORDS.repeat(3)}</p>`).join('') +
      '<p><a id="own"/>1 The answers were read aloud.</p>',
  )

async function makeNovel(): Promise<Uint8Array> {
  const ids = ['c1', 'c2', 'notes']
  const navigation =
    '<nav epub:type="toc"><ol><li><a href="c1.xhtml">One</a></li><li><a href="c2.xhtml">Two</a></li></ol></nav>' +
    '<nav epub:type="page-list"><ol><li><a href="c1.xhtml#p0">xi</a></li><li><a href="c2.xhtml#p20">212</a></li></ol></nav>' +
    '<nav epub:type="landmarks"><ol><li><a epub:type="endnotes" href="notes.xhtml">Notes of the author</a></li></ol></nav>'
  return buildEpub({
    metadata: '<dc:title>Novel</dc:title><dc:language>en</dc:language>',
    manifest:
      ids.map((id) => `<item id="${id}" href="${id}.xhtml" media-type="application/xhtml+xml"/>`).join('') +
      '<item id="map" href="map.jpg" media-type="image/jpeg"/>' +
      '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>',
    spine: ids.map((id) => `<itemref idref="${id}"/>`).join(''),
    files: {
      'c1.xhtml': chapter('First'),
      'c2.xhtml': chapter('Second'),
      'notes.xhtml': page('<aside id="n1"><p>A note of the last page.</p></aside>'),
      'nav.xhtml': page(navigation),
      'map.jpg': await makePicture({ width: 900, height: 600 }),
    },
  })
}

/** Selects words of a paragraph as a mouse does. @param part of its height; by itself they are the first */
async function selectWords(device: Page, frame: Frame, id: string, part?: number): Promise<void> {
  const { x, y, height } = (await frame.locator(`#${id}`).boundingBox()) ?? { x: 0, y: 0, height: 0 }
  const down = y + (part === undefined ? 14 : height * part)
  await device.mouse.move(x + 2, down)
  await device.mouse.down()
  await device.mouse.move(x + 160, down, { steps: 4 })
  await device.mouse.up()
  await device.getByRole('toolbar', { name: 'Mark the selected words' }).waitFor()
}

/** Taps a place of a chapter, also below what floats over it. @param place a rectangle in it */
const tap = (frame: Frame, place: string): Promise<unknown> =>
  frame.evaluate(`(({ x, y, width, height }) => {
    const at = { clientX: x + width / 2, clientY: y + height / 2 }
    document.body.dispatchEvent(new MouseEvent('click', { bubbles: true, ...at }))
  })(${place})`)

/** The rectangle of words that are painted in a color. */
const wordsOf = (color: string): string => `[...CSS.highlights.get('carrel-${color}')][0].getClientRects()[0]`

/** The words that the browser paints as highlights of a color, in the chapter on screen. */
const paintedIn = (frame: Frame, color: string): Promise<string[]> =>
  frame.evaluate(`Array.from(CSS.highlights.get('carrel-${color}') ?? [], String)`)

t.test('Words of a text are marked, and notes, pictures and printed pages are at hand', { skip: withoutChromium() }, async (t) => {
  const { url, idOf, openDevice } = await openReaders(t, { 'Novel/Novel.epub': await makeNovel() })
  const { page: device, complaints } = await openDevice()
  const address = `${url}/books/${idOf('Novel')}/read`
  await device.goto(address)
  const first = await chapterOf(device, 'First 0.')
  // With another face the paragraphs have other places.
  await first.evaluate('document.fonts.ready.then(() => true)')

  await t.test('A highlight with a note is kept, found in the list, and stays on its words at another size', async (t) => {
    await selectWords(device, first, 'p0')
    await device.getByRole('button', { name: 'Sky' }).click()
    const [words = ''] = await until(async () => (await paintedIn(first, 'sky')).length > 0 && (await paintedIn(first, 'sky')))
    t.match(words, /^First 0\. Every/)
    await first.locator('#p0').click({ position: { x: 20, y: 14 } })
    await device.getByRole('textbox', { name: 'Note' }).fill('Compare page 34.')
    await device.getByRole('button', { name: 'Rose' }).click()
    await device.getByRole('button', { name: 'Save' }).click()
    await device.getByRole('form', { name: 'Highlight' }).waitFor({ state: 'detached' })
    await device.setViewportSize({ width: 700, height: 900 })
    await until(async () => (await paintedIn(first, 'rose'))[0] === words)
    await device.setViewportSize({ width: 1200, height: 800 })

    const { page: other } = await openDevice()
    await other.goto(`${address}?incognito=1`)
    await chapterOf(other, 'First 0.')
    await other.keyboard.press('End')
    await chapterOf(other, 'A note of the last page.')
    await other.keyboard.press('c')
    await other.getByRole('button', { name: 'Highlights' }).click()
    await other.getByText('Compare page 34.').click()
    const there = await chapterOf(other, 'First 0.')
    await until(async () => (await paintedIn(there, 'rose'))[0] === words)
    await other.close()
  })

  await t.test('A highlight that the server refuses says so, and its note stays in the field', async () => {
    await device.route('**/annotations/*', (route) =>
      route.fulfill({ status: 503, contentType: 'application/json', body: '{"error":"busy","message":"The server is busy."}' }),
    )
    await first.locator('#p0').click({ position: { x: 20, y: 14 } })
    await device.getByRole('textbox', { name: 'Note' }).fill('A second thought.')
    await device.getByRole('button', { name: 'Save' }).click()
    await device.getByRole('alert').getByText('The server is busy.').waitFor()
    await device.unroute('**/annotations/*')
    await device.getByRole('button', { name: 'Save' }).click()
    await device.getByRole('form', { name: 'Highlight' }).waitFor({ state: 'detached' })
  })

  await t.test('A note that is typed is saved by a tap on another highlight and by one beside it, which turns no page', async (t) => {
    const note = device.getByRole('textbox', { name: 'Note' })
    const shows = (text: string) => until(async () => (await note.count()) === 1 && (await note.inputValue()) === text)
    await selectWords(device, first, 'p0', 0.5)
    await device.getByRole('button', { name: 'Sage' }).click()
    await until(async () => (await paintedIn(first, 'sage')).length > 0)
    await tap(first, wordsOf('rose'))
    await shows('A second thought.')
    await note.fill('A third thought.')
    await tap(first, wordsOf('sage'))
    await shows('')
    await note.fill('Typed beside it.')
    const pageNow = () => device.evaluate(`document.querySelector('foliate-paginator').page`)
    const before = await pageNow()
    await tap(first, '{ x: innerWidth - 2, y: 1, width: 1, height: 1 }')
    await device.getByRole('form', { name: 'Highlight' }).waitFor({ state: 'detached' })
    t.equal(await pageNow(), before)
    await tap(first, wordsOf('rose'))
    await shows('A third thought.')
    await tap(first, wordsOf('sage'))
    await shows('Typed beside it.')
    await device.getByRole('button', { name: 'Save' }).click()
    await device.getByRole('form', { name: 'Highlight' }).waitFor({ state: 'detached' })
  })

  await t.test('A note that is typed is saved when the browser goes back', async () => {
    const { page: left } = await openDevice()
    const book = `/books/${idOf('Novel')}`
    await left.goto(url + book)
    await left.getByRole('heading', { level: 1 }).waitFor()
    await left.evaluate(`history.pushState(null, '', ${JSON.stringify(`${book}/read`)})`)
    const chapter = await chapterOf(left, 'First 0.')
    await until(async () => (await paintedIn(chapter, 'sage')).length > 0)
    await tap(chapter, wordsOf('sage'))
    await left.getByRole('textbox', { name: 'Note' }).fill('Typed before leaving.')
    await left.goBack()
    await until(async () => (await (await left.request.get(`${url}/api/v1${book}/annotations`)).text()).includes('Typed before leaving.'))
    await left.close()
  })

  await t.test('Notes of the chapter and of another file open over the text', async () => {
    const note = device.getByRole('note')
    await first.getByRole('link', { name: '1' }).first().click()
    await note.getByText('The answers were read aloud.').waitFor()
    await note.getByRole('button', { name: 'Close' }).click()
    await first.getByRole('link', { name: '*' }).first().click()
    await note.getByText('A note of the last page.').waitFor()
    await note.getByRole('button', { name: 'Close' }).click()
  })

  await t.test('A picture is enlarged by a tap, and further by the wheel', async (t) => {
    await first.getByRole('img', { name: 'A map of the coast' }).click()
    const picture = device.getByRole('dialog', { name: 'A map of the coast' }).getByRole('img')
    await picture.waitFor()
    const before = await picture.boundingBox()
    await device.keyboard.press('+')
    await until(async () => ((await picture.boundingBox())?.width ?? 0) > (before?.width ?? 0))
    await device.keyboard.press('Escape')
    await picture.waitFor({ state: 'detached' })
    t.ok(before && before.width > 500, 'it fills the screen')
  })

  await t.test('Printed pages and parts of the book lead to their places', async () => {
    await device.keyboard.press('c')
    await device.getByRole('button', { name: 'Pages', exact: true }).click()
    await device.getByRole('button', { name: '212' }).click()
    await chapterOf(device, 'Second 20.')
    await device.keyboard.press('c')
    await device.getByRole('button', { name: 'Notes of the author' }).click()
    await chapterOf(device, 'A note of the last page.')
  })

  t.same(complaints, [], 'no script fails, and the policy forbids nothing')
})
