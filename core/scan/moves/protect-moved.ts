import type { Knex } from 'knex'
import { NO_FILE, readVersions } from '#core/analysis/file-version.ts'
import { isFormerName } from '#core/analysis/former-name.ts'
import { passProtection } from '#core/metadata/protection-store.ts'
import { listSameVersions } from '#core/scan/moves/same-version-query.ts'

/** While a scan holds rows: disks that do not answer in time wait for the analysis, which passes the same on. */
const DISK_MS = 500

/**
 * New files with the size and time of a file that is gone are probably that one, moved. Until their analysis knows it, they are hidden from the same people:
 * their series get the sharing tags, and the age ratings of persons, of the series that the file has left.
 */
export async function protectMoved(trx: Knex.Transaction, bookIds: readonly string[]): Promise<void> {
  const same = await listSameVersions(trx, bookIds)
  if (same.length === 0) return
  const versions = await readVersions(
    same.map(({ root, path, linkTargets }) => ({ root, path, linkTargets, known: NO_FILE })),
    DISK_MS,
  )
  const isGone = await Promise.all(
    same.map(async ({ root, path, now }) => {
      const version = versions.get(path)
      return version === null || (version !== undefined && version !== NO_FILE && (await isFormerName({ root, path }, now)))
    }),
  )
  await passProtection(
    trx,
    same.filter((_, index) => isGone[index]),
    { isChange: false, isMove: true },
  )
}
