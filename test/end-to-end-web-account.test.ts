import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import t from 'tap'
import { withoutChromium } from '#test/support/browser.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { until } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { chapterOf, openReaders } from '#test/support/web-readers.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const chapter = (title: string): string =>
  `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>${title}</title></head><body><h1>${title}</h1><p>${title} words. </p></body></html>`

const NAV =
  '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>Contents</title></head><body>' +
  '<nav epub:type="toc"><ol><li><a href="c1.xhtml">Fog</a><ol><li><a href="c2.xhtml">The ferry</a></li></ol></li></ol></nav></body></html>'

async function makeBooks(): Promise<Record<string, Uint8Array>> {
  const data = await makePicture({ width: 300, height: 450 })
  const comic = (writer: string, tag: string, volume: number) =>
    buildZip([
      ...['1.jpg', '2.jpg', '3.jpg'].map((name) => ({ name, data })),
      {
        name: 'ComicInfo.xml',
        data: Buffer.from(
          `<ComicInfo><Volume>${volume}</Volume><Writer>${writer}</Writer><Letterer>Anne Ek</Letterer><Genre>Drama</Genre><Tags>${tag}</Tags></ComicInfo>`,
        ),
      },
    ])
  const novel = buildEpub({
    metadata: '<dc:title>Novel</dc:title><dc:language>en</dc:language>',
    manifest:
      ['c1', 'c2'].map((id) => `<item id="${id}" href="${id}.xhtml" media-type="application/xhtml+xml"/>`).join('') +
      '<item id="nav" properties="nav" href="nav.xhtml" media-type="application/xhtml+xml"/>',
    spine: '<itemref idref="c1"/><itemref idref="c2"/>',
    files: { 'c1.xhtml': chapter('Fog'), 'c2.xhtml': chapter('The ferry'), 'nav.xhtml': NAV },
  })
  return {
    'Tide/Tide c1 v01.cbz': comic('Éric Dupont', 'sea', 1),
    'Tide/Tide c2 v01.cbz': comic('Éric Dupont', 'sea', 1),
    'Tide/Tide c3 v02.cbz': comic('Éric Dupont', 'sea', 2),
    'Ash/Ash v01.cbz': comic('Zoe Abara', 'forest', 1),
    'Novel/Novel.epub': novel,
    'Broken/Broken.cbz': Buffer.from('this is no archive'),
  }
}

/** Sends a change as the page does, with its session. */
async function send<T>(page: Page, method: 'POST' | 'PUT', address: string, data: object = {}): Promise<T> {
  const { origin } = new URL(page.url())
  const answer = await page.request.fetch(origin + address, { method, data, headers: { origin } })
  if (!answer.ok()) throw new Error(`${method} ${address}: ${answer.status()} ${await answer.text()}`)
  return (await answer.json().catch(() => null)) as T
}

/** The names of a list on the page, from top to bottom. */
const namesIn = (page: Page, list: string): Promise<string[]> => page.getByRole('list', { name: list }).locator('.name').allTextContents()

t.test('People, tags, history, lists, plugins and errors of the web interface', { skip: withoutChromium() }, async (t) => {
  const { url, idOf, openDevice } = await openReaders(t, await makeBooks())
  const { page, complaints } = await openDevice()
  await page.goto(url)
  const side = page.getByRole('navigation', { name: 'Main', exact: true })

  await t.test('People stand by letter with their numbers of series and lead to them', async () => {
    await side.getByRole('link', { name: 'People' }).click()
    const anne = page.getByRole('link', { name: 'Anne Ek' })
    await anne.waitFor()
    t.match(await anne.textContent(), /Letters.*2 series/)
    await page.getByRole('link', { name: 'E: 1 name' }).click()
    await anne.waitFor({ state: 'detached' })
    await page.getByLabel('Find a person').fill('dupont')
    await page.getByText('1 name', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Éric Dupont' }).click()
    await page.getByRole('button', { name: /Remove the filter/ }).waitFor()
    await page.goBack()
    t.equal(await page.getByLabel('Find a person').inputValue(), 'dupont', 'what was searched for is kept')
  })

  await t.test('Tags and genres lead to what has them', async () => {
    await side.getByRole('link', { name: 'Tags' }).click()
    await page.getByRole('link', { name: 'forest' }).waitFor()
    await page.getByRole('navigation', { name: 'What to show' }).getByRole('link', { name: 'Genres' }).click()
    await page.getByRole('link', { name: 'Drama' }).click()
    await page.waitForURL(/\/series\?genre=Drama/)
  })

  await t.test('A series is rated, and its books stand by volume', async () => {
    const { seriesId } = await (await page.request.get(`${url}/api/v1/books/${idOf('Tide c1 v01')}?full=true`)).json()
    await page.goto(`${url}/series/${seriesId}`)
    await page.getByRole('button', { name: 'Your rating: Rate' }).click()
    await page.getByRole('menuitemradio', { name: '9 of 10', exact: true }).click()
    await page.getByRole('button', { name: 'Your rating: 9 of 10' }).waitFor()
    await page.getByRole('button', { name: 'By volume' }).click()
    await page.getByRole('region', { name: /Volume 1 2 books/ }).waitFor()
    await page.getByRole('button', { name: 'Show the files' }).click()
    await page.getByRole('link', { name: 'Tide c2 v01.cbz' }).waitFor()
  })

  await t.test('The contents of an EPUB open the reader at the chapter', async () => {
    await page.goto(`${url}/books/${idOf('Novel')}`)
    await page
      .getByRole('region', { name: /Contents/ })
      .getByRole('link', { name: 'The ferry' })
      .click()
    await chapterOf(page, 'The ferry words.')
  })

  await t.test('The history says what was read today, and forgets it', async () => {
    const { title } = await (await page.request.get(`${url}/api/v1/books/${idOf('Ash v01')}?full=true`)).json()
    // Today does not end between reading and looking.
    const leftMs = new Date().setHours(24, 0, 0, 0) - Date.now()
    if (leftMs < 60_000) await sleep(leftMs)
    for (const currentPage of [1, 3]) await send(page, 'PUT', `/api/v1/books/${idOf('Ash v01')}/progress`, { currentPage })
    await page.goto(`${url}/history`)
    const today = page.getByRole('region', { name: 'Today' })
    await today.getByText('Pages 1–3 of 3').waitFor()
    await today.getByRole('button', { name: `Remove ${title} from the history` }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await today.getByText('Pages 1–3 of 3').waitFor({ state: 'detached' })
  })

  await t.test('A read list is ordered by buttons and by dragging', async () => {
    const { id } = await send<{ id: string }>(page, 'POST', '/api/v1/read-lists', { name: 'In order', ordered: true })
    const bookIds = ['Tide c1 v01', 'Tide c2 v01', 'Ash v01'].map(idOf)
    await send(page, 'PUT', `/api/v1/read-lists/${id}/books`, { bookIds })
    const stored = async () =>
      (await (await page.request.get(`${url}/api/v1/read-lists/${id}/books`)).json()).data.map((book: { id: string }) => book.id)
    await page.goto(`${url}/read-lists/${id}`)
    await page.getByRole('list', { name: 'Books' }).waitFor()
    const before = await namesIn(page, 'Books')
    await page
      .getByRole('button', { name: /^Move .* down$/ })
      .first()
      .click()
    await until(async () => (await stored()).join() === [bookIds[1], bookIds[0], bookIds[2]].join())
    await until(async () => (await namesIn(page, 'Books')).join() === [before[1], before[0], before[2]].join())

    const handle = page.getByTitle('Drag to another place').first()
    const last = await page.getByRole('list', { name: 'Books' }).getByRole('listitem').last().boundingBox()
    await handle.hover()
    await page.mouse.down()
    await page.mouse.move(last!.x + 10, last!.y + last!.height, { steps: 6 })
    await page.mouse.up()
    await until(async () => (await stored()).join() === [bookIds[0], bookIds[2], bookIds[1]].join())
    await until(async () => (await namesIn(page, 'Books')).join() === [before[0], before[2], before[1]].join())
  })

  await t.test('A plugin works after agreement, recommends, and a dismissal can be taken back', async () => {
    const { pluginId, sha256 } = await send<{ pluginId: string; sha256: string }>(
      page,
      'POST',
      '/api/v1/admin/bundled-plugins/similar-in-library/install',
    )
    await send(page, 'POST', `/api/v1/admin/plugins/${pluginId}/consent`, { sha256 })
    await page.goto(`${url}/recommendations`)
    await page.getByRole('link', { name: 'Choose in your profile' }).click()
    await page.getByRole('button', { name: 'Agree: "Similar in this library"' }).click()
    await page.getByRole('dialog').getByText('reads of the library of each user: ratings of that user').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Agree' }).click()
    await page.getByText('Works for you', { exact: true }).waitFor()
    await side.getByRole('link', { name: 'Recommendations' }).click()
    const dismiss = page.getByRole('button', { name: /^Do not recommend/ })
    await dismiss.first().waitFor()
    const count = await dismiss.count()
    await dismiss.first().click()
    await page.getByText(/is not recommended again/).waitFor()
    await until(async () => (await dismiss.count()) === count - 1)
    await page.getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await dismiss.count()) === count)
  })

  await t.test('Errors stand by type with what to do, and tasks with their state', async () => {
    await page.goto(`${url}/admin/errors`)
    const wrong = page.getByRole('region', { name: 'Not what its name says 1' })
    await wrong.getByText('Broken.cbz').waitFor()
    await wrong.getByRole('button', { name: 'Read Broken again' }).click()
    await page.getByText('Broken is being read again').waitFor()
    await page.getByRole('link', { name: 'Running work' }).click()
    await page.getByText('Scan a library').waitFor()
    await page.getByLabel('Show').selectOption({ label: 'Canceled (0)' })
    await page.getByRole('heading', { name: 'No such tasks' }).waitFor()
  })

  await t.test('What is typed in the profile stays while its records are asked for again, and when that fails', async (t) => {
    await page.goto(`${url}/profile`)
    /** As a tab does in which the user has signed in. */
    const askAgain = () => page.evaluate(`new BroadcastChannel('carrel.session').postMessage('signed-in')`)
    const account = page.getByRole('region', { name: 'Account' })
    const email = account.getByRole('textbox', { name: 'E-mail' })
    await email.fill('ada@new.example')
    const { id } = (await (await page.request.get(`${url}/api/v1/auth/me`)).json()) as { id: string }
    await page.request.fetch(`${url}/api/v1/users/${id}`, { method: 'PATCH', data: { username: 'countess' }, headers: { origin: url } })
    await askAgain()
    await until(async () => (await account.getByRole('textbox', { name: 'Name' }).inputValue()) === 'countess')
    t.equal(await email.inputValue(), 'ada@new.example')

    await page.getByRole('button', { name: 'Make a key' }).click()
    const name = page.getByRole('dialog').getByRole('textbox', { name: 'Name of the app' })
    await name.fill('tablet')
    const body = JSON.stringify({ error: 'refused', message: 'Not now.' })
    await page.route('**/api/v1/api-keys*', (route) => route.fulfill({ status: 403, contentType: 'application/json', body }))
    await askAgain()
    await page.getByText('Not now.').waitFor()
    t.equal(await name.inputValue(), 'tablet')
    await page.unroute('**/api/v1/api-keys*')
  })

  t.same(complaints, [], 'no script fails, the policy forbids nothing that a page does, and no other server is asked')
})
