import { normalizeText } from '#core/foundation/text.ts'
import { normalizeArchivePath } from '#core/reading/publication.ts'
import { NAME_CHARACTERS_MAX } from '../limits.ts'

/**
 * Of entries with equal names only the last one, as programs that unpack archives have it: each overwrites the one before. Programs that edit an archive
 * append the new version of a file and may leave the old one. All readers of archives list their entries through this function.
 */
export function lastOfEqualNames<Entry extends { name: string }>(entries: readonly Entry[]): Entry[] {
  const last = new Map(entries.map((entry) => [keyOf(entry.name), entry]))
  return last.size === entries.length ? [...entries] : entries.filter((entry) => last.get(keyOf(entry.name)) === entry)
}

/** Other spellings of a path lead to the same file: `./a`, and letters whose accents are characters of their own, as on Macs. Case counts, as in ZIP. */
function keyOf(name: string): string {
  const path = /\.\/|^\/|\/\//.test(name) ? normalizeArchivePath(name) + (name.endsWith('/') ? '/' : '') : name
  return /[^\x00-\x7f]/.test(path) ? normalizeText(path, NAME_CHARACTERS_MAX) : path
}
