import type { Knex } from 'knex'
import { type LibraryRow, recordDevices } from '#core/catalog/library-store.ts'
import { isInPart } from '#core/scan/scan-part.ts'

/** A library may consist of many mounted places; with more, those that come last are not recorded. */
const DEVICES_MAX = 1_000

interface Walked {
  library: LibraryRow
  /** The folder that was walked, relative to the library; '' for all of it. */
  part: string
  /** Of the root, and of folders on another device than the one above. */
  devices: ReadonlyMap<string, number>
  unreadable: ReadonlySet<string>
}

/** Records the devices that a walk has seen, see migrations/0008_scans.ts; those of other places stay as they were. */
export async function keepDevices(database: Knex, { library, part, devices, unreadable }: Walked): Promise<void> {
  const before = (library.devices ?? {}) as Record<string, number>
  const isHidden = (folder: string) => [...unreadable].some((path) => folder === path || folder.startsWith(`${path}/`))
  const kept = Object.entries(before).filter(([folder]) => !isInPart(part, folder) || (unreadable.size > 0 && isHidden(folder)))
  const now = new Map([...kept, ...devices].slice(0, DEVICES_MAX))
  const isSame = now.size === Object.keys(before).length && [...now].every(([folder, one]) => before[folder] === one)
  if (!isSame) await recordDevices(database, library.id, Object.fromEntries(now))
}
