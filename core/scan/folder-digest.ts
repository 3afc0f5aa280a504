import { hash } from 'node:crypto'
import { statSync } from 'node:fs'
import { describedBy } from '#core/fields/sidecar.ts'
import type { Listing } from '#core/scan/set-files.ts'

interface Sidecar {
  name: string
  /** The name of the book without its extension; null for the series. */
  stem: string | null
  size: number
  mtimeMs: number
}

export type FolderListing = Listing & { sidecars: readonly Sidecar[] }

/** No copy without them, as in most folders. */
export function withSidecarFiles({ sidecars, ...books }: FolderListing): Listing {
  if (sidecars.length === 0) return books
  return {
    names: [...books.names, ...sidecars.map(({ name }) => name)],
    sizes: [...books.sizes, ...sidecars.map(({ size }) => size)],
    mtimesMs: [...books.mtimesMs, ...sidecars.map(({ mtimeMs }) => mtimeMs)],
  }
}

/** Only those that describe something here are looked at: an edit of a file does not change the time of its folder. */
export function readSidecars(
  folder: string,
  names: readonly string[],
  { books, onCall }: { books: readonly string[]; onCall: () => void },
): Sidecar[] {
  if (names.length === 0) return []
  return describedBy(names, books).flatMap((sidecar) => {
    onCall()
    try {
      const { size, mtimeMs } = statSync(`${folder}/${sidecar.name}`)
      return { ...sidecar, size, mtimeMs }
    } catch {
      // It vanished meanwhile, or the analysis will say why it cannot be read.
      return []
    }
  })
}

/** Identifies the versions of several; null for none. */
export const versionOf = (sidecars: readonly Sidecar[]): string | null =>
  sidecars.length === 0 ? null : hash('sha1', JSON.stringify(sidecars.map(({ name, size, mtimeMs }) => [name, size, mtimeMs])), 'base64')

let scratch = Buffer.alloc(65_536)

export function digestOf({ names, sizes, mtimesMs }: Listing): string {
  const text = names.join('/')
  // At most three bytes of UTF-8 per UTF-16 code unit, and two doubles per file.
  const needed = text.length * 3 + names.length * 16
  if (scratch.length < needed) scratch = Buffer.alloc(needed * 2)
  let at = scratch.write(text, 0)
  for (let index = 0; index < names.length; index++) {
    scratch.writeDoubleLE(sizes[index] as number, at)
    scratch.writeDoubleLE(mtimesMs[index] as number, at + 8)
    at += 16
  }
  return hash('sha1', scratch.subarray(0, at), 'base64')
}
