// The folder of the tests' database cluster. It is separate from database.ts, because a file that imports tap becomes a test.
import { createHash } from 'node:crypto'
import { accessSync, constants, statfsSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** The concurrent databases of a run take some hundred megabytes, and the write-ahead log of PostgreSQL as much. */
const FREE_BYTES_MIN = 2 * 1024 ** 3
const MEMORY_FOLDER = '/dev/shm'

export const KEEPER = path.join(import.meta.dirname, 'database-keeper.ts')
const repository = createHash('sha256').update(KEEPER).digest('hex').slice(0, 12)
/** One cluster for all test processes of one checkout and user, at a path that PostgreSQL's user can access. */
export const CLUSTER_FOLDER = path.join(findRoomyFolder(), `carrel-test-${process.getuid?.() ?? 0}-${repository}`)
/** The keeper runs while a process is connected here, and some seconds longer. */
export const KEEPER_SOCKET = path.join(CLUSTER_FOLDER, 'keeper.sock')

/**
 * The parent folder of the test databases: in memory if there is enough space. Creating and dropping a database takes 40 ms of a core there, and
 * 500 ms on a disk with ext4. Libraries and data folders of tests are elsewhere, because the server accepts none below /dev.
 */
function findRoomyFolder(): string {
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
    return bavail * bsize >= FREE_BYTES_MIN && os.freemem() >= FREE_BYTES_MIN ? MEMORY_FOLDER : os.tmpdir()
  } catch {
    return os.tmpdir()
  }
}
