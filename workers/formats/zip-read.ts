import { read } from 'node:fs'
import { type InputType, inflateRaw, inflateRawSync, type ZlibOptions } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { Problem, ZipLocation } from '#core/metadata/analysis.ts'
import { BookFault } from '../fault.ts'
import { fileRefusal } from './file-refusal.ts'
import { inflateFault } from './zip/zip.ts'

/** What is read of a zip by its place. */
export interface PlacedEntry {
  name: string
  /** Unpacked, as declared. */
  bytes: number
  zip: ZipLocation
}

/** What was found when an entry was checked. */
export interface CheckedEntry {
  /** Nothing follows its last block: as a gzip it would end in other bytes than its trailer. */
  endsExactly: boolean
}

/** Entries whose size and checksum were found right, by what {@link checkKey} says of them. */
export type CheckedEntries = LRUCache<string, CheckedEntry>

/** Some 200 books of 200 files or pages; 200 bytes each. */
const CHECKED_MAX = 40_000

export function openCheckedEntries(): CheckedEntries {
  return new LRUCache({ max: CHECKED_MAX })
}

/** Of one version of a file. Whatever decides about the outcome is part of it: two records of one place may declare different things. */
export function checkKey(identity: string, { zip, bytes }: PlacedEntry): string {
  return `${identity} ${zip.offset} ${bytes} ${zip.compressedBytes} ${zip.method} ${zip.crc32}`
}

/** Below this, unpacking takes less time than handing it to another thread. */
const INFLATE_HERE_BYTES = 32 * 1024

/** The unpacked data, and how many bytes of `data` it took. */
export async function inflate({ name, bytes }: PlacedEntry, data: Buffer): Promise<{ content: Buffer; taken: number }> {
  // One byte more than declared shows a lie without unpacking it; 0 would mean no limit.
  const options = { maxOutputLength: bytes + 1, info: true }
  try {
    const { buffer, engine } = data.length <= INFLATE_HERE_BYTES ? inflateHere(data, options) : await inflateAside(data, options)
    return { content: buffer, taken: engine.bytesWritten }
  } catch (error) {
    throw inflateFault(name, bytes, error)
  }
}

interface Inflated {
  buffer: Buffer
  engine: { bytesWritten: number }
}

// The types of node do not know what `info` makes of the outcome.
const inflateHere = inflateRawSync as unknown as (data: InputType, options: ZlibOptions) => Inflated
const inflateAside = (data: InputType, options: ZlibOptions): Promise<Inflated> =>
  new Promise((resolve, reject) => {
    inflateRaw(data, options, (error, inflated) => (error ? reject(error) : resolve(inflated as unknown as Inflated)))
  })

/** The bytes at `offset` behind `before` bytes that are free, and `after` more behind them; shorter when the file ends in them. */
export function readBytes(fd: number, place: { offset: number; bytes: number }, { before = 0, after = 0 } = {}): Promise<Buffer> {
  const { offset, bytes } = place
  const buffer = Buffer.allocUnsafeSlow(before + bytes + after)
  return new Promise((resolve, reject) => {
    const more = (filled: number) => {
      read(fd, buffer, before + filled, bytes - filled, offset + filled, (error, got) => {
        if (error) reject(error)
        else if (filled + got === bytes) resolve(buffer)
        else if (got === 0) resolve(buffer.subarray(0, before + filled))
        else more(filled + got)
      })
    }
    more(0)
  })
}

/** What the file system refused keeps its `code` and `syscall` in the details: whoever remembers problems tells it by them from damage. */
export function pageProblem(error: unknown): Problem {
  if (error instanceof BookFault) return { ...error.problem, fatal: false }
  return { ...fileRefusal(error), type: 'page_extraction', fatal: false }
}
