import { read } from 'node:fs'
import { promisify } from 'node:util'
import { inflateRaw, inflateRawSync, type ZlibOptions } from 'node:zlib'
import type { Problem, ZipLocation } from '#core/fields/analysis.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { BookProblem } from '../book-problem.ts'
import { fileRefusal } from './file-refusal.ts'
import { inflateProblem } from './zip/zip.ts'

/** A zip entry with its offset. */
export interface LocatedEntry {
  name: string
  /** Unpacked, as declared. */
  bytes: number
  zip: ZipLocation
}

/** The result of checking an entry. */
export interface CheckedEntry {
  /** Nothing follows its last block: otherwise a gzip of it would not end with its trailer. */
  endsExactly: boolean
}

/** Some 200 books of 200 files or pages. */
const CHECKED_BYTES_MAX = 18 * 1024 * 1024

/** Entries whose size and checksum are correct, by {@link checkKey}. */
export class CheckedEntries extends BoundedCache<CheckedEntry> {
  constructor() {
    super({ bytesMax: CHECKED_BYTES_MAX })
  }
}

/** Key for one version of a file. It contains everything that decides the outcome: two records for one offset may declare different sizes. */
export function checkKey(identity: string, { zip, bytes }: LocatedEntry): string {
  return `${identity} ${zip.offset} ${bytes} ${zip.compressedBytes} ${zip.method} ${zip.crc32}`
}

/** Below this size, inflating takes less time than handing it to another thread. */
const INFLATE_HERE_BYTES = 32 * 1024

/** The inflated data, and the number of bytes of `data` used. */
export async function inflate({ name, bytes }: LocatedEntry, data: Buffer): Promise<{ content: Buffer; taken: number }> {
  // One byte more than declared reveals a wrong size without inflating it all; 0 would mean no limit.
  const options = { maxOutputLength: bytes + 1, info: true }
  try {
    const { buffer, engine } = data.length <= INFLATE_HERE_BYTES ? inflateHere(data, options) : await inflateAside(data, options)
    return { content: buffer, taken: engine.bytesWritten }
  } catch (error) {
    throw inflateProblem(name, bytes, error)
  }
}

interface Inflated {
  buffer: Buffer
  engine: { bytesWritten: number }
}

type Inflate<Result> = (data: Buffer, options: ZlibOptions) => Result
// The types of node do not cover the result with `info`.
const inflateHere = inflateRawSync as unknown as Inflate<Inflated>
// The same.
const inflateAside = promisify(inflateRaw) as unknown as Inflate<Promise<Inflated>>

/** The bytes at `offset`, after `before` bytes of free space, and `after` more behind them; shorter at the end of the file. */
export async function readBytes(fd: number, place: { offset: number; bytes: number }, { before = 0, after = 0 } = {}): Promise<Buffer> {
  const { offset, bytes } = place
  const buffer = Buffer.allocUnsafeSlow(before + bytes + after)
  const got = await readInto(buffer, fd, { offset, bytes, at: before })
  return got === bytes ? buffer : buffer.subarray(0, before + got)
}

/** Reads the bytes at `offset` of the file to the place `at` in `target`; returns how many, fewer at the end of the file. */
export function readInto(
  target: Uint8Array,
  fd: number,
  { offset, bytes, at = 0 }: { offset: number; bytes: number; at?: number },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const more = (filled: number) => {
      read(fd, target, at + filled, bytes - filled, offset + filled, (error, got) => {
        if (error) reject(error)
        else if (filled + got === bytes || got === 0) resolve(filled + got)
        else more(filled + got)
      })
    }
    more(0)
  })
}

/** Errors of the file system keep their `code` and `syscall` in the details, so that caches of problems can tell them from damage. */
export function pageProblem(error: unknown): Problem {
  if (error instanceof BookProblem) return { ...error.problem, fatal: false }
  return { ...fileRefusal(error), type: 'page_extraction', fatal: false }
}
