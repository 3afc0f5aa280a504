import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { enableKomga } from '#test/support/komga-switch.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { comic, until } from '#test/support/library-fixture.ts'
import { openLibraryServer } from '#test/support/library-server.ts'
import { ADMIN } from '#test/support/server.ts'

t.setTimeout(600_000)

interface Page {
  data: { id: string; missing: { why: string; since: string } | null; seriesName: string }[]
  total: number
}

t.test('thousands of missing books are listed, filtered, confirmed and removed', async (t) => {
  const folders = sizeOf('folders of thirty books', { main: 10, full: 100 })
  const files: Record<string, Buffer> = {}
  for (let folder = 0; folder < folders; folder++)
    for (let n = 1; n <= 30; n++) files[`S${folder}/S${folder} ${n}.cbz`] = comic(`${folder} ${n}`)
  const { ask, database, services, libraryId, root, ended, url, put } = await openLibraryServer(t, {
    'Stays/Stays 1.cbz': comic('s'),
    ...files,
  })
  await enableKomga(database)
  const count = folders * 30
  const list = async (query: string) => (await ask<Page>('GET', `books?deleted=only&${query}`)).json
  const scan = async (query = '') => {
    const { status, json } = await ask<{ taskId: string }>('POST', `libraries/${libraryId}/scan${query}`)
    t.equal(status, 202)
    await ended(json.taskId)
    return (await ask('GET', `libraries/${libraryId}/scan-status`)).json
  }
  const lost = Math.floor(folders * 0.4)
  for (let folder = 0; folder < lost; folder++) rmSync(join(root, `S${folder}`), { recursive: true })
  t.match(await scan(), { status: 'completed', withheld: { length: lost } })
  t.match(await list('pageSize=1'), { total: lost * 30, data: [{ missing: { why: 'withheld' } }] })
  const names = Array.from({ length: lost }, (_, folder) => `confirm=S${folder}`)
  t.match(await scan(`?${names.join('&')}`), { status: 'completed', guard: null })
  t.match(await list('pageSize=1'), { total: lost * 30, data: [{ missing: { why: 'folder' } }] })

  for (let folder = lost; folder < folders; folder++) rmSync(join(root, `S${folder}`), { recursive: true })
  t.match(await scan(), { status: 'failed', guard: { missing: (folders - lost) * 30 } })
  t.equal((await list('pageSize=1')).total, count, 'with those that are withheld')
  t.match(await ask('DELETE', `libraries/${libraryId}/purge-deleted`), { status: 200 }, 'only those that are marked')
  t.equal((await list('pageSize=1')).total, count - lost * 30)
  t.match(await scan('?confirm=true'), { status: 'completed', guard: null })

  const left = count - lost * 30
  const ids = new Set<string>()
  for (let page = 1; ids.size < left; page++) {
    const { data, total } = await list(`pageSize=500&page=${page}&sort=title`)
    t.equal(total, left)
    if (data.length === 0) break
    for (const { id } of data) ids.add(id)
  }
  t.equal(ids.size, left, 'each once')
  const { id: seriesId } = await database('series').where('path', `S${lost}`).first('id')
  t.equal((await list(`seriesId=${seriesId}&pageSize=1`)).total, 30)
  t.equal((await list(`libraryId=${libraryId}&pageSize=1`)).total, left)
  const search = (await ask<Page>('POST', 'books/list', { deleted: 'only', fullTextSearch: `S${lost} 7` })).json
  t.ok(search.data.length > 0)
  const headers = { authorization: `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}` }
  const komga = await fetch(`${url}/komga/api/v1/books?deleted=true&size=1`, { headers }).then((answer) => answer.json())
  t.equal((komga as { totalElements: number }).totalElements, left)
  t.equal((await ask<Page>('GET', 'books?pageSize=1')).json.total, 1, 'other lists have what is there')

  put(`S${lost}/S${lost} 7.cbz`, comic(`${lost} 7`))
  await scan()
  t.equal((await list('pageSize=1')).total, left - 1, 'what returns is no longer missing')
  const some = [...ids].slice(0, 100)
  const selected = await ask('POST', 'books/bulk/purge-deleted', { bookIds: some })
  t.ok(selected.status === 200 || selected.status === 409)
  t.match(await ask('DELETE', `libraries/${libraryId}/purge-deleted`), { status: 200 })
  t.equal((await list('pageSize=1')).total, 0)
  await until(async () => (await services.scans.listActive()).length === 0)
  t.same((await database('series').orderBy('path').pluck('path')).sort(), [`S${lost}`, 'Stays'], 'series without any book are gone')
})
