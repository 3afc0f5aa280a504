import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Endpoint } from '#api/http/endpoint.ts'
import { routes } from '#api/routes/index.ts'
import type { Services } from '#api/services.ts'
import { largestOf } from '#bench/stall/largest.ts'
import { awaitScan, type RunningServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

/** What a page of a list holds at most; every record is as large as its limits allow. */
export const RECORDS = 500
const TITLES = 50
/** One series of so many has all its titles: they cost fifty requests. */
const TITLED_OF = 100
const SCAN_MS = 300_000
/** Of one change of many records, which takes at most 512 KB. */
const PATCH_ROOM = 380_000
/** Changed by one statement, which also writes their words into the index of the search. */
const AT_ONCE = 5

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** Fields that are checked by more than their schema. */
const VALID = {
  isbns: '9780306406157',
  languageIso: 'en',
  language: 'en',
  year: 2020,
  month: 1,
  day: 1,
  translator: 'A person',
  series: 'Series',
}

export interface PlantedLibrary {
  libraryId: string
  bookIds: string[]
  seriesIds: string[]
}

/** A folder of comics, each a series of its own. */
export function writeFolder(folder: string, records: number): void {
  for (let index = 0; index < records; index++) {
    mkdirSync(join(folder, `Series ${index}`), { recursive: true })
    writeFileSync(
      join(folder, `Series ${index}`, `Book ${index}.cbz`),
      buildZip([{ name: '1.gif', data: PIXEL }], { comment: Buffer.from(`book ${index}`) }),
    )
  }
}

/** Makes a library of the folder and gives every record the largest metadata there may be. */
export async function plantLibrary(server: RunningServer, folder: string): Promise<PlantedLibrary> {
  const { id: libraryId } = await server.post<{ id: string }>('/api/v1/libraries', { name: 'Large', path: folder })
  await server.post(`/api/v1/libraries/${libraryId}/scan`).catch(() => {})
  await awaitScan(server, libraryId, { analysed: true, timeoutMs: SCAN_MS })
  const idsOf = async (kind: string) =>
    (await server.get<{ data: { id: string }[] }>(`/api/v1/${kind}?pageSize=${RECORDS}`)).data.map(({ id }) => id)
  const [bookIds, seriesIds] = [await idsOf('books'), await idsOf('series')]
  await patch(server, 'books', bookIds)
  await patch(server, 'series', seriesIds)
  for (const id of seriesIds.slice(0, Math.ceil(seriesIds.length / TITLED_OF))) {
    for (let number = 0; number < TITLES; number++) {
      await server.post(`/api/v1/series/${id}/alternate-titles`, { label: `Label ${number}`, title: `Title ${number} `.repeat(40).trim() })
    }
  }
  return { libraryId, bookIds, seriesIds }
}

async function patch(server: RunningServer, kind: 'books' | 'series', ids: string[]): Promise<void> {
  const path = `/api/v1/${kind}/bulk/metadata`
  const route = routes.find((one) => one.method === 'PATCH' && one.path === path) as Endpoint<Services>
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const chunk = ids.slice(at, at + AT_ONCE)
    const body = largestOf(route.body ?? {}, 'body', PATCH_ROOM, { ...VALID, bookIds: chunk, seriesIds: chunk } as never)
    const answer = await fetch(server.url + path, {
      method: 'PATCH',
      headers: { ...server.headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`PATCH ${path}: ${answer.status} ${(await answer.text()).slice(0, 2_000)}`)
  }
}
