import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { makePicture } from '#test/support/pictures.ts'
import { awaitScan, type RunningServer, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const BOOKS = 60
const BROKEN = 10

async function writeLibrary(folder: string): Promise<void> {
  const page = await makePicture({ width: 400, height: 600, noise: true })
  for (let index = 0; index < BOOKS; index++) {
    const series = join(folder, `Series ${index % 7}`)
    mkdirSync(series, { recursive: true })
    const pages = Array.from({ length: 5 }, (_, number) => ({ name: `p${number + 1}.jpg`, data: page }))
    // Some megabytes of ballast keep each analysis long enough to be caught in the middle.
    const ballast = { name: 'ballast.bin', data: randomBytes(3_000_000) }
    writeFileSync(join(series, `Book ${index}.cbz`), buildZip([...pages, ballast]))
  }
  for (let index = 0; index < BROKEN; index++) writeFileSync(join(folder, 'Series 0', `broken ${index}.cbz`), `not a book ${index}`)
}

interface Row {
  id: string
  filePath: string
  fileHash: string
  pageCount: number
  analyzed: boolean
  seriesName: string
  title: string
  updatedAt: string
}

/** Everything a reader can see of the library, without ids and times, as one value to compare. */
async function picture(server: RunningServer): Promise<{ rows: Row[]; digest: string }> {
  const { data } = await server.get<{ data: Row[] }>('/api/v1/books?pageSize=500')
  const rows = data.sort((a, b) => (a.filePath < b.filePath ? -1 : 1))
  const errors = await server.get<{ errorCounts: Record<string, number>; totalBooksWithErrors: number }>('/api/v1/books/errors')
  const facts = rows.map(({ filePath, fileHash, pageCount, analyzed, seriesName, title }) => [
    filePath,
    fileHash,
    pageCount,
    analyzed,
    seriesName,
    title,
  ])
  const digest = createHash('sha256')
    .update(JSON.stringify([facts, errors.errorCounts, errors.totalBooksWithErrors]))
    .digest('hex')
  return { rows, digest }
}

const firstLibrary = async (server: RunningServer) =>
  (await server.get<{ data: { id: string }[] }>('/api/v1/libraries')).data[0]?.id as string

t.setTimeout(600_000)
t.test('kill -9 in the middle of scan and analysis', { timeout: 600_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-crash-'))
  const library = join(folder, 'library')
  await writeLibrary(library)
  const servers: RunningServer[] = []
  const start = async (data: string) => {
    const server = await startServer({ dataFolder: join(folder, data), args: ['--library', library] })
    servers.push(server)
    return server
  }
  t.teardown(async () => {
    for (const server of servers) await server.stop().catch(() => {})
    rmSync(folder, { recursive: true, force: true })
  })

  const begun = Date.now()
  const calm = await start('undisturbed')
  const startMs = Date.now() - begun
  await awaitScan(calm, await firstLibrary(calm), { analyzed: true, timeoutMs: 240_000 })
  const undisturbed = await picture(calm)
  t.equal(undisturbed.rows.length, BOOKS + BROKEN, 'the undisturbed run has every book')
  await calm.stop()

  let killed = await start('killed')
  let finished: Map<string, string> = new Map()
  for (const share of [0.2, 0.6]) {
    const deadline = Date.now() + 240_000
    for (;;) {
      const { data } = await killed.get<{ data: Row[] }>('/api/v1/books?pageSize=500')
      const analyzed = data.filter((row) => row.analyzed)
      if (analyzed.length >= BOOKS * share || Date.now() > deadline) {
        finished = new Map(analyzed.map((row) => [row.id, row.updatedAt]))
        break
      }
      await sleep(10)
    }
    await killed.kill()
    t.ok(finished.size >= BOOKS * share, `killed with ${finished.size} of ${BOOKS} books analyzed`)
    t.ok(finished.size < BOOKS, 'which is in the middle')
    const restartedAt = Date.now()
    killed = await start('killed')
    t.ok(Date.now() - restartedAt < 2 * startMs + 20_000, 'the next start is not held up')
  }
  await awaitScan(killed, await firstLibrary(killed), { analyzed: true, timeoutMs: 240_000 })
  const after = await picture(killed)
  t.equal(after.digest, undisturbed.digest, 'the result is that of an undisturbed run')
  const redone = after.rows.filter((row) => finished.has(row.id) && finished.get(row.id) !== row.updatedAt)
  t.same(redone, [], 'no book that was finished before the kill was done again')
  t.equal(await killed.stop(), 0, 'and the server stops with exit code 0')
})
