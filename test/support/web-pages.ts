import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import type { Watched } from '#test/support/browser.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { until } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { chapterOf, openReaders } from '#test/support/web-readers.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const PAGES = 5
const INFO =
  '<ComicInfo><Writer>Éric Dupont</Writer><Letterer>Anne Ek</Letterer><Publisher>Harbor House</Publisher><Genre>Drama</Genre><Tags>Sea, Folklore</Tags>' +
  '<Year>1999</Year><Summary>Two keepers of one light have not spoken since the winter, and the barometers do not agree.</Summary></ComicInfo>'

async function makeBooks(): Promise<Record<string, Uint8Array>> {
  const pictures = await Promise.all(Array.from({ length: PAGES }, (_, index) => makePicture({ width: 600 + index, height: 900 })))
  const comic = buildZip([
    ...pictures.map((data, index) => ({ name: `page${index + 1}.jpg`, data })),
    { name: 'ComicInfo.xml', data: Buffer.from(INFO) },
  ])
  const text =
    '<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><title>One</title></head><body><h1>One</h1><p>The sea.</p></body></html>'
  const novel = buildEpub({
    metadata: '<dc:title>Novel</dc:title><dc:language>en</dc:language>',
    manifest: '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/>',
    spine: '<itemref idref="c1"/>',
    files: { 'c1.xhtml': text },
  })
  return { 'Tide/Tide 1.cbz': comic, 'Novel/Novel.epub': novel, 'Broken/Broken.cbz': Buffer.from('this is no archive') }
}

interface EveryPage extends Watched {
  url: string
  idOf(name: string): string
  /** The pages in the frame. */
  paths: readonly string[]
  /** Both readers. */
  readers: readonly string[]
  /** Opens a page, and waits until it shows all that it loads. */
  show(path: string): Promise<void>
}

/** A server where every page has something to show, and a signed-in browser. */
export async function openEveryPage(t: Test): Promise<EveryPage> {
  const { url, database, idOf, openDevice } = await openReaders(t, await makeBooks())
  const { page, complaints } = await openDevice()
  const [tide, novel] = [idOf('Tide 1'), idOf('Novel')]
  const { series_id: seriesId, library_id: libraryId } = await database('books').where({ id: tide }).first()
  const send = async (method: 'POST' | 'PUT', path: string, data: object) => {
    const answer = await page.request.fetch(`${url}/api/v1/${path}`, { method, data, headers: { origin: url } })
    if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${await answer.text()}`)
    return (await answer.json().catch(() => null)) as { id: string }
  }
  const collection = await send('POST', 'collections', { name: 'Salt', seriesIds: [seriesId] })
  const readList = await send('POST', 'read-lists', { name: 'Where to begin', bookIds: [tide, novel] })
  await send('PUT', `user/want-to-read/${seriesId}`, {})
  for (const currentPage of [2, 3]) await send('PUT', `books/${tide}/progress`, { currentPage })
  const paths = [
    ...['/', '/series', '/series?view=list', '/books?view=table', '/libraries', `/libraries/${libraryId}`, `/series/${seriesId}`],
    ...[`/books/${tide}`, `/books/${novel}`, `/books/${idOf('Broken')}`, '/collections', `/collections/${collection.id}`, '/read-lists'],
    ...[
      `/read-lists/${readList.id}`,
      '/want-to-read',
      '/people',
      '/tags',
      '/recommendations',
      '/history',
      '/search?q=tide',
      '/profile',
      '/work',
    ],
    ...['libraries', 'errors', 'missing', 'users', 'sharing-tags'].map((section) => `/admin/${section}`),
    ...['/views/none', '/nothing/here'],
  ]
  return {
    ...{ url, page, complaints, idOf, paths },
    readers: [`/books/${tide}/read?page=1`, `/books/${novel}/read`],
    show: async (path) => {
      await page.goto(url + path)
      if (path.startsWith(`/books/${tide}/read`)) await page.getByRole('img', { name: /^Page 1 of/ }).waitFor()
      else if (path.startsWith(`/books/${novel}/read`)) await chapterOf(page, 'The sea.')
      else await showFrame(page)
    },
  }
}

/** Also a page that is loaded apart, and skeletons, which come after a while. */
async function showFrame(page: Page): Promise<void> {
  await page.getByRole('main').getByRole('heading').first().waitFor()
  await page.waitForLoadState('networkidle')
  await until(async () => (await page.locator('.bone').count()) === 0)
}
