import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Endpoint } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'
import { routes } from '#api/routes.ts'
import { copyToAll } from '#bench/stall/copies.ts'
import { send } from '#bench/stall/input.ts'
import { largestOf } from '#bench/stall/largest.ts'
import { NAMES } from '#bench/stall/texts.ts'
import { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import type { Field } from '#core/fields/field.ts'
import { ALTERNATE_TITLES_MAX } from '#core/fields/limits.ts'
import { awaitScan, type RunningServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

/** The largest page of a list; every record is as large as its limits allow. */
export const RECORDS = 500
/** One fewer than allowed, so that one can be added. */
const TITLES = ALTERNATE_TITLES_MAX - 1
const SCAN_MS = 300_000
/** Characters of JSON in one change, which may have at most 512 KB. */
const PATCH_ROOM = 380_000
/** Members that fill a request alone. */
const LARGE = ['authors', 'awards', 'subjects']

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** Valid values of fields that have rules beyond their schema. The people are in one list, which has a limit of its own. */
export const VALID = {
  ...Object.fromEntries((BOOK_FIELDS as readonly Field[]).filter(({ role }) => role).map(({ name }) => [name, 'A person'])),
  isbns: '9780306406157',
  languageIso: 'en',
  language: 'en',
  year: 2020,
  month: 1,
  day: 1,
  series: 'Series',
}

export interface LibraryFixture {
  libraryId: string
  /** The first is the book of the first series. */
  bookIds: string[]
  seriesIds: string[]
  /** The book with the damaged file. */
  brokenBookId: string
  /** The title of every series. */
  seriesTitle: string
  /** With all series, and with all books. */
  collectionId: string
  readListId: string
}

/** Writes a folder of comics, each in its own series, and one damaged file. */
export function writeFolder(folder: string, records: number): void {
  mkdirSync(join(folder, 'Series 0'), { recursive: true })
  writeFileSync(join(folder, 'Series 0', 'Broken.cbz'), Buffer.alloc(1_000, 'broken'))
  for (let index = 0; index < records; index++) {
    mkdirSync(join(folder, `Series ${index}`), { recursive: true })
    writeFileSync(
      join(folder, `Series ${index}`, `Book ${index}.cbz`),
      buildZip([{ name: '1.gif', data: PIXEL }], { comment: Buffer.from(`book ${index}`) }),
    )
  }
}

/** Creates a library of the folder, with the largest allowed metadata for every record. */
export async function createLibrary(server: RunningServer, folder: string, dataFolder: string): Promise<LibraryFixture> {
  const { id: libraryId } = await server.post<{ id: string }>('/api/v1/libraries', { name: 'Large', path: folder })
  await server.post(`/api/v1/libraries/${libraryId}/scan`).catch(() => {})
  await awaitScan(server, libraryId, { analyzed: true, timeoutMs: SCAN_MS })
  const idsOf = async (kind: string) =>
    (await server.get<{ data: { id: string }[] }>(`/api/v1/${kind}?pageSize=${RECORDS}`)).data.map(({ id }) => id)
  const broken = await server.get<{ groups: { books: { book: { id: string } }[] }[] }>('/api/v1/books/errors')
  const brokenBookId = broken.groups[0]?.books[0]?.book.id ?? ''
  const [bookIds, seriesIds] = [(await idsOf('books')).filter((id) => id !== brokenBookId), await idsOf('series')]
  const [book = ''] = bookIds
  const { data: ownBooks } = await server.get<{ data: { id: string; seriesId: string }[] }>(`/api/v1/books?pageSize=${RECORDS}`)
  const series = ownBooks.find(({ id }) => id === book)?.seriesId ?? ''
  seriesIds.sort((a, b) => Number(b === series) - Number(a === series))
  await enlarge(server, 'books', book)
  await enlarge(server, 'series', series)
  for (let number = 0; number < TITLES; number++) {
    await server.post(`/api/v1/series/${series}/alternate-titles`, {
      label: `Label ${number}`,
      title: `Title ${number} `.repeat(40).trim(),
    })
  }
  for (const taxonomy of ['tags', 'genres']) {
    await send(server, 'PUT', `/api/v1/series/${series}/${taxonomy}`, { [taxonomy]: NAMES })
    await send(server, 'POST', `/api/v1/books/bulk/${taxonomy}`, { bookIds: [book], add: NAMES, remove: [] })
  }
  await copyToAll(dataFolder, 'book', book)
  await copyToAll(dataFolder, 'series', series)
  const { id: collectionId } = await server.post<{ id: string }>('/api/v1/collections', { name: 'Large', seriesIds })
  const { id: readListId } = await server.post<{ id: string }>('/api/v1/read-lists', { name: 'Large', bookIds })
  const { data: named } = await server.get<{ data: { title: string }[] }>('/api/v1/series?pageSize=1')
  const seriesTitle = named[0]?.title ?? ''
  return { libraryId, bookIds, seriesTitle, seriesIds, brokenBookId, collectionId, readListId }
}

/** Gives one record the largest metadata, by several requests, because one request may contain only a part of it. */
async function enlarge(server: RunningServer, kind: 'books' | 'series', id: string): Promise<void> {
  const path = `/api/v1/${kind}/:${kind === 'books' ? 'bookId' : 'seriesId'}/metadata`
  const route = routes.find((one) => one.method === 'PATCH' && one.path === path) as Endpoint<Services>
  const members = Object.entries((route.body as unknown as { properties: Record<string, object> }).properties)
  const isLarge = (name: string) => LARGE.includes(name)
  const parts = [members.filter(([name]) => !isLarge(name)), ...members.filter(([name]) => isLarge(name)).map((member) => [member])]
  for (const part of parts) {
    const body = largestOf({ properties: Object.fromEntries(part) }, 'body', PATCH_ROOM, VALID as never)
    const answer = await fetch(server.url + path.replace(/:\w+/, id), {
      method: 'PATCH',
      headers: { ...server.headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`PATCH ${path}: ${answer.status} ${(await answer.text()).slice(0, 2_000)}`)
  }
}
