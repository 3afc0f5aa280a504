import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { openComposition } from '#api/compose.ts'
import { Server } from '#api/server.ts'
import { webPlaces } from '#api/web/build.ts'
import { WebInterface } from '#api/web/web-interface.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { findServerPool } from '#test/support/pool.ts'
import { TEST_PASSWORD_COST, testSettings } from '#test/support/server.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The whole server with its web interface, which is built when it is missing, without any user; its tasks run. @param books the only folder for libraries */
export async function openWebServer(t: Test, { books }: { books: string }) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'carrel-web-data-'))
  const { database } = await openTestDatabase(t, { poolMax: 10 })
  const composition = await openComposition({
    settings: testSettings({ dataFolder: folder, filesystemRoots: [books] }),
    log: silentLog,
    database,
    passwordCost: TEST_PASSWORD_COST,
    pool: findServerPool(),
    supervisor: findSupervisor(),
  })
  const web = new WebInterface({
    places: webPlaces(ROOT),
    mayBuild: true,
    readStart: async () => ({ name: 'Carrel', hasDocs: false }),
    log: { ...silentLog, warn: (fields, message) => t.comment(message, fields) },
  })
  const server = new Server(composition.services, { web })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(async () => {
    await web.close()
    await server.close({ deadlineMs: 500 })
    await composition.close()
    await rm(folder, { recursive: true, force: true })
  })
  await Promise.all([web.start(), composition.start()])
  return { url, database, services: composition.services }
}
