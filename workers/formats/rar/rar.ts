import type { LibraryFile } from '#core/fields/analysis.ts'
import { BookProblem } from '../../book-problem.ts'
import { ENTRIES_MAX, ENTRY_BYTES_MAX, EXTRACT_BYTES_MAX } from '../../limits.ts'
import { tidyName } from '../comic/page-order.ts'
import { lastOfEqualNames } from '../equal-names.ts'
import { RAR_CODES, type RarReader, withRar } from './rar-engine.ts'

/** A file in a RAR, from its header. `index` counts files in archive order and identifies the entry. */
export interface RarEntry {
  index: number
  name: string
  bytes: number
  /** 0 if it is another checksum. */
  crc32: number
  encrypted: boolean
}

export interface RarListing {
  /** In archive order, of equal names the last. */
  entries: RarEntry[]
  /** Entries share one compression history: page n needs all before it. */
  solid: boolean
  /** The listing ends before the archive does: damage, or a missing volume. */
  incomplete: BookProblem | null
}

const ARCHIVE_VOLUME = 0x1
const ARCHIVE_SOLID = 0x8
const ARCHIVE_FIRST_VOLUME = 0x100
const ENTRY_CONTINUED = 0x1
const ENTRY_ENCRYPTED = 0x4
/** Some archives say it here and not in their own header. */
const ENTRY_SOLID = 0x10
const ENTRY_FOLDER = 0x20

/** The initial output buffer: a header may declare hundreds of megabytes for a few bytes. */
const OUTPUT_START_BYTES = 4 * 1024 * 1024

/**
 * Lists the files of a RAR (4 or 5, and further volumes beside it). Throws {@link BookProblem}: `parser` when it cannot be
 * opened or is a later volume of a set, `page_extraction` when its names are encrypted too.
 */
export function listRar(file: LibraryFile): Promise<RarListing> {
  return withRar({ ...file, listOnly: true }, (reader) => {
    refuseUnopened(reader)
    if (isLaterVolume(reader.flags)) {
      throw new BookProblem('parser', 'This is a later part of a RAR archive that was split over several files. Open the first part.')
    }
    const entries: RarEntry[] = []
    let solid = (reader.flags & ARCHIVE_SOLID) !== 0
    let incomplete: BookProblem | null = null
    for (;;) {
      const header = reader.next()
      if (header.code !== RAR_CODES.success) {
        if (header.code !== RAR_CODES.end) incomplete = endedEarly(reader, header.code)
        break
      }
      if ((header.flags & ENTRY_SOLID) !== 0) solid = true
      if (!isPart(header.flags)) {
        if (entries.length === ENTRIES_MAX) {
          throw new BookProblem('parser', `This archive has more than ${ENTRIES_MAX} entries.`, { entriesMax: ENTRIES_MAX })
        }
        entries.push({
          index: entries.length,
          name: tidyName(header.name),
          bytes: header.bytes,
          crc32: header.crc32,
          encrypted: (header.flags & ENTRY_ENCRYPTED) !== 0,
        })
      }
      const code = reader.skip()
      if (code !== RAR_CODES.success) {
        incomplete = endedEarly(reader, code)
        break
      }
    }
    if (entries.length === 0 && incomplete) throw incomplete
    return { entries: lastOfEqualNames(entries), solid, incomplete }
  })
}

/** Content of a wanted entry; incomplete when `fault` is set. Returning false ends the pass. */
type OnRarEntry = (entry: RarEntry, content: Uint8Array, problem: BookProblem | null) => boolean

const NOTHING = new Uint8Array(0)

/**
 * One pass over the archive in its own order; calls back for each wanted entry after checking its CRC. `content` is valid
 * only until the callback returns. Entries that the pass did not reach are reported as faults at the end.
 */
export async function extractRar(file: LibraryFile, wanted: readonly RarEntry[], onEntry: OnRarEntry): Promise<void> {
  const waiting = new Map(wanted.map((entry) => [entry.index, entry]))
  let output: Buffer = Buffer.alloc(0)
  let totalBytes = 0
  let stopped = false
  const ended = await withRar({ ...file, listOnly: false }, (reader): BookProblem => {
    refuseUnopened(reader)
    for (let index = 0; waiting.size > 0; ) {
      const header = reader.next()
      if (header.code !== RAR_CODES.success) return endedEarly(reader, header.code)
      const entry = isPart(header.flags) ? undefined : waiting.get(index++)
      if (!entry) {
        reader.skip()
        continue
      }
      waiting.delete(entry.index)
      if (entry.encrypted) {
        reader.skip()
        if (!onEntry(entry, NOTHING, needsPassword(entry.name))) stopped = true
      } else if (entry.bytes > ENTRY_BYTES_MAX) {
        reader.skip()
        if (!onEntry(entry, NOTHING, tooLarge(entry.name))) stopped = true
      } else {
        let filled = 0
        const code = reader.extract((chunk) => {
          totalBytes += chunk.length
          if (filled + chunk.length > ENTRY_BYTES_MAX || totalBytes > EXTRACT_BYTES_MAX) throw tooLarge(entry.name)
          output = withRoom(output, filled, filled + chunk.length, entry.bytes)
          output.set(chunk, filled)
          filled += chunk.length
        })
        const whole = code === RAR_CODES.success && filled === entry.bytes
        const problem = whole ? null : entryProblem(entry.name, code, reader)
        if (!onEntry(entry, output.subarray(0, filled), problem)) stopped = true
      }
      if (stopped) break
    }
    return endedEarly(reader, RAR_CODES.badData)
  })
  if (stopped) return
  for (const entry of waiting.values()) if (!onEntry(entry, NOTHING, ended)) return
}

function withRoom(output: Buffer, filled: number, needed: number, declared: number): Buffer {
  if (needed <= output.length) return output
  const bytes = Math.min(ENTRY_BYTES_MAX, Math.max(needed, output.length * 2, Math.min(declared, OUTPUT_START_BYTES)))
  const larger = Buffer.allocUnsafeSlow(bytes)
  output.copy(larger, 0, 0, filled)
  return larger
}

/** Folders and continuations of an entry in a later volume are not separate entries. */
const isPart = (flags: number) => (flags & (ENTRY_FOLDER | ENTRY_CONTINUED)) !== 0

/** RAR 3 and later mark the first volume; sets of RAR 2 (before 2002) are refused with the rest. */
function isLaterVolume(archiveFlags: number): boolean {
  return (archiveFlags & ARCHIVE_VOLUME) !== 0 && (archiveFlags & ARCHIVE_FIRST_VOLUME) === 0
}

function refuseUnopened(reader: RarReader): void {
  const code = reader.openCode
  if (code === RAR_CODES.success) return
  if (code === RAR_CODES.needsPassword || code === RAR_CODES.badPassword) throw needsPassword()
  throw new BookProblem('parser', 'This RAR archive cannot be opened: it is damaged or incomplete. Fetch it again.', { code })
}

function endedEarly(reader: RarReader, code: number): BookProblem {
  if (code === RAR_CODES.needsPassword) return needsPassword()
  const volume = reader.missingVolume()
  if (volume !== null) {
    return new BookProblem('parser', `This book continues in "${volume}", which is missing.`, { missingVolume: volume })
  }
  return new BookProblem('parser', 'This RAR archive is damaged or cut off: some of it cannot be read.', { code })
}

function entryProblem(name: string, code: number, reader: RarReader): BookProblem {
  const thrown = reader.thrown()
  if (thrown instanceof BookProblem) return thrown
  if (code === RAR_CODES.needsPassword || code === RAR_CODES.badPassword) return needsPassword(name)
  if (code === RAR_CODES.noMemory) {
    return new BookProblem('page_extraction', `"${name}" needs more memory to unpack than is allowed.`, { entry: name })
  }
  const volume = reader.missingVolume()
  if (volume !== null) {
    return new BookProblem('page_extraction', `"${name}" continues in "${volume}", which is missing.`, {
      entry: name,
      missingVolume: volume,
    })
  }
  return new BookProblem('page_extraction', `"${name}" is damaged: it cannot be unpacked.`, { entry: name, code })
}

function needsPassword(name?: string): BookProblem {
  return new BookProblem('page_extraction', 'This archive is protected by a password. Pack it again without one.', {
    encrypted: true,
    ...(name === undefined ? {} : { entry: name }),
  })
}

function tooLarge(name: string): BookProblem {
  return new BookProblem('page_extraction', `"${name}" would unpack to more than is allowed.`, { entry: name, bytesMax: ENTRY_BYTES_MAX })
}
