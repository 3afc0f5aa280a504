import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { until } from '#test/support/library-fixture.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { makePicture } from '#test/support/pictures.ts'
import { buildRar } from '#test/support/rar-builder.ts'
import { awaitScan, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(300_000)

const inside = await makePicture({ width: 40, height: 60, noise: true })
const outside = await makePicture({ width: 40, height: 60, noise: true })
const size = { width: 40, height: 60 }

/** A book of one page and some padding, by which the file outside gets the size of the file inside. */
const BOOKS: Record<string, (page: Buffer, ballast: number) => Buffer> = {
  'zip/book.cbz': (data, ballast) => buildZip([{ name: '1.jpg', data }, ballastOf(ballast)]),
  'rar/book.cbr': (data, ballast) => buildRar([{ name: '1.jpg', data }, ballastOf(ballast)]),
  'solid/book.cbr': (data, ballast) => buildRar([{ name: '1.jpg', data }, ballastOf(ballast)], { solid: true }),
  'pdf/book.pdf': (data, ballast) =>
    Buffer.concat([buildPdf({ pages: [{ text: String(crc32(data)), ...size }] }), Buffer.alloc(ballast, '\n')]),
}
const ballastOf = (bytes: number) => ({ name: 'ballast.bin', data: Buffer.alloc(bytes, 'b') })
const BALLAST_BYTES = 20_000

interface Book {
  id: string
  filePath: string
  fileHash: string
  title: string
}

t.test('folders and files that become links after the scan reveal nothing', async (t) => {
  const room = mkdtempSync(join(tmpdir(), 'carrel-exchanged-'))
  t.teardown(() => rmSync(room, { recursive: true, force: true }))
  const library = join(room, 'library')
  const elsewhere = join(room, 'elsewhere')
  const time = new Date('2024-05-06T07:08:09Z')
  const put = (path: string, bytes: string | Buffer) => {
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, bytes)
    utimesSync(path, time, time)
  }
  for (const [name, build] of Object.entries(BOOKS)) {
    put(join(library, name), build(inside, BALLAST_BYTES))
    const { size } = statSync(join(library, name))
    put(join(elsewhere, name), build(outside, BALLAST_BYTES + size - build(outside, BALLAST_BYTES).length))
    t.equal(statSync(join(elsewhere, name)).size, size, 'the two files have the same size and time')
    put(join(elsewhere, name, '../ComicInfo.xml'), '<ComicInfo><Title>From elsewhere</Title></ComicInfo>')
  }
  put(join(library, 'sidecar/book.cbz'), buildZip([{ name: '1.jpg', data: inside }]))

  const server = await startServer({ dataFolder: join(room, 'data'), args: ['--library', library, '--workers', '1'] })
  t.teardown(() => server.stop())
  const { data: libraries } = await server.get<{ data: { id: string }[] }>('/api/v1/libraries')
  const libraryId = libraries[0]?.id as string
  await awaitScan(server, libraryId, { analyzed: true, timeoutMs: 60_000 })
  const books = async () => (await server.get<{ data: Book[] }>('/api/v1/books?pageSize=100')).data.sort(byPath)
  const bytesOf = async (path: string) => {
    const answer = await fetch(`${server.url}/api/v1/books/${path}`, { headers: server.headers })
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) }
  }
  const before = await books()
  t.equal(before.length, 5)
  const covers = await Promise.all(before.map(({ id }) => bytesOf(`${id}/thumbnail`)))

  for (const folder of ['zip', 'rar', 'solid', 'pdf']) {
    renameSync(join(library, folder), join(room, `was-${folder}`))
    symlinkSync(join(elsewhere, folder), join(library, folder))
  }
  symlinkSync(join(elsewhere, 'zip/ComicInfo.xml'), join(library, 'sidecar/ComicInfo.xml'))

  for (const { id, filePath } of before.filter((book) => !book.filePath.includes('/sidecar/'))) {
    for (const path of ['file', 'pages/1', 'pages/1?width=320']) {
      const answer = await bytesOf(`${id}/${path}`)
      t.equal(answer.status, 404, `${filePath} ${path}`)
      t.notOk(answer.bytes.includes(outside), `${filePath} ${path}`)
    }
  }

  for (const { id } of before) {
    const { taskId } = await server.post<{ taskId: string }>(`/api/v1/books/${id}/analyze`)
    await until(async () => ENDED.has((await server.get<{ status: string }>(`/api/v1/tasks/${taskId}`)).status), 60_000)
  }
  t.same((await books()).map(tell), before.map(tell), 'hashes and titles have not changed')
  t.same(await Promise.all(before.map(({ id }) => bytesOf(`${id}/thumbnail`))), covers, 'covers have not changed')
  const { totalBooksWithErrors } = await server.get<{ totalBooksWithErrors: number }>('/api/v1/books/errors')
  t.equal(totalBooksWithErrors, 4, 'each book has an error')
})

const ENDED = new Set(['completed', 'failed', 'cancelled'])
const byPath = (a: Book, b: Book) => (a.filePath < b.filePath ? -1 : 1)
const tell = ({ filePath, fileHash, title }: Book) => ({ filePath, fileHash, title })
