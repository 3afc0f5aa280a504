import { readdir, stat } from 'node:fs/promises'
import Type, { type Static } from 'typebox'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { holdsNothing } from '#core/foundation/foreign-folder.ts'
import { Noun, OneOf } from '#core/foundation/schema.ts'

/** Somebody may have taken fewer books out of a folder, or deleted them, one by one. */
const HELD_MIN = 5
/** Somebody deletes one folder, or two; of a lost disk, more vanish at once. */
const VANISHED_MIN = 3
/** Further folders are counted by the numbers of the scan; nobody reads so many. */
export const WITHHELD_MAX = 1_000

/** A folder whose missing books were not marked as deleted. */
export const WithheldFolder = Noun('WithheldFolder')({
  folder: Type.String({ description: 'Relative to the library; `.` is its own folder.' }),
  reason: OneOf(['empty', 'other_device', 'vanished', 'most_missing', 'still_missing']),
  books: Type.Integer({ minimum: 0, description: 'Its missing books.' }),
})
export type WithheldFolder = Static<typeof WithheldFolder>
type Reason = WithheldFolder['reason']

/** The books of a folder that were recorded before the scan, in places that it could read. */
export interface HeldFolder {
  known: number
  /** Those that are missing. What is reported leaves out those that may have been moved. */
  gone: number
  left: number
  /** Some of them were withheld before. */
  wasWithheld: boolean
}

export interface Loss {
  /** Absolute. */
  root: string
  /** By path relative to the root. */
  folders: ReadonlyMap<string, HeldFolder>
  /** Device numbers at the last scan: of the root, and of folders on another device than the one above. */
  devices: Readonly<Record<string, number>>
  /** Folders with books at the last scan: of a scan of a part, `folders` are not all. */
  foldersBefore: number
  /** More than half of the library is missing. */
  isMass: boolean
}

type Facts = { device: number; isEmpty: boolean } | 'gone'

/** What was decided about the folders with missing books. */
export interface WithheldDecision {
  /** The folders to withhold, with the reason. */
  withheld: Map<string, Reason>
  /** Folders of which nothing is left. */
  lost: Set<string>
}

/** Decides of which folders the missing books are withheld, because their disk is the likelier reason than a user who deleted them. */
export async function decideWithheld({ root, folders, devices, foldersBefore, isMass }: Loss): Promise<WithheldDecision> {
  const withheld = new Map<string, Reason>()
  const lost = new Set<string>()
  const vanished: string[] = []
  const place = new Places(root, folders, devices)
  for (const [folder, { known, gone, left, wasWithheld }] of folders) {
    if (gone === 0) continue
    const facts = await place.look(folder)
    const isGone = left === 0 && facts === 'gone'
    const isEmpty = left === 0 && facts !== 'gone' && facts.isEmpty
    if (isGone || isEmpty) lost.add(folder)
    if (isGone) vanished.push(folder)
    if (await place.hasOtherDevice(folder)) withheld.set(folder, 'other_device')
    else if (isEmpty && known >= HELD_MIN) withheld.set(folder, 'empty')
    else if (isMass) withheld.set(folder, 'most_missing')
    // Confirming some of the folders must not mark the others, which then are few.
    else if (wasWithheld) withheld.set(folder, 'still_missing')
  }
  const withBooks = Math.max(folders.size, foldersBefore)
  if (vanished.length >= VANISHED_MIN && vanished.length * 4 > withBooks)
    for (const folder of vanished) if (withheld.get(folder) !== 'other_device') withheld.set(folder, 'vanished')
  return { withheld, lost }
}

const aboveOf = (folder: string): string => folder.slice(0, Math.max(0, folder.lastIndexOf('/')))

/** The folders of a library as they are now, and what is recorded of them. */
class Places {
  readonly #root: string
  readonly #folders: Loss['folders']
  readonly #devices: Loss['devices']
  readonly #facts = new Map<string, Facts>()
  readonly #held = new Map<string, number>()

  constructor(root: string, folders: Loss['folders'], devices: Loss['devices']) {
    this.#root = root
    this.#folders = folders
    this.#devices = devices
  }

  async look(folder: string): Promise<Facts> {
    const known = this.#facts.get(folder)
    if (known !== undefined) return known
    const path = folder === '' ? this.#root : `${this.#root}/${folder}`
    const facts = await askDisk(this.#root, () => Promise.all([stat(path), readdir(path)])).then(
      ([{ dev }, names]): Facts => ({ device: dev, isEmpty: holdsNothing(names) }),
      // The scan has read the folder above, so it is no longer there. If it cannot be read at this moment, the books are not safe to mark either.
      (error: NodeJS.ErrnoException): Facts =>
        error.code === 'ENOENT' || error.code === 'ENOTDIR' ? 'gone' : { device: -1, isEmpty: false },
    )
    this.#facts.set(folder, facts)
    return facts
  }

  /** Whether the folder, or the nearest one above it that is still there, held enough books and is on another device than before. */
  async hasOtherDevice(folder: string): Promise<boolean> {
    let at = folder
    let facts = await this.look(at)
    while (facts === 'gone' && at !== '') {
      at = aboveOf(at)
      facts = await this.look(at)
    }
    const before = this.#recordedDevice(at)
    return facts !== 'gone' && before !== undefined && facts.device !== before && this.#heldBelow(at) >= HELD_MIN
  }

  #recordedDevice(folder: string): number | undefined {
    for (let at = folder; at !== ''; at = aboveOf(at)) if (Object.hasOwn(this.#devices, at)) return this.#devices[at]
    return this.#devices['']
  }

  /** Books at or below the folder. */
  #heldBelow(folder: string): number {
    let held = this.#held.get(folder)
    if (held === undefined) {
      held = 0
      for (const [path, { known }] of this.#folders) if (folder === '' || path === folder || path.startsWith(`${folder}/`)) held += known
      this.#held.set(folder, held)
    }
    return held
  }
}

/** The name of a folder in requests and responses. */
export const shownFolder = (folder: string): string => (folder === '' ? '.' : folder)

/** The other way; one slash at the end does not count. */
export const folderOfShown = (given: string): string => (given === '.' ? '' : given.replace(/^\.\//, '').replace(/\/$/, ''))

const REASONS: Record<Reason, string> = {
  empty: 'it is empty',
  other_device: 'it is on another disk than before',
  vanished: 'it vanished together with several others',
  most_missing: 'more than half of the library is missing',
  still_missing: 'nobody has confirmed it yet',
}

const number = new Intl.NumberFormat('en-US')

/** The sentence about one folder in the report of a scan. */
export function describeWithheld({ folder, reason, books }: WithheldFolder): string {
  const what = books === 1 ? '1 missing book was' : `${number.format(books)} missing books were`
  return `"${folder}": ${what} not marked as deleted, because ${REASONS[reason]}: is its disk mounted? If they are gone for good, scan with confirm=${encodeURIComponent(folder)} (the command scan: with --confirm-folder)`
}
