import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import sharp from 'sharp'
import { scanPage } from '#bench/page-pictures.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { awaitScan, type RunningServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

/** Comics that show covers on the home page. */
const COMICS = 12
/** Pages of some 700 KB. */
const SCANNED_PAGES = 60
const LONG_BOOK_PAGES = 500
const CHAPTERS = 20
const CHAPTER_BYTES = 100_000
/** Pages that differ; more are copies of these under other addresses, which a browser loads and decodes each by itself. */
const PICTURES = 6

/** Ids of the books that are read. */
export interface ReadBooks {
  comics: string[]
  scans: string
  long: string
  text: string
  series: string
}

/** Writes real books, adds them to the server as a library, and waits until they are analyzed. */
export async function addReadBooks(server: RunningServer, folder: string): Promise<ReadBooks> {
  for (const name of ['Comics', 'Scans', 'Long', 'Text']) mkdirSync(path.join(folder, name), { recursive: true })
  const scans = await Promise.all(Array.from({ length: PICTURES }, () => scanPage()))
  // Small files of full size: what the browser keeps is the decoded picture, whatever its file has.
  const light = await Promise.all(scans.map((each) => sharp(each).jpeg({ quality: 12 }).toBuffer()))
  const comic = (pages: readonly Buffer[], count: number) =>
    buildZip(
      Array.from({ length: count }, (_, at) => ({
        name: `${String(at + 1).padStart(3, '0')}.jpg`,
        data: pages[at % pages.length] as Buffer,
      })),
    )
  for (let n = 1; n <= COMICS; n++) {
    const pages = [scans[n % PICTURES], light[(n + 1) % PICTURES], light[(n + Math.ceil(n / PICTURES)) % PICTURES]] as Buffer[]
    writeFileSync(path.join(folder, 'Comics', `Comics ${String(n).padStart(2, '0')}.cbz`), comic(pages, 2 + n))
  }
  writeFileSync(path.join(folder, 'Scans', 'Scans.cbz'), comic(scans, SCANNED_PAGES))
  writeFileSync(path.join(folder, 'Long', 'Long.cbz'), comic(light, LONG_BOOK_PAGES))
  writeFileSync(path.join(folder, 'Text', 'Text.epub'), textBook())
  const library = await server.post<{ id: string }>('/api/v1/libraries', { name: 'Read', path: folder, scanImmediately: false })
  await server.post(`/api/v1/libraries/${library.id}/scan`)
  await awaitScan(server, library.id, { analyzed: true, timeoutMs: 180_000 })
  const { data } = await server.get<{
    data: { id: string; seriesId: string; pageCount: number; fileFormat?: string; seriesName: string }[]
  }>(`/api/v1/books?libraryId=${library.id}&pageSize=50`)
  const of = (series: string) => data.filter(({ seriesName }) => seriesName === series)
  const one = (series: string) => {
    const book = of(series)[0]
    if (!book)
      throw new Error(`The library has no book of the series ${series}: ${JSON.stringify(data.map(({ seriesName }) => seriesName))}`)
    return book.id
  }
  return {
    comics: of('Comics').map(({ id }) => id),
    ...{ scans: one('Scans'), long: one('Long'), text: one('Text'), series: of('Comics')[0]?.seriesId as string },
  }
}

function textBook(): Buffer {
  const names = Array.from({ length: CHAPTERS }, (_, at) => `c${at + 1}`)
  const sentence = 'Every evening at six the archivist went down to the cellar and asked the two barometers what they remembered. '
  const paragraph = `<p>${sentence.repeat(5)}</p>`
  const chapter = (name: string) =>
    `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>${name}</title></head><body><h1>Chapter ${name}</h1>${paragraph.repeat(Math.ceil(CHAPTER_BYTES / paragraph.length))}</body></html>`
  return buildEpub({
    metadata: '<dc:title>Text</dc:title><dc:language>en</dc:language>',
    manifest: names.map((name) => `<item id="${name}" href="${name}.xhtml" media-type="application/xhtml+xml"/>`).join(''),
    spine: names.map((name) => `<itemref idref="${name}"/>`).join(''),
    files: Object.fromEntries(names.map((name) => [`${name}.xhtml`, chapter(name)])),
  })
}
