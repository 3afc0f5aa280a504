import { closeSync, fstatSync, readFileSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import type { LibraryFile } from '#core/fields/analysis.ts'
import { openInsideSync } from '#core/foundation/open-inside.ts'
import { isSystemError } from '#core/reading/file-problems.ts'
import { BookProblem } from '../../book-problem.ts'
import { RAR_MEMORY_BYTES_MAX } from '../../limits.ts'

/**
 * Drives the unrar WASM of node-unrar-js directly: the package's own extractor writes to disk, stops at the first damaged
 * entry, and lets a header request 4 GiB of memory. One engine per thread, used by one archive at a time, synchronously.
 */

const require = createRequire(import.meta.url)
// These two files are no interface that the package promises: a test compares them with those that this was written for.
const startUnrar = require('node-unrar-js/dist/js/unrar.js') as (options: { wasmBinary: Uint8Array }) => Promise<Unrar>
const wasmFile = require.resolve('node-unrar-js/dist/js/unrar.wasm')

interface Unrar {
  HEAPU8: Uint8Array
  RarArchive: new () => UnrarArchive
  /** Called by the WASM for every access to a file. */
  extractor: FileAccess | null
}

interface UnrarState {
  errCode: number
}

interface UnrarArchive {
  open(path: string, password: string, listOnly: boolean): { state: UnrarState; flags: number }
  getFileHeader(): { state: UnrarState; name: string; flags: number; unpSize: number; crc: number }
  readFile(skip: boolean): UnrarState
  delete(): void
}

interface FileAccess {
  open(name: string): number
  create(name: string): number
  close(handle: number): void
  read(handle: number, address: number, bytes: number): number
  write(handle: number, address: number, bytes: number): boolean
  tell(handle: number): number
  seek(handle: number, offset: number, origin: 'SET' | 'CUR' | 'END'): boolean
}

export const RAR_CODES = {
  success: 0,
  end: 10,
  noMemory: 11,
  badData: 12,
  notRar: 13,
  cannotOpen: 15,
  readFailed: 18,
  needsPassword: 22,
  badPassword: 24,
}

/** Receives extracted bytes, which it must copy; throwing ends the extraction and the pass. */
type Sink = (chunk: Uint8Array) => void

/**
 * An open archive: headers one by one, each followed by a skip or an extraction. After an exception has passed through
 * the WASM, every call returns `readFailed`, and `thrown` holds the exception.
 */
export interface RarReader {
  /** Flags of unrar's `RAROpenArchiveDataEx`. */
  readonly flags: number
  /** unrar's error code of opening; 0 when it succeeded. */
  readonly openCode: number
  thrown(): unknown
  /** The missing volume that unrar requested. */
  missingVolume(): string | null
  next(): { code: number; name: string; flags: number; bytes: number; crc32: number }
  skip(): number
  extract(sink: Sink): number
}

/** The return value of a failed `open`, so that both halves of a 64-bit -1 arrive in the WASM. */
const NO_HANDLE = -4294967297
/** Numbers that no file descriptor has: the extraction output, and a file without content. */
const OUTPUT_HANDLE = 0x7fffffff
const EMPTY_HANDLE = 0x7ffffffe

let engine: Promise<Unrar> | null = null

/**
 * Runs `use` on the archive and always closes it. `use` must be synchronous: the engine handles one archive at a time.
 * Any exception through the WASM (a sink that refuses, a disk that fails) leaves its stack in an undefined state, so the
 * engine is replaced afterwards. Throws {@link BookProblem} (`parser`) when the archive cannot be opened.
 */
export async function withRar<Result>(request: LibraryFile & { listOnly: boolean }, use: (reader: RarReader) => Result): Promise<Result> {
  engine ??= startEngine()
  const unrar = await engine
  const files = openFiles(unrar, request)
  unrar.extractor = files
  try {
    const archive = new unrar.RarArchive()
    const opened = archive.open(basename(request.path), '', request.listOnly)
    const reader = readerOf(archive, opened, files)
    const result = use(reader)
    if (reader.thrown() === null) archive.delete()
    else engine = null
    return result
  } catch (error) {
    engine = null
    // A full disk or a lost share is not a problem of the archive.
    if (error instanceof BookProblem || isSystemError(error)) throw error
    throw new BookProblem('parser', 'This RAR archive is damaged in a way that stopped the reader.', { reason: String(error) })
  } finally {
    files.closeAll()
    unrar.extractor = null
  }
}

function readerOf(archive: UnrarArchive, opened: ReturnType<UnrarArchive['open']>, files: ReturnType<typeof openFiles>): RarReader {
  let thrown: unknown = null
  const guard = (call: () => number): number => {
    if (thrown !== null) return RAR_CODES.readFailed
    try {
      return call()
    } catch (error) {
      thrown = error
      return RAR_CODES.readFailed
    }
  }
  return {
    flags: opened.state.errCode === RAR_CODES.success ? opened.flags : 0,
    openCode: opened.state.errCode,
    thrown: () => thrown,
    missingVolume: files.missingVolume,
    next() {
      const header = { code: 0, name: '', flags: 0, bytes: 0, crc32: 0 }
      header.code = guard(() => {
        const found = archive.getFileHeader()
        if (found.state.errCode === RAR_CODES.success)
          Object.assign(header, { name: found.name, flags: found.flags, bytes: found.unpSize, crc32: found.crc >>> 0 })
        return found.state.errCode
      })
      return header
    },
    skip: () => guard(() => archive.readFile(true).errCode),
    extract(sink) {
      files.setSink(sink)
      const code = guard(() => archive.readFile(false).errCode)
      files.setSink(null)
      return code
    },
  }
}

/** Reads the archive and its further volumes in the same folder inside the library, by the names that unrar requests, and nothing else. */
function openFiles(unrar: Unrar, { root, path }: LibraryFile) {
  const opened = new Map<number, { bytes: number; position: number }>()
  let sink: Sink | null = null
  let missing: string | null = null
  return {
    setSink(next: Sink | null): void {
      sink = next
    },
    missingVolume: () => missing,
    closeAll(): void {
      for (const handle of opened.keys()) closeSync(handle)
      opened.clear()
    },
    open(name: string): number {
      try {
        const fd = openInsideSync(root, join(dirname(path), basename(name)))
        opened.set(fd, { bytes: fstatSync(fd).size, position: 0 })
        return fd
      } catch {
        // unrar requests a missing volume endlessly; an empty one makes it stop.
        if (missing === basename(name)) return EMPTY_HANDLE
        missing = basename(name)
        return NO_HANDLE
      }
    },
    create: () => OUTPUT_HANDLE,
    close(handle: number): void {
      if (opened.delete(handle)) closeSync(handle)
    },
    read(handle: number, address: number, bytes: number): number {
      const file = opened.get(handle)
      if (!file) return 0
      const got = readSync(handle, unrar.HEAPU8, address, bytes, file.position)
      file.position += got
      return got
    },
    write(_handle: number, address: number, bytes: number): boolean {
      // The view becomes invalid when the heap grows: the sink must copy.
      sink?.(unrar.HEAPU8.subarray(address, address + bytes))
      return true
    },
    tell: (handle: number) => opened.get(handle)?.position ?? 0,
    seek(handle: number, offset: number, origin: 'SET' | 'CUR' | 'END'): boolean {
      const file = opened.get(handle)
      if (!file) return offset === 0
      const position = offset + (origin === 'SET' ? 0 : origin === 'CUR' ? file.position : file.bytes)
      if (position < 0 || position > file.bytes) return false
      file.position = position
      return true
    },
  }
}

async function startEngine(): Promise<Unrar> {
  const before = { uncaughtException: process.listeners('uncaughtException'), unhandledRejection: process.listeners('unhandledRejection') }
  const unrar = await startUnrar({ wasmBinary: capMemory(readFileSync(wasmFile), RAR_MEMORY_BYTES_MAX) })
  // Each start adds process-wide handlers that only rethrow; they would accumulate.
  for (const listener of process.listeners('uncaughtException')) {
    if (!before.uncaughtException.includes(listener)) process.off('uncaughtException', listener)
  }
  for (const listener of process.listeners('unhandledRejection')) {
    if (!before.unhandledRejection.includes(listener)) process.off('unhandledRejection', listener)
  }
  return unrar
}

/**
 * Lowers the maximum in the module's memory section (WebAssembly core 5.5.8), so that no archive can grow the heap
 * beyond it: unrar then reports out of memory for that archive, and continues.
 */
export function capMemory(wasm: Buffer, bytesMax: number): Buffer {
  for (let at = 8; at < wasm.length; ) {
    const id = wasm[at]
    const size = readLeb(wasm, at + 1)
    if (id === 5) {
      // One memory, with a maximum: count, flags, minimum, maximum.
      const minimum = readLeb(wasm, size.next + 2)
      const maximum = readLeb(wasm, minimum.next)
      let pages = Math.min(maximum.value, Math.floor(bytesMax / 65536))
      for (let byte = minimum.next; byte < maximum.next; byte++) {
        // The same number of bytes: WebAssembly allows a longer encoding of a smaller number.
        wasm[byte] = (pages & 0x7f) | (byte < maximum.next - 1 ? 0x80 : 0)
        pages >>>= 7
      }
      return wasm
    }
    at = size.next + size.value
  }
  throw new Error('The unrar module has no memory section; is node-unrar-js the version in the lock file?')
}

function readLeb(bytes: Buffer, start: number): { value: number; next: number } {
  let value = 0
  for (let at = start, shift = 0; ; at++, shift += 7) {
    const byte = bytes[at] ?? 0
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) return { value, next: at + 1 }
  }
}
