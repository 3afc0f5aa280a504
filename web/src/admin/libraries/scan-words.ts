/** A folder relative to that of its library; null for the library itself. */
export function pathWithin(library: string, folder: string): string | null {
  const root = library.endsWith('/') ? library : `${library}/`
  return folder.startsWith(root) ? folder.slice(root.length) || null : null
}

/** An address has no room for more names. */
export const CONFIRMED_MAX = 50

/** What confirms that the missing books of these folders are gone, and of no others. Null when so many cannot be named; all of the withheld ones need no names. */
export function confirmationOf(withheld: readonly string[], chosen: ReadonlySet<string>): string[] | null {
  const names = withheld.filter((folder) => chosen.has(folder))
  if (names.length === 0) return null
  // The API means all books by `true`, and the folder of that name by `true/`.
  if (names.length <= CONFIRMED_MAX) return names.map((name) => (name === 'true' ? 'true/' : name))
  return names.length === withheld.length ? ['true'] : null
}

/** How long a scan took, in seconds; null while it has not ended. */
export function scanSeconds({ startedAt, completedAt }: { startedAt: string; completedAt: string | null }): number | null {
  return completedAt === null ? null : Math.max(0, (Date.parse(completedAt) - Date.parse(startedAt)) / 1_000)
}
