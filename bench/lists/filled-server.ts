import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { BOOKS_PER_SERIES, fillBooks } from '#bench/fill-books.ts'
import { computeSeriesNumbers } from '#core/catalog/series-numbers-store.ts'
import { openDatabase } from '#core/database/database.ts'
import { findRunningUrl } from '#core/embedded/embedded-postgres.ts'
import { silentLog } from '#core/foundation/log.ts'
import { type RunningServer, startServer } from '#test/support/running-server.ts'

/** A server with a generated library. */
export interface FilledServer {
  books: number
  server: RunningServer
  client: Client
  url: string
  /** Null if the data was kept from an earlier run. */
  fillSeconds: number | null
  close(): Promise<void>
}

/**
 * Starts a server with so many series; fills its database if that has not been done yet.
 * @param options.env settings of the server
 * @param options.keep a folder for the data, which later runs use again
 */
export async function openFilledServer({
  series,
  keep,
  env = {},
}: {
  series: number
  keep: string | undefined
  env?: Record<string, string>
}): Promise<FilledServer> {
  const books = series * BOOKS_PER_SERIES
  const folder = keep === undefined ? mkdtempSync(join(tmpdir(), 'carrel-bench-lists-')) : join(keep, `books-${books}`)
  mkdirSync(folder, { recursive: true })
  const dataFolder = join(folder, 'data')
  const done = join(folder, 'filled')
  if (!existsSync(done)) rmSync(dataFolder, { recursive: true, force: true })
  const server = await startServer({ dataFolder, env })
  const url = await findRunningUrl(dataFolder)
  if (!url) throw new Error('The database of the server was not found')
  const client = new Client({ connectionString: url })
  await client.connect()
  let fillSeconds: number | null = null
  if (!existsSync(done)) {
    console.log(`Filling ${books} books in ${series} series …`)
    fillSeconds = await fillBooks(client, series, () => computeAll(url))
    writeFileSync(done, '')
  }
  return {
    ...{ books, server, client, url, fillSeconds },
    async close() {
      await client.end()
      await server.stop()
      if (keep === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function computeAll(url: string): Promise<void> {
  const database = openDatabase({ url, poolMax: 2, log: silentLog })
  await computeSeriesNumbers(database)
  await database.destroy()
}
