// Where the database cluster of the tests lies. Its keeper and test/run.ts know no more of it: what imports tap becomes a test itself.
import { createHash } from 'node:crypto'
import { accessSync, constants, statfsSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** The databases of a run at any one time are some hundred megabytes, and so is PostgreSQL's log of changes. */
const FREE_BYTES_MIN = 2 * 1024 ** 3
const MEMORY_FOLDER = '/dev/shm'

export const KEEPER = path.join(import.meta.dirname, 'database-keeper.ts')
const repository = createHash('sha256').update(KEEPER).digest('hex').slice(0, 12)
/** One cluster for all test processes of one checkout and user, where PostgreSQL's user reaches it. */
export const CLUSTER_FOLDER = path.join(findRoomyFolder(), `carrel-test-${process.getuid?.() ?? 0}-${repository}`)
/** The keeper lives while somebody is connected here, and some seconds more. */
export const KEEPER_SOCKET = path.join(CLUSTER_FOLDER, 'keeper.sock')

/**
 * The folder below which the databases of tests lie: in memory where there is room. To make and drop one takes 40 ms of a core there, and 500 ms on a
 * disk with ext4. Libraries and data folders of tests lie elsewhere: the server takes none below /dev.
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
