import { describeBytes } from '#api/rest/byte-text.ts'

/** A time without fractions of a second, which some apps cannot decode: `2024-02-29T12:00:00Z`. */
export const secondsOf = (time: Date | string): string => `${new Date(time).toISOString().slice(0, 19)}Z`

/** A file size with its unit: `45.1 MiB`. */
export const sizeText = (bytes: number): string => describeBytes(bytes, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'])

/** Komga's names of roles; it calls the author of an EPUB a writer. */
export const KOMGA_ROLES: Readonly<Record<string, string>> = { author: 'writer', co_author: 'writer', cover_artist: 'cover' }

export const roleOf = (role: string): string => KOMGA_ROLES[role] ?? role

/** Our roles that have this name in Komga. */
export const rolesBehind = (role: string): string[] => {
  const known = Object.keys(KOMGA_ROLES).filter((ours) => KOMGA_ROLES[ours] === role)
  return role in KOMGA_ROLES ? known : [role, ...known]
}

/** People with Komga's roles, each once. */
export function personsOf(people: readonly { name: string; role: string }[]): { name: string; role: string }[] {
  const shown = people.map(({ name, role }) => ({ name, role: roleOf(role) }))
  return [...new Map(shown.map((person) => [`${person.role} ${person.name}`, person])).values()]
}
