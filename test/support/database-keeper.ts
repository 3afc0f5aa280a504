// Runs the test cluster of one checkout: starts it, sends its address to every process that connects, and stops it when no process is connected.
import { rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import net from 'node:net'
import { openDataFolder } from '#core/embedded/data-folder.ts'
import { openEmbeddedPostgres } from '#core/embedded/embedded-postgres.ts'
import { silentLog } from '#core/foundation/log.ts'
import { CLUSTER_FOLDER, KEEPER_SOCKET } from '#test/support/cluster-folder.ts'

/** Between two test files of one run, no process is connected for a moment. */
const LINGER_MS = 8_000

// When two keepers start at once, one gets the lock of the folder; the other ends, and its test connects to the first.
const folder = await openDataFolder(CLUSTER_FOLDER, 'command').catch(() => process.exit(0))
const postgres = await openEmbeddedPostgres({
  folder: folder.path,
  log: silentLog,
  onExit: () => process.exit(1),
  mayCreateDatabases: true,
  // The data is needed only during the run, so it need not reach the disk.
  settings: {
    ...{
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      wal_level: 'minimal',
      max_wal_senders: '0',
      max_wal_size: '256MB',
    },
    ...{ max_connections: '200', autovacuum: 'off' },
  },
})

await rm(KEEPER_SOCKET, { force: true })
let linger = setTimeout(close, LINGER_MS)
const users = new Set<net.Socket>()
const server = net.createServer((socket) => {
  users.add(socket)
  clearTimeout(linger)
  socket.on('error', () => socket.destroy())
  // test/run.ts ends the cluster at once instead of after the pause.
  socket.on('data', (chunk) => {
    if (chunk.toString() === 'close\n' && users.size === 1) void close()
  })
  socket.on('close', () => {
    users.delete(socket)
    clearTimeout(linger)
    if (users.size === 0) linger = setTimeout(close, LINGER_MS)
  })
  socket.write(`${postgres.urlOf('__name__')}\n`)
})
server.listen(KEEPER_SOCKET)
process.on('SIGTERM', close)

async function close(): Promise<void> {
  server.close()
  await postgres.close()
  await folder.close()
  rmSync(CLUSTER_FOLDER, { recursive: true, force: true })
  process.exit(0)
}
